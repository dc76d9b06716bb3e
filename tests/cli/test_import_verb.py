"""`paretofoil import`, and other verbs on imported agents."""

import json
from pathlib import Path

import pytest
from checkpoints import authors_file, authors_network, morl_file, morl_network


@pytest.fixture
def theirs(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(authors_file(authors_network(121, 3, 4), horizon=True))
    (tmp_path / "front.txt").write_text("# treasure, time, horizon, returns\n1,-1,1,1,-1\n8,-8,8,8,-8\n")


IMPORT = ["import", "model.pt", "--env", "deep-sea-treasure"]


def test_an_imported_agent_is_listed_explained_and_studied(run, theirs):
    told = run(*IMPORT, "--front", "front.txt", "--name", "theirs")
    assert told.out.startswith("Imported theirs: a PCN of the authors; ")
    assert told.out.endswith("2 front points, 1 reached. Saved in agents/theirs.\n")
    assert "theirs" in run("agents").out
    assert "a PCN of the authors" in run("agents", "theirs").out
    asked = ["--command", "8,-8,8", "--at", "0", "--foil", "down", "--json"]
    for kept in ([], ["--keep", "horizon"]):
        [answer] = json.loads(run("explain", "theirs", *asked, *kept).out)["answers"]
        assert answer["status"].startswith("proven")
    run("study", "run", "theirs", "--search", "nearest-front", "--steps", "1", "--workers", "1", "--out", "s.sqlite")


def test_returns_that_differ_from_the_stated_ones_are_noted(run, theirs):
    told = run(*IMPORT, "--front", "front.txt", "--out", "elsewhere")
    assert "commands have the return that front.txt states. Is --env the right environment?" in told.err
    assert Path("elsewhere/agent.json").exists()


def test_names_and_ranges_of_an_uncatalogued_environment_are_typed(run, tmp_path):
    (tmp_path / "model.pt").write_bytes(morl_file(morl_network(2, 3, 4)))
    (tmp_path / "front.txt").write_text("8,-8,8\n")

    def box():
        stored = json.loads((tmp_path / "agents" / "model" / "agent.json").read_text())["command_box"]
        return stored["low"], stored["high"]

    own = ["import", "model.pt", "--env", "deep-sea-treasure-v0", "--front", "front.txt", "--max-steps", "30"]
    names = ["--objectives", "gold,-steps", "--actions", "up,down,left,right"]
    told = run(*own, *names, "--range", "gold=0:24", code=2)
    assert "expected a finite range for steps: ranges=..., or front=... with different values, got an inf" in told.err
    run(*own, *names, "--range", "gold=0:24", "--range", "steps=1:30")
    assert box() == ([0, -30, 1], [24, -1, 30])
    (tmp_path / "front.txt").write_text("8,-8,8\n1,-1,1\n")
    run(*own, *names, "--range", "gold=0:24", "--overwrite")  # the range of steps is that of the front
    assert box() == ([0, -8, 1], [24, -1, 30])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["import", "none.pt", "--env", "deep-sea-treasure"], "expected a checkpoint at none.pt, got no file"),
        (["import", "front.txt", "--env", "deep-sea-treasure"], "front.txt: expected an archive of torch.save"),
        (["import", "model.pt", "--env", "branch-path"], "a network with 10 state inputs"),
        (["import", "model.pt", "--env", "minecart-stochastic"], "one of the environments of the authors' code"),
        ([*IMPORT, "--front", "none.txt"], "expected a front at none.txt, got no file"),
        ([*IMPORT, "--front", "model.pt"], "model.pt with "),
        ([*IMPORT, "--range", "tme=1:2"], "got 'tme' (did you mean time?)"),
        ([*IMPORT, "--range", "time"], "expected --range as NAME=LOW:HIGH"),
    ],
)
def test_a_file_that_cannot_be_imported_is_an_error_of_one_line(run, theirs, arguments, message):
    told = run(*arguments, code=2)
    assert message in told.err
    assert told.err.count("\n") == 1


def test_an_existing_agent_is_replaced_only_with_overwrite(run, theirs, tmp_path):
    stored = tmp_path / "agents" / "model" / "agent.json"
    run(*IMPORT, "--front", "front.txt")
    before = stored.stat().st_mtime_ns
    told = run(*IMPORT, "--front", "front.txt", code=2).err
    assert "another --name or --out, or --overwrite, got agents/model, which contains an agent" in told
    assert stored.stat().st_mtime_ns == before
    run(*IMPORT, "--front", "front.txt", "--overwrite")
    assert stored.stat().st_mtime_ns > before

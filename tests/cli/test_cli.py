"""Every verb as a user runs it: in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from paretofoil import __version__
from paretofoil.core.answer import Answer
from paretofoil.explanation.flip_map import FlipMap

VERBS = ["explain", "episode", "agents", "train", "envs", "figure", "figure front", "reproduce", "study run"]

EXAMPLE = ["explain", "deep-sea-treasure", "--command", "8,-8", "--at", "6", "--foil", "down"]


def run(*arguments: str, cwd: Path | None = None, code: int = 0) -> str:
    """Standard output, or standard error if the exit code is not 0."""
    done = subprocess.run(
        [sys.executable, "-m", "paretofoil", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def width(picture: Path) -> int:
    with Image.open(picture) as image:
        return image.width


def test_the_version_is_told() -> None:
    assert run("--version").strip() == f"paretofoil {__version__}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    assert "Usage" in run(*verb.split(), "--help")


def test_help_needs_no_heavy_package() -> None:
    code = (
        "import sys, paretofoil.cli; print(sorted({'torch', 'matplotlib', 'mo_gymnasium', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_explaining_needs_no_torch() -> None:
    code = (
        "import sys, paretofoil as pf; agent = pf.load_agent('deep-sea-treasure');"
        "pf.explain(agent, pf.rollout(agent, (8, -8))[6], foil='down'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["envs", "deep-see-treasure"], "did you mean deep-sea-treasure?"),
        (["agents", "nobody"], "expected an agent among"),
        (["explain", "deep-sea-treasure", "--command", "8,-8"], "expected either --foil or --all-foils, got neither"),
        (["explain", "deep-sea-treasure", "--foil", "down"], "expected --command"),
        (["explain", "deep-sea-treasure", "--command", "8", "--foil", "down"], "the command to have 2 numbers, got 1"),
        (["explain", "deep-sea-treasure", "--command", "a,b", "--foil", "down"], "expected --command as numbers"),
        (
            ["explain", "deep-sea-treasure", "--command", "8,-8", "--at", "99", "--foil", "down"],
            "expected a moment from 0",
        ),
        (
            ["explain", "deep-sea-treasure", "--command", "8,-8", "--foil", "dive"],
            "an action among up, down, left, right",
        ),
        (["explain", "deep-sea-treasure", "--command", "8,-8", "--foil", "down", "--search", "luck"], "a search among"),
        ([*EXAMPLE, "--range", "treasure=5"], "expected --range as NAME=LOW:HIGH"),
        ([*EXAMPLE, "--queries", "0"], "a limit of at least 1 query, got 0"),
        ([*EXAMPLE, "--plot", "a.png", "--axes", "time"], "expected --axes with two objectives"),
        (["train", "reward-line", "--set", "depth=3"], "a setting among"),
        (["train", "reward-line", "--set", "hidden=wide"], "hidden to be a value like"),
        (["train", "reward-line", "--resume", "--out", "nowhere"], "a checkpoint at nowhere/checkpoint.safetensors"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    error = run(*arguments, cwd=tmp_path, code=2)
    assert error.startswith("error: ")
    assert message in error
    assert error.strip().count("\n") == 0
    assert "Traceback" in run("--debug", *arguments, cwd=tmp_path, code=1)


def test_environments_are_listed_shown_and_drawn(tmp_path: Path) -> None:
    listed = run("envs")
    assert all(name in listed for name in ("branch-path", "minecart", "fruit-tree"))
    assert "13" in run("envs", "branch-path", "--render", str(tmp_path / "out.png"))
    assert width(tmp_path / "out.png") > 300


def test_agents_are_listed_and_shown() -> None:
    assert "deep-sea-treasure" in run("agents")
    shown = run("agents", "deep-sea-treasure")
    assert "commanded" in shown
    assert "(124, -19)" in shown
    assert "seed" in shown


def test_a_decision_is_explained_in_words_and_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "why.png"
    told = " ".join(
        run(
            "explain", "deep-sea-treasure", "--command", "8,-8", "--at", "6", "--foil", "down", "--plot", str(picture)
        ).split()
    )
    assert "less treasure" in told
    assert "the agent would have chosen down instead of right" in told
    assert width(picture) > 800


def test_an_explanation_as_json_reads_back() -> None:
    text = run("explain", "deep-sea-treasure", "--command", "8,-8", "--at", "6", "--foil", "down", "--json")
    found = Answer.from_json(text)
    assert found.found
    assert found.actions[found.foil] == "down"


def test_limits_ranges_and_axes_are_taken(tmp_path: Path) -> None:
    limits = ["--search", "boundary", "--queries", "500", "--seconds", "20", "--range", "treasure=7:9"]
    drawing = ["--plot", str(tmp_path / "a.png"), "--axes", "time,treasure"]
    found = Answer.from_json(run(*EXAMPLE, *limits, *drawing, "--json"))
    assert found.command is not None
    assert 7 <= found.command[0] <= 9
    assert sum(n for phase, n in found.queries.items() if phase not in ("original", "verify", "round")) <= 500
    assert width(tmp_path / "a.png") > 800


def test_all_foils_are_explained_at_once() -> None:
    answers = json.loads(run("explain", "deep-sea-treasure", "--command", "8,-8", "--at", "6", "--all-foils", "--json"))
    assert len(answers) >= 2


def test_a_state_of_ones_own_is_explained() -> None:
    told = run("explain", "deep-sea-treasure", "--state", "3,3", "--remaining", "8,-2", "--foil", "down")
    assert "down instead of right" in " ".join(told.split())


def test_an_episode_becomes_a_flip_map(tmp_path: Path) -> None:
    told = run("episode", "branch-path", "--command", "3,1", "--plot", str(tmp_path / "map.png"))
    assert "chosen" in told
    assert width(tmp_path / "map.png") > 400
    flips = FlipMap.from_json(run("episode", "branch-path", "--command", "3,1", "--json"))
    assert flips.taken
    assert FlipMap.from_json(flips.to_json()).to_json() == flips.to_json()


def test_a_front_is_drawn(tmp_path: Path) -> None:
    run("figure", "front", "minecart", cwd=tmp_path)
    assert width(tmp_path / "minecart-front.png") > 800


def test_an_agent_is_trained_listed_and_explained(tmp_path: Path) -> None:
    told = run("train", "reward-line", "--steps", "8000", "--name", "mine", "--quiet", cwd=tmp_path)
    assert "front points" in told
    assert "mine" in run("agents", cwd=tmp_path)
    assert "Had you asked" in run("explain", "mine", "--command", "0.5,0.5", "--foil", "left", cwd=tmp_path)


def test_settings_are_listed_with_the_values_of_the_environment() -> None:
    assert "learning_rate" in run("train", "minecart", "--settings")

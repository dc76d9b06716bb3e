"""No file makes the library import a module that was not allowed, and an invalid file gives a one-line error."""

import contextlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
from checkpoints import VALID, pickle_that_calls, with_pickle
from crafted import Edit, Kind, kinds
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import random_pcn

import paretofoil as pf
from paretofoil import envs
from paretofoil.cli import main
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.envs import catalogue

PAYLOAD = """
import gymnasium, numpy as np
from pathlib import Path

Path({marker!r}).touch()

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 3, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    reward_space = gymnasium.spaces.Box(-1, 3, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.depth = 0
        return np.zeros(1, np.float32), {{}}

    def step(self, action):
        self.depth += int(action)
        reward = np.array([0.0 if action else self.depth, -1.0])
        return np.array([self.depth], np.float32), reward, not action or self.depth == 3, False, {{}}

gymnasium.register("Env-v0", Mine, max_episode_steps=4)
"""
ASK = ["--search", "nearest-front", "--command", "2,-3"]
VERBS = {
    "agents": ["agents", "bad"],
    "list of agents": ["agents"],
    "explain": ["explain", "bad", "--all-foils", *ASK],
    "episode": ["episode", "bad", "--quiet", *ASK],
    "figure": ["figure", "front", "bad"],
    "study run": ["study", "run", "bad", "--search", "nearest-front", "--workers", "1", "--out", "new.sqlite"],
    "study resume": ["study", "resume", "study.sqlite", "--workers", "1"],
    "reproduce": ["reproduce", "stress", "--only", "minecart", "--agent", "minecart=bad", "--out", "results"],
}


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that the payload writes if it runs; the payload is next to the agent and on Python's path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PARETOFOIL_AGENTS", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(catalogue, "_allowed", set(catalogue._allowed))
    ran = tmp_path / "it-ran"
    folder = _save_agent(tmp_path / "agents" / "bad")
    _change(folder, environment={"name": "theirs", "gym_id": "payload:Env-v0", "kwargs": {}, "max_steps": 4})
    _write_study(tmp_path / "study.sqlite")
    for place in (tmp_path, folder):
        (place / "payload.py").write_text(PAYLOAD.format(marker=str(ran)))
    yield ran
    sys.modules.pop("payload", None)
    gymnasium.registry.pop("Env-v0", None)


def _change(folder: Path, **changes: object) -> None:
    path = folder / "agent.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _save_agent(folder: Path) -> Path:
    """Save a valid agent whose environment has the shapes of the payload's."""
    world = envs.CatalogueEntry(
        name="theirs",
        gym_id="Env-v0",
        objectives=(pf.Objective("ore"), pf.Objective("fuel", cost=True)),
        actions=("dig", "go"),
        max_steps=4,
        observation_size=1,
        encode=np.asarray,
    )
    space = CommandSpace([0, -3], [3, -1], world.objectives)
    front = np.array([[2.0, -3.0], [0.0, -1.0]])
    agent = pf.Agent("bad", random_pcn(0, 1, 2, 2), world, space, front, front, np.zeros((2, 2)), {"steps": 3})
    return pf.save_agent(agent, folder)


def _write_study(path: Path) -> None:
    """Write the file of a study that was stopped before its first answer."""
    from paretofoil.search import NearestFront
    from paretofoil.study.store import Store
    from paretofoil.study.study import describe_search

    configuration = {
        "paretofoil": pf.__version__,
        "agents": {"bad": "0123456789abcdef"},
        "searches": {"nearest-front": describe_search(NearestFront())},
        "rule": {"commands": None, "steps": None, "foils": None, "box": "reachable"},
        "seed": 0,
        "kappa": 0.05,
        "only": None,
    }
    Store(path, configuration, {"sources": {"bad": "bad"}}).close()


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run the command line; return the exit code and the output."""

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["paretofoil", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out + told.err

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_a_module_that_an_agent_names_is_not_imported_by_any_verb(verb, marker, typed):
    code, told = typed(*VERBS[verb])
    assert not marker.exists()
    assert "--allow-import payload" in told
    assert code == (0 if verb == "list of agents" else 2)
    if code:
        assert told.startswith("error: ")
        assert told.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
def test_it_is_imported_once_it_is_allowed(verb, marker, typed):
    code, told = typed(*VERBS[verb], "--allow-import", "payload")
    assert marker.exists()
    assert "--allow-import" not in told
    assert code == 0 or verb in ("study resume", "reproduce"), told  # no such study, no such paper


def test_the_catalogue_lists_and_imports_nothing_of_it(marker, typed):
    assert typed("envs")[0] == 0
    assert typed("envs", "payload:Env-v0")[0] == 2
    assert not marker.exists()


@pytest.mark.parametrize("start", [["-m", "paretofoil"], ["-P", "-c", "from paretofoil.cli import main; main()"]])
def test_a_fresh_process_imports_it_with_permission_only(start, marker):
    # `python -m` looks into this folder by itself; the installed program only for what is typed
    source = str(Path(pf.__file__).parents[1])
    here = {key: value for key, value in os.environ.items() if key != "PARETOFOIL_AGENTS"} | {"PYTHONPATH": source}
    for allowed, code in (([], 2), (["--allow-import", "payload"], 0)):
        done = subprocess.run(
            [sys.executable, *start, "agents", "bad", *allowed], capture_output=True, text=True, env=here
        )
        assert (done.returncode, marker.exists()) == (code, code == 0), done.stderr
        assert done.stderr.count("\n") == (code == 2)


def test_what_is_typed_after_train_is_permission(marker, typed, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", os.getcwd())])
    assert typed("train", "payload:Env-v0", "--settings")[0] == 0
    assert marker.exists()
    assert typed("agents", "bad")[0] == 0


def test_the_folder_is_not_searched_for_modules_that_nobody_typed(marker, typed, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", os.getcwd())])
    typed("agents", "bad")
    assert os.getcwd() not in sys.path
    typed("agents", "bad", "--allow-import", "payload")
    assert os.getcwd() in sys.path


@pytest.mark.parametrize("allow", [lambda: pf.allow("payload"), lambda: __import__("payload")])
def test_python_code_allows_a_module_by_its_name_or_by_importing_it(allow, marker):
    with pytest.raises(InvalidInput, match=r'pf\.allow\("payload"\)'):
        pf.load_agent("bad")
    assert not marker.exists()
    allow()
    assert pf.load_agent("bad").environment.gym_id == "payload:Env-v0"


@pytest.mark.parametrize("module", ["antigravity", "paretofoil.__main__", "payload.inside", "..payload"])
def test_permission_is_for_the_very_name(module, marker):
    pf.allow("payload")
    with pytest.raises(InvalidInput, match="of an allowed module"):
        envs.describe(f"{module}:Env-v0")
    assert module not in sys.modules


def test_an_argument_that_names_an_environment_is_refused_likewise(marker):
    for arguments in ({"env_id": "payload:Env-v0"}, {"make": {"ids": ["payload:Env-v0"]}}):
        with pytest.raises(InvalidInput, match="which imports and runs payload"):
            envs.describe("mo_gymnasium:breakable-bottles-v0", max_steps=5, **arguments)
    assert not marker.exists()


@pytest.mark.parametrize("name", ["", "no module", "a/b", "a:b", "../a"])
def test_what_is_no_name_of_a_module_cannot_be_allowed(name):
    with pytest.raises(InvalidInput, match="the name of a Python module"):
        pf.allow(name)


def test_an_id_with_two_colons_is_refused():
    with pytest.raises(InvalidInput, match="a Gymnasium id, or module:id"):
        envs.describe("mo_gymnasium:a:b")


def test_a_picture_lands_here_whatever_the_agent_is_called(marker, typed, tmp_path):
    pf.allow("payload")
    _change(tmp_path / "agents" / "bad", name="../../up")
    assert typed("figure", "front", "bad")[0] == 0
    assert (tmp_path / "..-..-up-front.png").exists()


CRAFTED_AGENTS = {
    "thousands of digits": lambda text: text.replace('"steps": 3', f'"steps": {"9" * 5000}'),
    "deep nesting": lambda text: text.replace('"steps": 3', f'"steps": {"[" * 9000}{"]" * 9000}'),
    "more nesting than the limit": lambda text: text.replace('"steps": 3', f'"steps": {"[" * 101}{"]" * 101}'),
    "a list for provenance": lambda text: json.dumps({**json.loads(text), "provenance": ["a"]}),
    "a name that clears the screen": lambda text: json.dumps({**json.loads(text), "name": "\x1b[2J"}),
    "a name of half a character": lambda text: json.dumps({**json.loads(text), "name": "\ud800"}),
    "a name without end": lambda text: json.dumps({**json.loads(text), "name": "a" * 10**6}),
    "not finite": lambda text: text.replace('"steps": 3', '"steps": NaN'),
    "a window": lambda text: text.replace('"kwargs": {}', '"kwargs": {"render_mode": "human"}'),
    "arguments that nobody takes": lambda text: text.replace('"kwargs": {}', '"kwargs": {"size": 3}'),
    "an argument that takes all memory": lambda text: text.replace('"kwargs": {}', '"kwargs": {"size": 1000000000}'),
    "no text": lambda text: "",
}


@pytest.mark.parametrize("crafted", CRAFTED_AGENTS)
def test_a_crafted_agent_gets_one_line_and_exit_code_2(crafted, marker, typed, tmp_path):
    path = tmp_path / "agents" / "bad" / "agent.json"
    changed = CRAFTED_AGENTS[crafted](path.read_text())
    assert changed != path.read_text()
    path.write_text(changed)
    code, told = typed("agents", "bad", "--allow-import", "payload")
    assert (code, told.count("\n")) == (2, 1), told
    assert told.rstrip("\n").isprintable()
    assert told.startswith("error: ")
    assert len(told) < 1000


TRAPS = {
    "a file is written": lambda marker: pickle_that_calls(Path.touch, marker),
    "a command is run": lambda marker: pickle_that_calls(os.system, f"touch {marker}"),
    "code is run": lambda marker: pickle_that_calls(exec, f"open({str(marker)!r}, 'w').close()"),
    "code is run, in a later protocol": lambda marker: pickle_that_calls(
        exec, f"open({str(marker)!r}, 'w').close()", protocol=4
    ),
    "code is run, in the first protocol": lambda marker: pickle_that_calls(
        exec, f"open({str(marker)!r}, 'w').close()", protocol=0
    ),
    "what torch allows is called": lambda marker: pickle_that_calls(torch.save, [], str(marker)),
    "a module is imported": lambda marker: b"\x80\x02cpayload\nMine\n)R.",
    "a name of the list, then another": lambda marker: b"\x80\x02ccollections\nOrderedDict\n0cpayload\nMine\n.",
}
READERS = {
    "import": ["import", "trap", "--env", "deep-sea-treasure"],
    "front": ["import", "valid.pt", "--env", "deep-sea-treasure", "--front", "trap"],
    "agent": ["agents", "bad", "--allow-import", "gymnasium"],
    "study": ["study", "status", "trap"],
    "resume": ["study", "resume", "trap"],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("trap", TRAPS)
def test_a_pickle_that_acts_is_refused_by_every_reader_and_does_not_act(trap, reader, marker, typed, tmp_path):
    payload = TRAPS[trap](marker)
    (tmp_path / "valid.pt").write_bytes(VALID)
    for content in (payload, with_pickle(VALID, payload)):
        (tmp_path / "trap").write_bytes(content)
        (tmp_path / "agents" / "bad" / "weights.safetensors").write_bytes(content)
        code, told = typed(*READERS[reader])
        assert not marker.exists()
        assert "payload" not in sys.modules
        assert (code, told.count("\n")) == (2, 1), told
        assert told.startswith("error: ")


def test_the_traps_act_when_they_are_unpickled(marker):
    for trap, make in TRAPS.items():
        marker.unlink(missing_ok=True)
        with contextlib.suppress(TypeError):  # after it acted
            pickle.loads(make(marker))  # noqa: S301
        assert marker.exists(), trap
        sys.modules.pop("payload", None)
        gymnasium.registry.pop("Env-v0", None)


def test_markup_in_an_agents_words_is_shown_as_it_is(marker, typed, tmp_path):
    _change(tmp_path / "agents" / "bad", name="[/bold]", provenance={"[red]": "[/nothing]", "steps": "many"})
    for verb in (["agents", "bad"], ["agents"], [*VERBS["episode"]]):
        code, told = typed(*verb, "--allow-import", "payload")
        assert code == 0, told
    assert "[/bold]" in told


@pytest.fixture(scope="module")
def all_kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Kind]:
    return kinds(tmp_path_factory.mktemp("valid"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crafted")


def test_the_valid_files_are_accepted(all_kinds, place):
    for kind in all_kinds:
        assert kind.refuses(kind.valid, place) is None, kind.name


edits = st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 2**16)), min_size=1, max_size=3)


@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(number=st.integers(0, 11), chosen=edits)
def test_a_crafted_file_gets_a_sentence_and_nothing_else(
    all_kinds: list[Kind], place: Path, number: int, chosen: list[Edit]
) -> None:
    kind = all_kinds[number]
    error = kind.refuses(kind.craft(chosen), place)  # any other exception fails here
    if error is not None:
        assert "\n" not in str(error)
        assert len(str(error)) < 2000

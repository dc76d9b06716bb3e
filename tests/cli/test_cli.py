"""The verbs of the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import paretofoil as pf
from paretofoil import __version__
from paretofoil.cli import VERBS
from paretofoil.core.answer import Answer
from paretofoil.core.json import plain
from paretofoil.core.options import describe_options
from paretofoil.explanation.flip_map import FlipMap

EXAMPLE = ["explain", "deep-sea-treasure", "--command", "8,-8", "--at", "5", "--foil", "down"]


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=120)


def width(picture: Path) -> int:
    with Image.open(picture) as image:
        return image.width


def test_version_is_printed():
    assert process("-m", "paretofoil", "--version").stdout == f"paretofoil {__version__}\n"


def test_an_error_is_one_line_and_exit_code_2():
    done = process("-m", "paretofoil", "envs", "deep-see-treasure")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: expected an environment among ")
    assert done.stderr.endswith("(did you mean deep-sea-treasure?)\n")


def test_debug_shows_the_traceback():
    assert "Traceback" in process("-m", "paretofoil", "--debug", "envs", "nowhere").stderr


@pytest.mark.parametrize("verb", [*VERBS, "figure front", "study run"])
def test_every_verb_has_help(run, verb):
    assert "Usage" in run(*verb.split(), "--help").out


def test_help_needs_no_heavy_package():
    heavy = "{'torch', 'matplotlib', 'mo_gymnasium', 'numpy'}"
    done = process("-c", f"import sys, paretofoil.cli; print(sorted({heavy} & set(sys.modules)))")
    assert done.stdout.strip() == "[]"


def test_explaining_needs_no_package_that_is_slow_to_import():
    slow = "{'torch', 'scipy'}"
    code = (
        "import sys, paretofoil as pf; agent = pf.load_agent('deep-sea-treasure');"
        f"pf.explain(agent, pf.rollout(agent, (8, -8))[5], foil='down'); print(sorted({slow} & set(sys.modules)))"
    )
    assert process("-c", code).stdout.strip() == "[]"


def test_environments_are_listed_shown_and_drawn(run):
    listed = run("envs").out
    assert all(name in listed for name in ("branch-path", "minecart", "fruit-tree"))
    told = run("envs", "branch-path", "--render", "out.png").out
    assert "13" in told
    assert "(0, 0) to (3, 3)" in told
    assert width(Path("out.png")) > 300
    assert "1 point\n" in re.sub(" +\n", "\n", run("envs", "resource-gathering").out.replace("│", ""))


def test_agents_are_listed_and_shown(run):
    assert "deep-sea-treasure" in run("agents").out
    shown = run("agents", "deep-sea-treasure").out
    assert "command  " in shown
    assert "(124, -19)" in shown
    assert "seed" in shown


def test_a_broken_agent_is_one_line_and_the_others_are_listed(run, tmp_path):
    (tmp_path / "agents" / "broken").mkdir(parents=True)
    (tmp_path / "agents" / "broken" / "agent.json").write_text("[not JSON]")
    *_, last_agent, told = run("agents").out.splitlines()
    assert last_agent.startswith("water-reservoir ")
    assert told.startswith("broken cannot be loaded: expected agents/broken/agent.json as JSON")


def test_explain_prints_text_and_writes_a_figure(run):
    told = run(*EXAMPLE, "--plot", "why.png").out
    assert "fewer steps (" in told
    answer, *lines = told.splitlines()
    assert "the agent would have gone down instead of right" in answer
    topics = [line.split(": ")[0] for line in lines if ": " in line]
    assert topics == ["Now", "After the change", "Range", "Search", "Advice"]
    assert "Wrote the figure to why.png." in told
    assert "ask for 5 treasure in 7 steps in the whole episode: it then delivers exactly" in told
    assert width(Path("why.png")) > 800


def test_explain_takes_an_outcome_at_any_step(run):
    asked = ["explain", "deep-sea-treasure", "--command", "8,-8"]
    told = " ".join(run(*asked, "--outcome", "treasure >= 20").out.split())
    assert 'the episode would have met "treasure >= 20". Now:' in told
    assert "After the change: The episode then ends with 24 treasure after 13 steps." in told
    document = json.loads(run(*asked, "--at", "3", "--outcome", "treasure >= 20", "--json").out)
    [answer] = [Answer.from_dict(values) for values in document["answers"]]
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert (answer.question.step, answer.question.outcome) == (3, "treasure >= 20")
    assert "did you mean treasure >= 20?" in run(*asked, "--outcome", "treasur >= 20", code=2).err
    both = run(*asked, "--outcome", "ends", "--foil", "down", code=2).err
    assert "expected one of --foil, --outcome and --all-foils, got --foil and --outcome" in " ".join(both.split())


def test_the_figure_of_several_foils_shows_the_first(run):
    foils = ["explain", "deep-sea-treasure", "--command", "8,-8", "--at", "5", "--all-foils"]
    assert "Wrote the figure of up, the first foil, to why.png." in run(*foils, "--plot", "why.png").out


def test_alternatives_have_attainable_commands(run):
    asked = ["--command", "0,0,1,0.8", "--at", "1", "--foil", "left", "-k", "2", "--search", "boundary"]
    told = " ".join(run("explain", "collect-two", *asked).out.split())
    assert told.count("To make the agent choose left and get what you ask for, ask for ") == 2


def test_json_holds_agent_step_state_options_and_answers(run):
    told = json.loads(run(*EXAMPLE, "--json").out)
    [answer] = [Answer.from_dict(values) for values in told.pop("answers")]
    state = [float(i in (2, 14)) for i in range(len(told["state"]))]  # row 2, column 3, one-hot
    assert told.pop("state") == state
    assert told.pop("options") == plain(pf.Options())
    assert told == {
        "schema": "paretofoil/explanation/2",
        "agent": "deep-sea-treasure",
        "environment": "deep-sea-treasure",
        "command": [8, -8],
        "step": 5,
        "remaining": [8, -3],
    }
    assert answer.found
    assert answer.question.actions[answer.question.foil] == "down"
    assert answer.rollouts.attainable.total.tolist() == [5, -7]


def test_every_option_of_the_library_can_be_typed(run):
    typed = {
        "box": ["--box", "paper"],
        "kappa": ["--kappa", "0.1"],
        "norm": ["--norm", "l1"],
        "keep": ["--keep", "treasure"],
        "ranges": ["--range", "time=1:5"],
        "sparse": ["--sparse"],
        "k": ["-k", "2"],
        "min_change": ["--min-change", "0.01"],
        "attainable": ["--no-attainable"],
    }
    options = json.loads(run(*EXAMPLE, *(word for words in typed.values() for word in words), "--json").out)["options"]
    assert options == {
        **plain(pf.Options()),
        "box": "paper",
        "kappa": 0.1,
        "norm": "l1",
        "keep": ["treasure"],
        "ranges": {"time": [-5, -1]},
        "sparse": True,
        "k": 2,
        "min_change": 0.01,
        "attainable": False,
    }
    likely = json.loads(run(*EXAMPLE, "--probability", "0.6", "--no-attainable", "--json").out)[
        "options"
    ]  # without kappa
    assert likely["probability"] == 0.6
    shown = " ".join(run("explain", "--help").out.replace("│", " ").split())
    assert all(info.help in shown for info in describe_options())


def test_json_of_several_foils_has_the_same_shape(run):
    one = json.loads(run(*EXAMPLE, "--json").out)
    several = json.loads(run(*EXAMPLE[:-2], "--all-foils", "--json").out)
    assert several.keys() == one.keys()
    assert len(several["answers"]) >= 2


def test_a_typed_state_is_explained_and_has_no_step(run):
    place = ["explain", "deep-sea-treasure", "--state", "3,3", "--remaining", "8,-2", "--foil", "down"]
    assert "down instead of right" in run(*place).out
    told = json.loads(run(*place, "--json").out)
    assert told["step"] is None
    assert told["command"] is None
    assert told["remaining"] == [8, -2]


def test_limits_and_axes_are_applied(run):
    limits = ["--search", "boundary", "--queries", "500", "--seconds", "20"]
    drawing = ["--plot", "a.png", "--axes", "time,treasure"]
    [found] = json.loads(run(*EXAMPLE, *limits, *drawing, "--json").out)["answers"]
    checks = ("original", "verify", "round", "range")
    assert sum(n for phase, n in found["search"]["queries"].items() if phase not in checks) <= 500
    assert width(Path("a.png")) > 800


def test_episode_prints_one_line_per_step_and_writes_a_figure(run):
    told = run("episode", "branch-path", "--command", "3,1", "--plot", "map.png")
    assert told.out.splitlines()[:2] == [
        "branch-path: scaled change for each foil",
        " t chosen         up       down       left      right",
    ]
    assert "The smallest changes:" in told.out
    assert width(Path("map.png")) > 400


def test_episode_prints_the_number_of_questions_on_standard_error(run):
    flips = run("episode", "branch-path", "--command", "3,1", "--json")
    count = len(FlipMap.from_json(flips.out).answers)
    assert flips.err == f"{count} questions to answer.\n"


def test_episode_takes_chosen_steps(run):
    told = run("episode", "branch-path", "--command", "3,1", "--steps", "0,2-3").out.splitlines()
    assert [line.split()[0] for line in told[2 : told.index("The smallest changes:")]] == ["0", "2", "3"]


def test_steps_are_printed_as_soon_as_their_foils_are_answered(run, monkeypatch):
    import paretofoil.explanation.explain as verb
    from paretofoil.cli import console

    order: list[str] = []
    ask, say = verb.ask, console.say
    monkeypatch.setattr(verb, "ask", lambda *a, **o: order.append("asked") or ask(*a, **o))
    monkeypatch.setattr("paretofoil.cli.episode.say", lambda *parts: order.append("said") or say(*parts))
    run("episode", "branch-path", "--command", "3,1")
    assert order.index("said", order.index("asked")) < len(order) - 1 - order[::-1].index("asked")


def test_a_front_is_written_as_a_figure(run):
    run("figure", "front", "minecart")
    assert width(Path("minecart-front.png")) > 800


def test_settings_are_listed_with_the_values_of_the_environment(run):
    assert "learning_rate" in run("train", "minecart", "--settings").out


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("explain deep-sea-t", ["deep-sea-treasure", "deep-sea-treasure-early"]),
        ("explain deep-sea-treasure --foil ", ["up", "down", "left", "right"]),
        ("explain deep-sea-treasure --command 8,-8 --keep t", ["treasure", "time"]),
        ("train mine", ["minecart", "minecart-stochastic"]),
    ],
)
def test_the_shell_completes_names(run, monkeypatch, typed, completed):
    words = f"paretofoil {typed}"
    monkeypatch.setenv("_PARETOFOIL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run().out.split() == completed


def test_box_paper_searches_the_papers_box(run):
    told = json.loads(run(*EXAMPLE, "--box", "paper", "--json").out)
    assert told["options"]["box"] == "paper"
    question = told["answers"][0]["question"]
    assert (question["low"], question["high"]) == ([0, -200], [124, -1])
    assert "by exact, in the paper's box, " in run(*EXAMPLE, "--box", "paper").out
    episode = ["episode", "deep-sea-treasure", "--command", "8,-8", "--steps", "5", "--box", "paper", "--quiet"]
    assert "scaled change for each foil in the paper's box" in run(*episode).out
    assert "expected box among reachable, paper, got 'large'" in run(*EXAMPLE, "--box", "large", code=2).err


def test_a_study_can_be_exported_in_every_format_of_tables():
    from paretofoil.cli.study import FORMATS
    from paretofoil.study.table import FORMATS as TABLES

    assert set(FORMATS) == {"parquet", *TABLES}


def test_a_study_on_an_unknown_engine_leaves_no_file(run, tmp_path):
    told = run("study", "run", "branch-path", "--engine", "foo", "--quiet", code=2)
    assert "an engine among local, dask, ray, got 'foo'" in told.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def hidden(tmp_path):
    """The folder of a local agent that has the name of a shipped one."""
    import paretofoil as pf

    return pf.save_agent(pf.load_agent("branch-path"), tmp_path / "agents" / "branch-path")


def test_a_local_agent_with_the_name_of_a_shipped_one_is_noted(run, hidden):
    words = "note: branch-path is the local agent in agents/branch-path, not the shipped agent of that name."
    for verb in (["agents", "branch-path"], ["explain", "branch-path", "--command", "1,1", "--all-foils"]):
        told = run(*verb)
        assert told.err.startswith(words)
        assert "local agent" not in told.out
    brief = ["--commands", "1", "--steps", "1", "--foils", "1", "--workers", "1", "--quiet"]
    assert run("study", "run", "branch-path", "--search", "nearest-front", *brief).err.startswith(words)
    assert "note:" not in run("agents", "collect-two").err

"""`paretofoil influence`: a profile, one step, JSON, a figure."""

from PIL import Image

from paretofoil.core.influence import Influence, InfluenceProfile

EXAMPLE = ["influence", "deep-sea-treasure", "--command", "1,-1", "--samples", "200", "--quiet"]


def test_a_profile_is_a_table_a_summary_and_a_figure(run, tmp_path):
    told = run(*EXAMPLE, "--plot", "it.png").out
    assert "their scores: KL, flip" not in told
    assert "authors' KL, flip" in told
    assert "The command matters at 1 of 1 step." in told
    with Image.open(tmp_path / "it.png") as picture:
        assert picture.width > 800


def test_one_step_is_one_paragraph(run):
    told = run(*EXAMPLE, "--at", "0").out
    assert told.startswith("The command matters in this state: ")
    assert told.count("\n") == 1


def test_json_is_that_of_the_library(run):
    assert InfluenceProfile.from_json(run(*EXAMPLE, "--json").out).agent == "deep-sea-treasure"
    assert Influence.from_json(run(*EXAMPLE, "--json", "--at", "0").out).samples == 200


def test_a_step_after_the_end_is_an_error(run):
    assert "error: expected steps from 0 to 0 of this episode, got 7" in run(*EXAMPLE, "--at", "7", code=2).err


def test_a_figure_that_cannot_be_written_is_an_error_before_the_proof(run):
    assert "a figure file that ends in" in run(*EXAMPLE, "--plot", "it.docx", code=2).err


MINE = """
import numpy as np
import paretofoil as pf

space = pf.load_agent("branch-path").space
agent = pf.Agent("mine", lambda s, c: np.stack([c[:, 0], c[:, 1]] * 2, axis=1), "branch-path", space, [[1.0, 0.0]])
"""


def test_an_agent_is_typed_as_module_and_object(run, tmp_path):
    (tmp_path / "of_my_own.py").write_text(MINE)
    for name in ("of_my_own:agent", "of_my_own.py:agent"):
        assert "mine" in run("influence", name, "--command", "1,0", "--samples", "50", "--json", "--quiet").out
        assert run("agents", name).out.startswith("mine: ")
        page = tmp_path / f"{name}.html"
        run("episode", name, "--command", "1,0", "--steps", "0", "--search", "nearest-front", "--html", str(page))
        assert page.is_file()
    asked = ("--command", "1,0", "--quiet")
    assert (
        "of_my_own:space to be an agent (pf.Agent), got CommandSpace"
        in run("influence", "of_my_own:space", *asked, code=2).err
    )
    assert "has no attribute 'nobody'" in run("influence", "of_my_own:nobody", *asked, code=2).err
    assert "No module named 'not_there'" in run("influence", "not_there:agent", *asked, code=2).err

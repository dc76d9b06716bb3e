"""Figures: what stands in them is true, visible without colours, and in the user's sign."""

import logging
from functools import partial

import numpy as np
import pytest
from answers import attainable, changed
from arguments import arguments
from matplotlib.backend_bases import FigureCanvasBase
from policies import LinearPolicy

import paretofoil as pf
from paretofoil.core.answer import Answer, Attainable, Status
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.pictures import SEA_CELL, SEA_MARGIN, draw_sea
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.show import palette
from paretofoil.show.decision_figure import figure_decision
from paretofoil.show.flip_map import figure_flip_map
from paretofoil.show.front_figure import figure_front
from paretofoil.show.landscape import landscape
from paretofoil.show.palette import ATTAINABLE, BAND, ENDINGS, MARKS, ORIGINAL, check_figure, mark_of

SHARES = Objective("share")
TIME = Objective("time", "steps", cost=True)


def answer(weights: list[float], command: list[float], space: CommandSpace, **options) -> Answer:
    """The foil wins where weights @ R > 0: the answer is the nearest command there."""
    policy = LinearPolicy(np.array([np.zeros(len(weights)), weights]), np.zeros(2))
    options = {"space": space, "actions": ("stay", "go"), "search": "grid", **options}
    return pf.explain(policy, foil="go", state=[0.0], command=command, **arguments(**options))


def plane(**options) -> Answer:
    """Two objectives, one of them a cost: (0.2, 6 steps)."""
    space = CommandSpace([0.0, -10.0], [1.0, 0.0], [SHARES, TIME])
    return answer([10.0, 1.0], [0.2, -6.0], space, **options)


def cube(weights=(1.0, 1.0, 1.0), **options) -> Answer:
    """Three objectives."""
    space = CommandSpace([-1.0] * 3, [1.0] * 3, ["A", "B", "C"])
    return answer(list(weights), [-0.4, -0.3, -0.25], space, **options)


def arrows(axes) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """From where to where each bold arrow goes."""
    return [(tuple(text.xyann), tuple(text.xy)) for text in axes.texts if getattr(text, "arrow_patch", None)]


def marks(axes) -> dict[str, object]:
    """The marked commands of a landscape by their labels."""
    return {line.get_label(): line for line in axes.lines if len(line.get_xdata()) == 1}


def legend(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_bold_arrow_goes_from_the_original_command_to_the_quoted_one():
    found = plane()
    [(start, end)] = arrows(figure_decision(found).axes[0])
    assert start == (0.2, 6.0)
    assert end == (found.command[0], -found.command[1])
    assert "change" in legend(figure_decision(found).axes[0])


def test_the_arrow_ends_at_what_the_sentence_says_not_at_the_unrounded_command():
    found = changed(plane(), command=np.array([0.75, -5.0]))
    [(_, end)] = arrows(figure_decision(found).axes[0])
    assert end == (0.75, 5.0)


def test_costs_stand_on_axes_as_positive_numbers_with_their_unit():
    figure = figure_decision(plane())
    figure.canvas.draw()
    axes = figure.axes[0]
    assert axes.get_ylabel() == "time (steps)"
    low, high = axes.get_ylim()
    assert 0 <= low < 6 < high
    assert not any(tick.get_text().startswith(("−", "-")) for tick in axes.get_yticklabels())


def test_the_colours_of_a_cost_axis_are_mirrored_with_its_numbers():
    found = plane()
    axes = figure_decision(found).axes[0]
    mesh = axes.collections[0]
    x, y = (np.unique(mesh.get_coordinates()[:, :, i].round(9)) for i in (0, 1))  # type: ignore[attr-defined]
    margins = np.asarray(mesh.get_array())
    column, row = np.searchsorted(x, 0.2) - 1, np.searchsorted(y, 6.0) - 1
    assert margins[row, column] == pytest.approx(10 * 0.2 - 6.0, abs=0.3)


def test_three_objectives_are_a_slice_and_the_picture_says_through_what():
    found = cube()
    assert (found.command != found.question.command).all()
    title = figure_decision(found, axes=("A", "B")).axes[0].get_title()
    assert f"slice at C = {found.command[2]:g} (as in the answer; original command: C = -0.25)" in title
    infeasible = answer([-1.0, 0.0, 0.0], [0.5, 0.5, 0.2], CommandSpace([0.1] * 3, [1.0] * 3, ["A", "B", "C"]))
    assert "slice at C = 0.2 (as in the original command)" in figure_decision(infeasible).axes[0].get_title()


def test_two_objectives_are_no_slice():
    assert "slice" not in figure_decision(plane()).axes[0].get_title()


def test_what_does_not_lie_in_the_slice_is_hollow_and_the_legend_says_so():
    axes = figure_decision(cube(), axes=("A", "B")).axes[0]
    hollow = {label for label, line in marks(axes).items() if line.get_markerfacecolor() == "white"}  # type: ignore[attr-defined]
    assert hollow == {"original command (not in this slice)"}
    inside = figure_decision(cube((1.0, 1.0, 0.0), keep=["C"])).axes[0]
    assert all(line.get_markerfacecolor() != "white" for line in marks(inside).values())  # type: ignore[attr-defined]


def test_the_answer_lies_where_the_colours_say_that_the_foil_wins():
    found = cube()
    land = landscape(found.live.question, shown=[found], through=found.command)
    row, column = np.abs(land.y - found.command[land.q]).argmin(), np.abs(land.x - found.command[land.p]).argmin()
    assert land.margins[row, column] == pytest.approx(found.command.sum(), abs=0.05)


def test_a_mark_claims_no_more_than_was_proven():
    found = plane()
    found = changed(found, search="exact", closest=found.command)
    labels = {
        outcome: list(marks(figure_decision(changed(found, status=outcome)).axes[0]))[1]
        for outcome in (Status.FOUND, Status.PROVEN_CLOSEST)
    }
    assert labels == {Status.FOUND: "Exact", Status.PROVEN_CLOSEST: "closest command (proven)"}
    rounded = changed(found, status=Status.PROVEN_CLOSEST, command=found.command + 0.01)
    assert "closest command, rounded (proven)" in marks(figure_decision(rounded).axes[0])


def test_an_answer_that_found_nothing_has_no_mark_and_a_word_in_the_title():
    found = plane()
    missing = changed(
        found, status=Status.NOT_FOUND, command=None, closest=None, distance=None, search="white-cw", margin=None
    )
    axes = figure_decision([found, missing]).axes[0]
    assert len(marks(axes)) == 2
    assert "White-CW: none found" in axes.get_title()


def test_an_impossible_foil_leaves_only_the_original_command():
    impossible = answer([-1.0, 0.0], [0.5, 0.5], CommandSpace([0.1, 0.1], [1.0, 1.0]))
    axes = figure_decision(impossible).axes[0]
    assert list(marks(axes)) == ["original command"]
    assert arrows(axes) == []
    assert "none found" not in axes.get_title()


def test_a_command_of_one_objective_is_a_line():
    found = answer([1.0], [-2.0], CommandSpace([-10.0], [10.0], [TIME]))
    axes = figure_decision(found).axes[0]
    [(start, end)] = arrows(axes)
    assert (start, end[0]) == ((2.0, pytest.approx(-2.0)), -found.command[0])
    assert axes.get_xlabel() == "time (steps)"


def test_the_only_objective_that_may_change_is_a_line_with_the_others_named():
    figure = figure_decision(plane(keep=["time"]))
    assert len(figure.axes) == 1
    assert figure.axes[0].get_xlabel() == "share"
    assert "slice at time = 6 steps (as in the original command)" in figure.axes[0].get_title()


def test_kept_objectives_can_be_asked_for_as_axes_all_the_same():
    axes = figure_decision(plane(keep=["time"]), axes=("share", "time")).axes[0]
    assert axes.get_ylim() == (0, 10)
    with pytest.raises(InvalidInput, match="expected two different objectives for the axes, got 'share' for both"):
        figure_decision(plane(), axes=("share", "share"))


@pytest.mark.parametrize("scene", [None, lambda: (_ for _ in ()).throw(NotImplementedError("no render"))])
def test_without_a_scene_the_landscape_stands_alone(scene, tmp_path, caplog):
    found = plane()
    found = changed(found, scene=scene, agent="mine", step=3)
    with caplog.at_level(logging.WARNING):
        figure = figure_decision(found, tmp_path / "a.png")
    assert len(figure.axes) == 2  # the landscape and its colour bar
    assert "why stay and not go?" in figure.axes[0].get_title()
    assert ("no render" in caplog.text) == (scene is not None)


def test_a_scene_stands_beside_the_landscape_and_a_wide_one_above_it():
    def places(height: int, width: int):
        found = plane()
        scene = partial(np.zeros, (height, width, 3), dtype=np.uint8)
        figure = figure_decision(changed(found, scene=scene))
        figure.canvas.draw()
        return [axes.get_position() for axes in figure.axes[:2]]

    scene, panel = places(20, 20)
    assert scene.x1 < panel.x0
    scene, panel = places(20, 60)
    assert scene.y0 > panel.y1


@pytest.mark.parametrize("name", ["a.xyz", "a", "a.pngg", ".png"])
def test_an_unknown_ending_is_refused_with_the_known_ones(name, tmp_path):
    with pytest.raises(InvalidInput, match=r"ends in \.png, \.svg, \.pdf"):
        check_figure(tmp_path / name)


def test_a_figure_goes_into_a_folder_that_exists(tmp_path):
    with pytest.raises(InvalidInput, match="in a folder that exists"):
        check_figure(tmp_path / "none" / "a.png")
    (tmp_path / "b.png").mkdir()
    with pytest.raises(InvalidInput, match="got the folder"):
        check_figure(tmp_path / "b.png")
    check_figure(str(tmp_path / "A.PNG"))


def test_matplotlib_can_write_every_known_ending():
    assert set(ENDINGS) <= set(FigureCanvasBase.get_supported_filetypes())


def test_figures_refuse_a_bad_path_before_they_ask_the_policy():
    asked = []

    def policy(states, commands):
        asked.append(len(commands))
        return np.stack([np.zeros(len(commands)), np.asarray(commands).sum(axis=1)], axis=1)

    space = CommandSpace([-1.0, -1.0], [1.0, 1.0])
    found = pf.explain(
        policy, foil=1, state=[0.0], command=[-0.5, -0.5], space=space, actions=("a", "b"), search="grid"
    )
    asked.clear()
    with pytest.raises(InvalidInput, match="ends in"):
        found.plot("a.xyz")
    assert asked == []


def test_no_two_searches_share_a_marker_on_a_landscape():
    assert len({mark.marker for mark in (*MARKS.values(), ORIGINAL, ATTAINABLE)}) == len(MARKS) + 2


def test_a_form_of_a_search_has_its_mark_and_says_which_it_is():
    plain, as_run = mark_of("white-cw"), mark_of("white-cw:as-run")
    assert (as_run.marker, as_run.colour, as_run.size) == (plain.marker, plain.colour, plain.size)
    assert (plain.label, as_run.label, mark_of("my-search").label) == ("White-CW", "White-CW as run", "my-search")


def test_an_attainable_command_has_a_mark_of_its_own_where_it_is_another_command():
    found = plane()
    had = attainable([0.9, -4.0])
    axes = figure_decision([changed(found, attainable=had)] * 2).axes[0]
    line = marks(axes)["attainable command"]
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0.9, 4.0)  # type: ignore[attr-defined]
    assert legend(axes).count("attainable command") == 1
    [(_, end)] = arrows(axes)
    assert end == (found.command[0], -found.command[1]), "the arrow is the smallest change"
    for other in (None, Attainable(3), attainable(found.command)):
        drawn = figure_decision(changed(found, attainable=other)).axes[0]
        assert "attainable command" not in legend(drawn)


def test_a_front_with_a_cost_has_positive_numbers():
    figure = figure_front(pf.load_agent("deep-sea-treasure"))
    assert figure.axes[0].get_ylabel() == "time (steps), less is better"
    assert figure.axes[0].get_ylim()[0] > -1.0
    assert figure.axes[0].lines[-1].get_ydata().min() == 1.0


@pytest.mark.parametrize(("name", "panels"), [
    ("branch-path", 1), ("breakable-bottles", 1), ("resource-gathering", 1), ("minecart", 4), ("collect-two", 6),
])  # fmt: skip
def test_a_front_has_no_more_panels_than_it_needs(name, panels):
    figure = figure_front(pf.load_agent(name))
    assert sum(axes.axison or axes.name == "3d" for axes in figure.axes) == panels


def long_flip_map(num_steps: int):
    found = plane()
    none = changed(found, status=Status.PROVEN_INFEASIBLE, command=None, closest=None, distance=None)
    answers = tuple(none if step % 3 == 0 else found for step in range(num_steps))
    taken, times = (0,) * num_steps, tuple(range(num_steps))
    question = found.question
    values = question.objectives, question.actions, question.command, question.command
    return FlipMap("long", *values, taken, times, answers)


def test_a_long_flip_map_goes_on_in_bands_and_every_cell_keeps_its_number():
    figure = figure_flip_map(long_flip_map(70))
    bands = figure.axes[:-1]  # the last is the colour bar
    assert len(bands) == 3
    assert [len(axes.texts) for axes in bands] == [BAND, BAND, 70 - 2 * BAND]
    assert {text.get_text() for axes in bands for text in axes.texts} >= {"∅"}
    assert len({axes.get_xlim()[1] - axes.get_xlim()[0] for axes in bands}) == 1


def test_a_flip_map_without_a_single_reachable_foil_is_drawn():
    flips = long_flip_map(1)
    assert [text.get_text() for text in figure_flip_map(flips).axes[0].texts] == ["∅"]


def test_the_submarine_leaves_every_treasure_to_be_read():
    far, above = (draw_sea({"current_state": cell}) for cell in ((0, 3), (1, 1)))  # the second treasure is at (2, 1)
    chest = np.s_[
        SEA_MARGIN + 2 * SEA_CELL : SEA_MARGIN + 3 * SEA_CELL, SEA_MARGIN + SEA_CELL : SEA_MARGIN + 2 * SEA_CELL
    ]
    assert np.array_equal(far[chest], above[chest])
    assert not np.array_equal(far, above)


def test_without_matplotlib_figures_name_the_extra_and_notebooks_keep_their_words(monkeypatch):
    agent = pf.load_agent("reward-line")
    flips = pf.explain_episode(agent, agent.front[0], steps=[0])
    assert "<img" in flips._repr_html_()
    monkeypatch.setattr(palette, "find_spec", lambda name: None)
    with pytest.raises(
        InvalidInput, match=r'matplotlib is not installed. Install it with: pip install "paretofoil\[plot\]"'
    ):
        flips.plot()
    assert "<img" not in flips._repr_html_()
    assert "steps" in flips._repr_html_()

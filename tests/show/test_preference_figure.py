"""Pictures of preferences: what stands in them is where the weights say, and true of the policy."""

from typing import Any

import numpy as np
import pytest
from arguments import arguments
from matplotlib.colors import to_hex

import paretofoil as pf
from paretofoil.core.answer import ProvenRange
from paretofoil.core.command import Objective
from paretofoil.show.landscape import margin_line
from paretofoil.show.palette import INK
from paretofoil.show.preference_figure import CORNERS, _corners, triangle

NAMES = ["fuel", "ore", "time", "risk"]
COST = Objective("time", "steps", cost=True)


def answer(command: list[float], **options: Any) -> pf.Answer:
    """Action 1 is worth most where ore outweighs fuel two to one."""
    size = len(command)
    table = np.zeros((2, size))
    table[0, 0], table[1, 1] = 2.0, 1.0
    space = pf.CommandSpace.preferences([*NAMES[:2], COST, *NAMES[3:]][:size])
    options = {"space": space, "actions": ("stay", "go"), "kappa": 0.01, **options}
    return pf.explain(
        pf.from_q_table(lambda state: table), state=[0.0], command=command, foil="go", **arguments(**options)
    )


def lead(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights[..., 1] - 2.0 * weights[..., 0])


def marks(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines if line.get_marker() not in ("None", r"$\rightarrow$")}


def arrow(axes: Any) -> np.ndarray:
    [made] = [text for text in axes.texts if getattr(text, "arrow_patch", None)]
    return np.array([made.xyann, made.xy])


def test_each_corner_of_the_triangle_has_all_the_weight_of_one_objective() -> None:
    found = answer([0.5, 0.3, 0.2])
    tri = triangle(found.live.question, [0, 1, 2], [])  # type: ignore[union-attr]
    assert tri.holds(found.question.command)
    assert tri.place(np.eye(3)) == pytest.approx(CORNERS)
    assert tri.margins == pytest.approx(lead(tri.low + tri.size * tri.shares))
    assert (tri.shares.min(), tri.shares.max()) == (0.0, 1.0)


def test_the_arrow_goes_from_the_original_weights_to_those_that_are_quoted() -> None:
    found = answer([0.5, 0.3, 0.2])
    axes = found.plot().axes[0]
    assert arrow(axes) == pytest.approx(np.stack([found.question.command, found.command]) @ CORNERS)  # type: ignore[list-item]
    original = marks(axes)["original command"]
    assert [original.get_xdata()[0], original.get_ydata()[0]] == pytest.approx(found.question.command @ CORNERS)
    closest = next(line for label, line in marks(axes).items() if label.startswith("closest"))
    assert [closest.get_xdata()[0], closest.get_ydata()[0]] == pytest.approx(found.command @ CORNERS)
    assert {"the foil wins (by 0.01 or more)", "proven range"} <= set(axes.get_legend_handles_labels()[1])


def test_ticks_stand_beside_the_places_whose_weights_they_tell() -> None:
    axes = answer([0.5, 0.3, 0.2]).plot().axes[0]
    ticks = [(text.get_text(), np.array(text.get_position())) for text in axes.texts if text.get_text() == "0.25"]
    quarter = np.array([[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.25, 0.0, 0.75]]) @ CORNERS
    assert len(ticks) == 3
    for place in quarter:
        assert min(float(np.linalg.norm(at - place)) for _, at in ticks) < 0.07


def test_close_answers_are_shown_in_a_part_of_the_triangle() -> None:
    found = answer([0.3, 0.58, 0.12])
    tri = triangle(found.live.question, [0, 1, 2], [found])  # type: ignore[union-attr]
    assert tri.size < 0.5
    for weights in (found.question.command, found.command):
        assert tri.place(weights) == pytest.approx((weights - tri.low) / tri.size @ CORNERS)  # type: ignore[arg-type,operator]
        assert ((weights - tri.low) / tri.size >= 0).all()  # type: ignore[operator]
    assert tri.margins == pytest.approx(lead(tri.low + tri.size * tri.shares))
    assert "part of the triangle" in found.plot().axes[0].get_title()


def test_every_corner_of_the_drawn_range_lies_in_it_and_makes_the_foil_win() -> None:
    found = answer([0.5, 0.3, 0.2])
    proven = found.proven_range
    assert isinstance(proven, ProvenRange)
    [drawn] = [patch for patch in found.plot().axes[0].patches if patch.get_label() == "proven range"]
    shares = np.linalg.solve(
        np.vstack([CORNERS.T, np.ones(3)]), np.column_stack([drawn.get_xy(), np.ones(len(drawn.get_xy()))]).T
    ).T
    assert len(shares) > 3
    assert (shares >= proven.low - 1e-9).all()
    assert (shares <= proven.high + 1e-9).all()
    assert (lead(shares) >= found.question.kappa - 1e-9).all()


def test_a_range_of_weights_is_a_polygon_of_up_to_six_corners() -> None:
    corners = _corners(np.array([0.2, 0.2, 0.2]), np.array([0.5, 0.5, 0.5]), 1.0)
    assert len(np.unique(np.round(corners, 9), axis=0)) == 6
    assert corners.sum(axis=1) == pytest.approx(1.0)


def test_three_weights_of_four_are_a_triangle_that_says_so() -> None:
    found = answer([0.4, 0.2, 0.2, 0.2], keep=["risk"])
    axes = found.plot().axes[0]
    assert "other weights as in the original command" in axes.get_title().replace("\n", " ")
    corner = {text.get_text() for text in axes.texts}
    assert {"fuel\n0.8", "ore\n0.8", "time\n0.8"} <= corner


def test_two_weights_are_a_line_on_which_one_gives_what_the_other_gets() -> None:
    found = answer([0.7, 0.3])
    question = found.live.question  # type: ignore[union-attr]
    line = margin_line(question, 0, partner=1)
    assert line.margins == pytest.approx(lead(np.column_stack([line.x, 1.0 - line.x])))
    assert (line.x[0], line.x[-1]) == (0.0, 1.0)
    axes = found.plot().axes[0]
    assert axes.get_xlabel() == "weight of fuel (taken from the weight of ore)"
    assert arrow(axes)[:, 0] == pytest.approx([found.question.command[0], found.command[0]])  # type: ignore[index]
    closest = next(mark for label, mark in marks(axes).items() if label.startswith("closest"))
    assert to_hex(closest.get_markerfacecolor()) != "#ffffff"  # it lies on the line, and is filled


def test_a_line_of_two_weights_ends_where_the_kept_one_leaves_nothing() -> None:
    found = answer([0.5, 0.3, 0.2], keep=["time"])
    line = margin_line(found.live.question, 0, partner=1)  # type: ignore[union-attr]
    assert (line.x[0], line.x[-1]) == pytest.approx((0.0, 0.8))
    assert "weight of time = 0.2" in found.plot().axes[0].get_title()


def test_more_weights_are_bars_before_and_after() -> None:
    found = answer([0.4, 0.2, 0.2, 0.2])
    axes = found.plot().axes[0]
    before, after = axes.containers[0], next(c for c in axes.containers[1:] if hasattr(c, "patches"))
    assert [bar.get_width() for bar in before] == pytest.approx(found.question.command)
    assert [bar.get_width() for bar in after] == pytest.approx(found.command)
    assert to_hex(before[0].get_facecolor()) == INK
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES


def test_an_answer_that_is_none_shows_the_original_alone() -> None:
    table = [[2.0, 2.0, 2.0], [0.0, 1.0, 0.0]]
    space = pf.CommandSpace.preferences(NAMES[:3])
    found = pf.explain(pf.from_q_table(lambda s: table), state=[0.0], command=[0.5, 0.3, 0.2], foil=1, space=space)
    axes = found.plot().axes[0]
    assert set(marks(axes)) == {"original command"}

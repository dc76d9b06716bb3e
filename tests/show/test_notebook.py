"""Values in notebooks: self-contained, escaped, and in the user's words."""

import base64
import io
import re
from typing import Any

import numpy as np
import pytest
from answers import FUEL, TIME, answer, attainable, certificate, proven
from markup import Markup
from PIL import Image
from policies import random_pcn

import paretofoil as pf
from paretofoil import envs
from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.options import Stop

NASTY = "<script>alert('x & \"y\"')</script>"


def agent(**changes: Any) -> pf.Agent:
    entry = envs.entry("deep-sea-treasure")
    policy = random_pcn(0, state_size=entry.observation_size, objectives=2, actions=4)
    space = CommandSpace([1.0, -40.0], [124.0, -1.0], entry.objectives)
    front = np.array([[1.0, -1.0], [2.0, -3.0]])
    return pf.Agent(
        **{"name": "mine", "policy": policy, "environment": entry, "space": space, "front": front} | changes
    )


def flip_map(answers: tuple[Answer, ...] | None = None, name: str = "mine") -> pf.FlipMap:
    some = (answer([6.3, -1.7]), proven(foil=0), answer(foil=0)) if answers is None else answers
    first = answer()
    return pf.FlipMap(
        name,
        first.question.objectives,
        first.question.actions,
        first.question.command,
        np.array([8.0, -2.0]),
        (3, 3),
        (0, 0, 1)[: len(some)],
        some,
    )


ALL = {
    "found": lambda: answer([6.3, -1.7]),
    "proven closest": lambda: proven([6.3, -2.0], alternatives=(answer([8.0, -1.0]),)),
    "proven infeasible": proven,
    "not found": answer,
    "from zero": lambda: answer([0.0, -3.0], original=[0.0, 0.0]),
    "flip map": flip_map,
    "flip map without questions": lambda: flip_map(()),
    "agent": agent,
}


@pytest.mark.parametrize("name", ALL)
def test_html_is_well_formed_and_needs_nothing_from_outside(name: str) -> None:
    html = ALL[name]()._repr_html_()
    reader = Markup(html)
    assert not {tag for tag, _ in reader.tags} & {"script", "link", "style", "iframe", "object"}
    assert "http" not in html
    assert "url(" not in html
    for _, attributes in reader.tags:
        assert attributes.get("src", "data:").startswith("data:")


@pytest.mark.parametrize("name", ALL)
def test_html_takes_its_ink_from_the_page(name: str) -> None:
    """A colour of its own for text would vanish on a light page or on a dark one."""
    for tag, attributes in Markup(ALL[name]()._repr_html_()).tags:
        assert not re.search(r"(^|;)\s*color:", attributes.get("style", ""))
        if tag == "text":
            assert attributes["fill"] == "currentColor"


def test_names_are_escaped() -> None:
    named = answer(
        [6.3, -1.7],
        actions=(NASTY, NASTY + "2", "left", NASTY),
        objectives=(Objective(NASTY, NASTY), TIME),
        search=NASTY,
        agent=NASTY,
        step=3,
    )
    shown = [named, flip_map((named,), name=NASTY), agent(name=NASTY)]
    for thing in shown:
        html = thing._repr_html_()  # type: ignore[attr-defined]
        assert "<script" not in html
        assert "alert('" not in html
        assert NASTY in "".join(Markup(html).words)


def test_an_answer_shows_its_sentence_its_outcome_and_its_proof() -> None:
    found = proven([6.3, -1.7])
    words = Markup(found._repr_html_()).words
    assert str(found) in words
    assert words[-1] == (
        "proven closest · exact, 9,001 queries · "
        "proven: no valid command is closer than 0.1241, and one is found at 0.1250 (7 boxes, 0.50 s)"
    )


def test_an_answer_says_that_nothing_is_proven_and_why_its_search_stopped() -> None:
    words = Markup(answer(stop=Stop.OUT_OF_QUERIES)._repr_html_()).words
    assert words[-1] == (
        "not found · cf-zoo, 9,001 queries · nothing is proven · "
        "The search stopped because it had used all its queries."
    )
    bounded = answer(proof=certificate("gap", 0.03, np.inf))
    assert "no valid command is closer than 0.0300" in Markup(bounded._repr_html_()).words[-1]


def test_an_answer_names_its_agent_and_step_where_it_knows_them() -> None:
    found, placed = answer([6.3, -1.7]), answer([6.3, -1.7], agent="minecart", step=4)
    assert Markup(found._repr_html_()).words[0] == "Why right and not down?"
    assert Markup(placed._repr_html_()).words[0] == "minecart, t = 4: why right and not down?"


def test_an_answer_shows_the_same_after_json() -> None:
    found = proven([6.3, -2.0], agent="mine", step=0, alternatives=(answer([8.0, -1.0]),))
    assert Answer.from_json(found.to_json())._repr_html_() == found._repr_html_()
    assert "Or: Had you asked for 1 fewer step" in "".join(Markup(found._repr_html_()).words)


def test_an_answer_says_what_is_attainable_and_so_do_its_alternatives() -> None:
    other = answer([8.0, -1.0], attainable=attainable([8.0, -1.0]))
    found = answer([6.3, -2.0], attainable=attainable([5.0, -7.0]), alternatives=(other,))
    words = Markup(found._repr_html_()).words
    assert (
        "To make the agent choose down and get what you ask for, ask for 5 treasure in 7 steps: it then delivers "
        "exactly that."
    ) in words
    [other] = [line for line in words if line.startswith("Or: ")]  # type: ignore[assignment]
    assert other.endswith("This command is attainable: the agent then delivers exactly what it asks for.")  # type: ignore[attr-defined]


def bars(found: Answer) -> list[tuple[str, float, float]]:
    """Return the fill, left and width of every bar of the picture, in percent."""
    styles = [attributes.get("style", "") for _, attributes in Markup(found._repr_html_()).tags]
    pattern = r".*left:([\d.]+)%;width:([\d.]+)%;min-width:2px;background:(.+)"
    matches = [match for style in styles if (match := re.fullmatch(pattern, style))]
    return [(match[3], float(match[1]), float(match[2])) for match in matches]


def test_bars_go_from_the_old_number_to_the_new_one_with_costs_by_their_size() -> None:
    (_, zero, old), (_, start, width), *time = bars(answer([6.0, -4.0]))  # 8 to 6 treasure, 2 to 4 steps
    assert (start - zero) / old == pytest.approx(6 / 8)
    assert start + width == pytest.approx(zero + old)
    assert (zero, zero + old) == (0, 100)
    (_, zero, old), (_, start, width) = time
    assert start == pytest.approx(zero + old)
    assert width == pytest.approx(old)


def test_numbers_in_the_picture_are_in_the_users_sign() -> None:
    words = Markup(answer([6.3, -1.0])._repr_html_()).words
    assert "8 → 6.3" in words
    assert "2 → 1 step" in words
    kept = answer([1.5, -0.5], original=[1.0, -0.5], objectives=(Objective("ore"), FUEL))
    assert "0.5 (unchanged)" in Markup(kept._repr_html_()).words


def test_a_probability_in_the_picture_is_in_percent() -> None:
    risk, chance = Objective("death", cost=True, probability=True), Objective("gold", probability=True)
    words = Markup(answer([-0.07, 0.9], original=[-0.0968, 0.9], objectives=(risk, chance))._repr_html_()).words
    assert "9.68 → 7 %" in words
    assert "90 % (unchanged)" in words


def test_an_unchanged_number_has_few_digits_and_a_changed_one_all() -> None:
    found = answer([6.123456, -2.345678], original=[8.0, -2.345678])
    words = Markup(found._repr_html_()).words
    assert "8 → 6.123456" in words
    assert "2.35 steps (unchanged)" in words


def test_more_and_less_have_different_colours_and_what_stays_has_none() -> None:
    colours = [{fill for fill, *_ in bars(answer(command))} for command in ([9.0, -2.0], [7.0, -2.0], [8.0, -2.5])]
    more, less, more_time = (fills - {"currentColor;opacity:.2"} for fills in colours)
    assert len(more) == len(less) == 1
    assert more == more_time != less


def test_a_tiny_change_is_still_to_be_seen() -> None:
    assert len(bars(answer([8.0001, -2.0]))) == 3  # each is at least 2 pixels wide


def test_an_answer_without_a_command_has_no_picture() -> None:
    assert bars(answer()) == []
    assert 'role="img"' not in proven()._repr_html_()


def test_a_long_name_is_whole_in_the_picture() -> None:
    name = "a very long name of an objective"
    found = answer([6.3, -2.0], objectives=(Objective(name), TIME))
    assert name in Markup(found._repr_html_()).words


def test_outcomes_have_colours_of_their_own() -> None:
    shown = {outcome: answer([6.3, -1.7], status=outcome)._repr_html_() for outcome in Status}
    rims = {re.search(r"solid (#\w+)", html).group(1) for html in shown.values()}  # type: ignore[union-attr]
    assert len(rims) == len(Status)


def test_a_flip_map_shows_its_picture_and_its_summary() -> None:
    reader = Markup(flip_map()._repr_html_())
    [source] = [attributes["src"] for tag, attributes in reader.tags if tag == "img"]
    picture = Image.open(io.BytesIO(base64.b64decode(source.removeprefix("data:image/png;base64,"))))
    assert picture.format == "PNG"
    assert min(picture.size) > 200
    words = "".join(reader.words)
    assert "mine: 2 steps, 3 foils" in words
    assert "The smallest changes:\n  t = 0: Had you asked for" in words
    assert "No command was found that changes the action at t = 1 (not proven)." in words


def test_an_agent_shows_what_it_is() -> None:
    measured = agent(achieved=np.array([[1.0, -1.0], [2.0, -9.0]]))
    words = Markup(measured._repr_html_()).words
    assert words[0] == "mine"
    assert words[1:3] == ["environment", f"deep-sea-treasure. {measured.environment.description}"]
    assert words[3:5] == ["objectives", "treasure 1 to 124, time 1 to 40 steps"]
    assert words[5:7] == ["actions", "up, down, left, right"]
    assert words[7:] == ["front", "2 points", "reached", "1 of 2"]
    assert Markup(agent()._repr_html_()).words[-1] == "not measured"

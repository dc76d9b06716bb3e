"""A user study's file: whatever would spoil the study is refused before anybody takes part."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from paretofoil.agents.store import load_agent
from paretofoil.core.errors import InvalidInput
from paretofoil.web.user_study.plan import END, parse_user_study, read_user_study
from paretofoil.web.user_study.tasks import prepare_tasks

EXAMPLE = Path(__file__).parents[2] / "docs" / "user-study.json"
PREDICT, LAST, CHOOSE, STEER = range(4)
"""The example's tasks."""


def example() -> dict[str, Any]:
    return dict(json.loads(EXAMPLE.read_text()))


def changed(*place: Any, to: Any = None) -> dict[str, Any]:
    """The example with another value in one place, or without one."""
    document = copy.deepcopy(example())
    inner: Any = document
    for part in place[:-1]:
        inner = inner[part]
    if to is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = to
    return document


def test_the_example_can_be_served_and_its_tasks_have_different_answers() -> None:
    prepared = prepare_tasks(read_user_study(EXAMPLE), load_agent)
    told = {key: task.truth for key, task in prepared.items()}
    assert told["nothing", "predict-turn"] == "down"
    assert told["nothing", "predict-last"] == "right"
    assert told["nothing", "choose-agent"] == "deep-sea-treasure"
    assert told["early", "predict-last"] == "down"
    assert prepared["early", "predict-last"].episodes[0].agent == "deep-sea-treasure-early"


MALFORMED: list[tuple[dict[str, Any], str]] = [
    (changed("schema", to="paretofoil/user-study/9"), "schema: expected 'paretofoil/user-study/1'"),
    (changed("consent"), "consent: expected a value, got none"),
    (changed("consnt", to=["x"]), "did you mean consent?"),
    (changed("consent", to="one line"), "consent: expected a list, got 'one line'"),
    (changed("title", to=" "), "title: expected one line of 1 to 10,000 printable characters, got ' '"),
    (changed("title", to="a\nb"), "title: expected one line"),
    (changed("seed", to=-1), "seed: expected a number of at least 0, got -1"),
    (changed("seed", to=True), "seed: expected a whole number, got True"),
    (changed("tasks", to=[]), "tasks: expected at least 1 items, got []"),
    (changed("conditions", to=[]), "conditions: expected at least 1 items, got []"),
    (changed("conditions", 0, "name", to="early"), "conditions: expected a different name for each item, got 2 items"),
    (changed("conditions", 0, "name", to="no spaces"), "conditions.0.name: expected a name of at most 63"),
    (changed("conditions", 1, "shows", to=["miracles"]), "conditions.1.shows.0: expected 'counterfactuals', 'proofs'"),
    (changed("conditions", 1, "shows", to=["proofs"]), "conditions.1: expected 'counterfactuals' in `shows`"),
    (changed("conditions", 1, "shwos", to=["proofs"]), "did you mean shows?"),
    (
        changed("tasks", PREDICT, "kind", to="guess"),
        "tasks.0: expected 'predict', 'steer', 'choose', 'check' as 'kind', got",
    ),
    (changed("tasks", PREDICT, "kind"), "tasks.0: expected an object with 'kind', got"),
    (changed("tasks", PREDICT, "step"), "tasks.0.predict.step: expected a value, got none"),
    (changed("tasks", PREDICT, "foil", to="down"), "tasks.0.predict: expected fields among"),
    (changed("tasks", PREDICT, "name", to=END), "tasks.0.predict.name: expected a name of at most 63"),
    (changed("tasks", PREDICT, "command", to=[]), "tasks.0.predict.command: expected at least 1 items, got []"),
    (changed("tasks", PREDICT, "command", to=["x"]), "tasks.0.predict.command.0: expected a finite number, got 'x'"),
    (changed("tasks", PREDICT, "explained", to=[5]), "expected explained steps before step 5"),
    (changed("tasks", CHOOSE, "agents", to=["deep-sea-treasure"] * 2), "expected two different agents"),
    (changed("tasks", PREDICT, to=7), "tasks.0: expected an object, got 7"),
    (changed("ratings", 0, "points", to=1), "ratings.0.points: expected a number of at least 2, got 1"),
    (changed("ratings", 0, "asked", to="never"), "ratings.0.asked: expected 'task' or 'end', got 'never'"),
]


@pytest.mark.parametrize(("document", "words"), MALFORMED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_file_with_something_amiss_is_refused_with_a_sentence_that_says_where(
    document: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_user_study(document)
    assert words in str(refused.value)


@pytest.mark.parametrize("document", [None, 7, [], "study", {}])
def test_what_is_no_study_at_all_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        parse_user_study(document)


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    (changed("tasks", PREDICT, "agent", to="deep-sea-tresure"), "did you mean deep-sea-treasure?"),
    (changed("tasks", PREDICT, "step", to=9), "expected a step from 0 to 8 of the episode of deep-sea-treasure"),
    (changed("tasks", PREDICT, "command", to=[16]), "expected the command to have 2 numbers, got 1"),
    (changed("tasks", STEER, "foil", to="right"), "expected a foil that the agent does not choose, got right"),
    (changed("tasks", STEER, "foil", to="dwn"), "did you mean down?"),
    (changed("tasks", CHOOSE, "explained", to=[7]), "expected explained steps from 0 to 6, got 7"),
    (changed("tasks", CHOOSE, "command", to=[1, -1]), "expected two agents of which one is better"),
    (changed("tasks", CHOOSE, "agents", to=["deep-sea-treasure", "minecart"]), "expected agents of one environment"),
    (changed("conditions", 3, "instead", to={"deep-sea-treasure": "minecart"}), "expected agents of one environment"),
    (changed("conditions", 3, "instead", to={"deep-sea-treasure": "nobody"}), "nobody"),
]


@pytest.mark.parametrize(("document", "words"), IMPOSSIBLE, ids=lambda value: value if isinstance(value, str) else "")
def test_a_task_that_cannot_be_done_is_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        prepare_tasks(parse_user_study(document), load_agent)
    assert words in str(refused.value)


def test_files_of_earlier_versions_are_read() -> None:
    document = changed("tasks", PREDICT, "time", to=5)
    del document["tasks"][PREDICT]["step"]
    assert parse_user_study(document) == parse_user_study(example())


def test_a_foil_that_no_command_leads_to_is_refused() -> None:
    document = changed("tasks", STEER, to={**example()["tasks"][STEER], "command": [8, -8], "step": 5, "foil": "up"})
    document["conditions"] = document["conditions"][:1]
    with pytest.raises(
        InvalidInput,
        match=r"steer-down.*a foil that the agent chooses under some command, got up \(proven infeasible\)",
    ):
        prepare_tasks(parse_user_study(document), load_agent)


def test_every_block_of_participants_has_each_condition_once_and_not_always_in_the_same_order() -> None:
    study = read_user_study(EXAMPLE)
    size = len(study.conditions)
    blocks = [tuple(study.condition_of(size * block + i).name for i in range(size)) for block in range(20)]
    assert {tuple(sorted(block)) for block in blocks} == {tuple(sorted(c.name for c in study.conditions))}
    assert len(set(blocks)) > 5


def test_tasks_sides_and_last_ratings_come_in_an_order_of_ones_own() -> None:
    study = read_user_study(EXAMPLE)
    choose = study.tasks[CHOOSE]
    orders = Counter(tuple(task.name for task in study.tasks_of(number)) for number in range(50))
    sides = Counter(tuple(study.sides_of(number, choose)) for number in range(50))
    lasts = Counter(tuple(rating.name for rating in study.ratings_of(number, END)) for number in range(50))
    assert all(sorted(order) == sorted(task.name for task in study.tasks) for order in orders)
    assert len(orders) > 10
    assert set(sides) == {(0, 1), (1, 0)}
    assert min(sides.values()) > 10
    assert len(lasts) == 6


def test_orders_come_from_the_seed_alone() -> None:
    again, other = parse_user_study(example()), parse_user_study(changed("seed", to=1))
    study = read_user_study(EXAMPLE)
    numbers = range(40)
    assert [study.condition_of(n) for n in numbers] == [again.condition_of(n) for n in numbers]
    assert [study.tasks_of(n) for n in numbers] == [again.tasks_of(n) for n in numbers]
    assert [study.condition_of(n).name for n in numbers] != [other.condition_of(n).name for n in numbers]
    assert [study.tasks_of(n) for n in numbers] != [other.tasks_of(n) for n in numbers]

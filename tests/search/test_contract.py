"""The contract of every search, on random networks, analytic policies and shipped agents.

Searches of other packages, such as the paper's, are tested where they are installed, in the long tier.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question
from valued import envelope_question, random_envelope, value_question

from paretofoil.agents import load_agent
from paretofoil.agents.agent import rollouts
from paretofoil.agents.value_policy import from_q_table
from paretofoil.core.command import CommandSpace
from paretofoil.core.options import Limits, Stop
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.questions import make_questions
from paretofoil.search import CFZoo
from paretofoil.search.registry import methods


def quick(search: Any) -> Search:
    """The search with small settings."""
    small: Search = replace(search, **QUICK.get(type(search).__name__, {}))
    return small


QUICK: dict[str, dict[str, Any]] = {
    "CFZoo": {"directions": 400, "max_queries": 601},
    "CFZooAsRun": {"directions": 400, "max_queries": 601},
    "ReferenceCFZoo": {"config": CFZoo(directions=40, max_queries=61)},
    "LocalZoo": {"max_queries": 601},
    "Boundary": {"max_queries": 1500},
    "WhiteCW": {"binary_search_steps": 3, "max_iter": 5},
    "ProjectedCW": {"iterations": 60},
    "Grid": {"values": 12, "first": False},
}
"""Small settings of slow searches; the others are tested with their defaults."""
ALL = list({search.name: search for method in methods() for search in [quick(method.make())]}.values())
LOOK_AT_LOGITS = ("white-cw", "projected-cw")
"""Searches that need logits, which values of preferences are not, by the start of their names."""


def param(search: Search, *values: Any) -> Any:
    """A search as a parameter; those of other packages are long."""
    marks = () if type(search).__module__.startswith("paretofoil.") else (pytest.mark.long,)
    return pytest.param(search, *values, marks=marks, id="-".join([search.name, *(v.__name__ for v in values)]))


OF_VALUES = [search for search in ALL if not search.name.startswith(LOOK_AT_LOGITS)]
each_search = pytest.mark.parametrize("search", [param(search) for search in ALL])
each_of_values = pytest.mark.parametrize("search", [param(search) for search in OF_VALUES])
each_black_box = pytest.mark.parametrize("search", [param(search) for search in ALL if search.access == "queries"])


def linear_questions() -> list[Question]:
    rng = np.random.default_rng(0)
    policy = LinearPolicy(rng.normal(size=(3, 2)) * 3, rng.normal(size=3))
    space = CommandSpace([-1, -20], [1, 30], ["near", "far"])
    questions = []
    for _ in range(12):
        command = space.low + rng.random(2) * (space.high - space.low)
        greedy = int(policy.log_probs(np.zeros((1, 1)), command[None])[0].argmax())
        front = space.low + rng.random((4, 2)) * (space.high - space.low)
        questions += [
            Question(policy, np.zeros(1), command, foil, (0, 1, 2), space, front) for foil in range(3) if foil != greedy
        ]
    return questions


def network_questions(objectives: int = 3) -> list[Question]:
    policy = random_pcn(objectives, objectives=objectives)
    return [random_question(policy, seed) for seed in range(10)]


def preference_questions() -> list[Question]:
    policy = random_pcn(3, objectives=3)
    space = CommandSpace.preferences(["fuel", "ore", "time"])
    return [random_question(policy, seed, space=space) for seed in (1, 5, 7, 8, 9, 12)]


def value_questions() -> list[Question]:
    policy = random_envelope(2, 3)
    return [envelope_question(policy, seed) for seed in (0, 3, 4, 6, 7, 9)]


def table_questions() -> list[Question]:
    table = 10.0 * np.random.default_rng(1).normal(size=(4, 5, 3))
    policy = from_q_table(lambda state: table)
    return [value_question(policy, 3, seed) for seed in (0, 1, 2, 4, 5, 7)]


each_search_and_shape = pytest.mark.parametrize(
    ("search", "make_questions"),
    [
        *(param(search, shape) for shape in (network_questions, preference_questions) for search in ALL),
        *(param(search, shape) for shape in (value_questions, table_questions) for search in OF_VALUES),
    ],
)


def shipped_questions(name: str) -> list[Question]:
    agent = load_agent(name)
    episodes = rollouts(agent, agent.front[:2])
    return [
        make_questions(agent, d, [foil])[0]
        for episode in episodes
        for d in list(episode)[:4]
        for foil in d.valid_actions
        if foil != d.action
    ]


def check(questions: list[Question], search: Search) -> int:
    """Every answer is valid, inside the region and as far away as it says; returns how many were found."""
    answers = ask(questions, search)
    for question, found in zip(questions, answers, strict=True):
        if not found.found:
            assert found.closest is None
            continue
        scores = question.policy.log_probs(question.state[None], found.command[None])[0]
        valid = list(question.valid_actions)
        rivals = max(scores[a] for a in valid if a != question.foil)
        assert scores[question.foil] - rivals >= question.kappa - 1e-9
        assert (found.command >= question.low).all()
        assert (found.command <= question.high).all()
        scaled = (found.command - question.command) / question.space.scale
        assert found.quoted.distance == pytest.approx(np.linalg.norm(scaled))
        assert found.lower_bound <= found.quoted.distance + 1e-9
        if question.space.simplex:
            assert found.command.sum() == pytest.approx(1.0, abs=1e-9)
            assert found.closest.command.sum() == pytest.approx(1.0, abs=1e-9)
    return sum(a.found for a in answers)


@each_search
def test_on_networks_the_foil_truly_wins_inside_the_box(search: Search) -> None:
    assert check(network_questions(), search) > 0


@each_search
def test_on_preferences_the_foil_truly_wins_and_the_weights_sum_to_1(search: Search) -> None:
    found = check(preference_questions(), search)
    assert found > 0 or search.name == "white-cw:as-run-0"  # which asks for a margin of 0, seldom enough for kappa


@each_of_values
@pytest.mark.parametrize("make_questions", [value_questions, table_questions])
def test_on_values_the_foil_is_truly_worth_most_and_the_weights_sum_to_1(
    search: Search, make_questions: Callable[[], list[Question]]
) -> None:
    assert check(make_questions(), search) > 0


@each_search
def test_preferences_stay_within_ranges_of_their_own(search: Search) -> None:
    questions = []
    for question in preference_questions():
        high = np.minimum(question.command + np.array([0.3, 0.05, 1.0]), 1.0)
        questions.append(replace(question, low=np.maximum(question.command - 0.2, 0.0), high=high))
    check(questions, search)  # not every search finds one; what is found must hold


@each_black_box
def test_on_a_linear_policy_the_foil_truly_wins_inside_the_box(search: Search) -> None:
    assert check(linear_questions(), search) > 0


@each_search
@pytest.mark.parametrize("name", ["deep-sea-treasure", "collect-two", "minecart"])
def test_on_shipped_agents_the_foil_truly_wins_inside_the_box(search: Search, name: str) -> None:
    check(shipped_questions(name)[:12], search)  # not every search finds one; what is found must hold


@each_search_and_shape
def test_the_same_seed_gives_the_same_answer_alone_in_any_batch_and_in_any_order(
    search: Search, make_questions: Callable[[], list[Question]]
) -> None:
    questions = make_questions()
    together = ask(questions, search)
    backwards = ask(questions[::-1], search)[::-1]
    alone = [ask([question], search)[0] for question in questions]
    for a, b, c in zip(together, backwards, alone, strict=True):
        assert (a.status, a.search.queries) == (b.status, b.search.queries) == (c.status, c.search.queries)
        if a.found:
            assert np.array_equal(a.command, b.command)
            assert np.array_equal(a.command, c.command)


@each_search_and_shape
def test_locked_objectives_do_not_move(search: Search, make_questions: Callable[[], list[Question]]) -> None:
    questions = []
    for question in make_questions():
        low, high = question.low.copy(), question.high.copy()
        low[1] = high[1] = question.command[1]
        questions.append(replace(question, low=low, high=high))
    check(questions, search)
    for question, found in zip(questions, ask(questions, search), strict=True):
        if found.found:
            assert found.command[1] == question.command[1]


@each_search
def test_an_objective_without_any_range_does_not_move(search: Search) -> None:
    policy = random_pcn(3, objectives=3)
    space = CommandSpace([0, 0.5, 0], [1, 0.5, 1])
    questions = [random_question(policy, seed, space=space) for seed in range(6)]
    for found in ask(questions, search):
        if found.found:
            assert found.command[1] == 0.5


@each_search_and_shape
def test_a_region_of_a_single_point_gives_no_answer(
    search: Search, make_questions: Callable[[], list[Question]]
) -> None:
    question = make_questions()[0]
    question = replace(question, low=question.command, high=question.command)
    [found] = ask([question], search)
    assert not found.found


@each_search
def test_a_command_outside_the_space_is_legal_and_the_answer_lies_in_the_hull(search: Search) -> None:
    policy = random_pcn(2)
    base = random_question(policy, 4)
    outside = np.array([1.4, -0.2])
    greedy = int(policy.log_probs(base.state[None], outside[None])[0].argmax())
    foil = next(a for a in range(3) if a != greedy)
    question = Question(policy, base.state, outside, foil, (0, 1, 2), base.space, base.front)
    [found] = ask([question], search)
    if found.found:
        assert (found.command >= [0, -0.2]).all()
        assert (found.command <= [1.4, 1]).all()


@each_black_box
def test_the_search_keeps_the_budget_that_it_sets_itself(search: Search) -> None:
    limits = {
        "cf-zoo": 400 * 17 + 601 + 6,
        "cf-zoo:as-run": (601 - 16 - 1) + 601 + 16,
        "cf-zoo:reference": 40 * 17 + 61 + 6,
        "local-zoo": 601,
        "nearest-front": 6,
        "boundary": 1500,
        "grid": 12**3,
    }
    questions = network_questions()
    batch = QuestionBatch(questions)
    search.run(batch)
    assert all(sum(batch.queries(row).values()) <= limits[search.name] for row in range(batch.num_questions))


@each_search_and_shape
def test_no_question_is_asked_about_more_often_than_the_limit_says(
    search: Search, make_questions: Callable[[], list[Question]]
) -> None:
    large = replace(search, **SPENDING.get(type(search).__name__, {}))  # type: ignore[type-var]
    batch = QuestionBatch(make_questions())
    findings = large.run(batch, Limits(queries=300))
    spent = [sum(batch.queries(row).values()) for row in range(batch.num_questions)]
    assert max(spent) <= 300 + 1  # one more for the check of a white-box search
    if type(search).__name__ in SPENDING:
        assert all(finding.stop is Stop.OUT_OF_QUERIES for finding in findings)


SPENDING: dict[str, dict[str, Any]] = {
    "CFZoo": {"directions": 9001, "max_queries": 9001},
    "CFZooAsRun": {"directions": 9001, "max_queries": 3001},
    "ReferenceCFZoo": {"config": CFZoo()},
    "LocalZoo": {"max_queries": 9001},
    "Boundary": {"max_queries": 9001},
    "WhiteCW": {"binary_search_steps": 10, "max_iter": 10},
    "ProjectedCW": {"iterations": 500},
    "Grid": {"values": 200, "first": False},
}
"""Settings that spend more than a limit of 300 queries."""


@each_search_and_shape
def test_with_a_limit_of_queries_a_finding_is_as_repeatable_as_without(
    search: Search, make_questions: Callable[[], list[Question]]
) -> None:
    questions = make_questions()[:4]
    limits = Limits(queries=120)
    together = search.run(QuestionBatch(questions), limits)
    alone = [search.run(QuestionBatch([question]), limits)[0] for question in questions]
    for a, b in zip(together, alone, strict=True):
        assert a.stop is b.stop
        assert (a.scaled_change is None) == (b.scaled_change is None)
        assert a.scaled_change is None or np.array_equal(a.scaled_change, b.scaled_change)


@each_search
def test_when_the_time_is_over_the_best_so_far_is_returned_with_the_reason(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that moves on by a millisecond whenever it is read: no verdict depends on the machine."""
    large = replace(search, **SPENDING.get(type(search).__name__, {}))  # type: ignore[type-var]
    questions = shipped_questions("fruit-tree")[:1]
    ticks = iter(range(10**9))
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) / 1000)
    [answer] = ask(questions, large, limits=Limits(seconds=0.02))
    if search.name != "nearest-front":  # which is done before it looks at the clock so often
        assert answer.search.stop is Stop.OUT_OF_TIME
        assert "time ran out" in answer.search.stop.sentence
    assert next(ticks) < 200


@each_search
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_other_norms_measure_the_distance_of_the_answer(search: Search, norm: str) -> None:
    questions = [replace(question, norm=norm) for question in network_questions()[:5]]
    order = {"l1": 1, "linf": np.inf}[norm]
    for question, found in zip(questions, ask(questions, search), strict=True):
        if found.found:
            scaled = (found.command - question.command) / question.space.scale
            assert found.quoted.distance == pytest.approx(np.linalg.norm(scaled, ord=order))

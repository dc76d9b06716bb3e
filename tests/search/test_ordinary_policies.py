"""Black-box searches on ordinary policies, whose scores depend slightly on the batch."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from networks import layered_question, random_layers
from ordinary import KINDS, NumpyPolicy, Rebuild, dropout_left_on
from policies import random_pcn, random_question

from paretofoil.agents import load_agent
from paretofoil.agents.agent import Agent, rollout
from paretofoil.core.answer import Answer
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Limits
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.explanation.explain import explain
from paretofoil.explanation.verify import measure_noise
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil.search.registry import methods
from paretofoil.study.case import enumerate_cases, evenly, make_case_question

QUICK: dict[str, dict[str, Any]] = {
    "CFZoo": {"directions": 100, "max_queries": 151},
    "ReferenceCFZoo": {"config": CFZoo(directions=8, max_queries=13)},
    "CFZooAsRun": {"directions": 300, "max_queries": 301},
    "LocalZoo": {"max_queries": 301},
    "Boundary": {"max_queries": 1500},
    "Grid": {"values": 12, "first": False},
}
"""Small settings: half precision is slow on a CPU."""
SEARCHES = [
    replace(search, **QUICK.get(type(search).__name__, {}))  # type: ignore[type-var]
    for search in {search.name: search for search in (method.make() for method in methods())}.values()
    if search.access == "queries"
]
each_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda s: s.name)
each_kind = pytest.mark.parametrize("rebuild", KINDS.values(), ids=KINDS)
HALF = ("torch float16", "torch bfloat16", "torch autocast", "numpy stored as float16")
NEARLY_EXACT = ("torch float32", "torch float64", "onnx float32", "numpy float32", "numpy float64")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tiny products are slower on several threads."""
    with one_thread():
        yield


def random_questions() -> list[Question]:
    policy = random_pcn(3, objectives=3)
    return [random_question(policy, seed) for seed in range(6)]


def shipped_questions(name: str, count: int = 20) -> list[Question]:
    agent = load_agent(name)
    cases = list(enumerate_cases(agent))
    return [make_case_question(agent, *cases[i]) for i in evenly(len(cases), count)]


def rebuilt(questions: list[Question], rebuild: Rebuild) -> list[Question]:
    """The same questions of an ordinary policy; without those whose foil it chooses anyway."""
    policy = rebuild(questions[0].policy)  # type: ignore[arg-type]
    asked = [replace(question, policy=policy) for question in questions]
    batch = QuestionBatch(asked)
    margins = batch.margins_at(np.arange(batch.num_questions), batch.commands, "original")
    return [question for question, margin in zip(asked, margins, strict=True) if margin < 0]


def lowest_margins(questions: list[Question], answers: list[Answer]) -> np.ndarray:
    """Of each found command, over batches of several sizes, in the given and in a shuffled order."""
    found = [(question, answer.command) for question, answer in zip(questions, answers, strict=True) if answer.found]
    if not found:
        return np.zeros(0)
    batch, commands = QuestionBatch([question for question, _ in found]), np.array([command for _, command in found])
    lowest, generator = np.full(len(found), np.inf), np.random.default_rng(0)
    for size in (1, 2, 7, 64):
        for order in (np.arange(64), generator.permutation(64)):
            for rows in np.split(order % len(found), range(size, 64, size)):
                np.minimum.at(lowest, rows, batch.margins_at(rows, commands[rows], "again"))
    return lowest


@each_search
@each_kind
def test_what_is_found_wins_by_kappa_in_whatever_batch_it_is_asked_about_again(
    rebuild: Rebuild, search: Search
) -> None:
    questions = rebuilt(random_questions(), rebuild)
    margins = lowest_margins(questions, ask(questions, search))
    assert len(margins) > 0
    assert (margins >= questions[0].kappa - 1e-9).all()


@pytest.mark.parametrize("kind", NEARLY_EXACT)
@pytest.mark.parametrize("name", ["deep-sea-treasure", "fruit-tree", "minecart"])
def test_boundary_loses_nothing_that_it_finds_on_the_exact_policy(name: str, kind: str) -> None:
    questions, search = shipped_questions(name), Boundary(max_queries=1500)
    exact, ordinary = ask(questions, search), ask(rebuilt(questions, KINDS[kind]), search)
    assert [a.found for a in ordinary] == [a.found for a in exact]
    for a, b in zip(exact, ordinary, strict=True):
        assert not a.found or b.closest.distance <= 1.01 * a.closest.distance


def test_the_batch_does_change_the_last_bits_of_an_ordinary_policy() -> None:
    """Otherwise the tests above would show nothing."""
    for kind in ("numpy float32", "numpy float64"):  # of torch it depends on the machine
        assert measure_noise(QuestionBatch(rebuilt(shipped_questions("fruit-tree"), KINDS[kind]))) > 0
    assert measure_noise(QuestionBatch(shipped_questions("fruit-tree"))) == 0


@pytest.mark.parametrize("kind", HALF)
@pytest.mark.parametrize("name", ["deep-sea-treasure", "fruit-tree"])
def test_half_precision_loses_few_answers_and_they_win_in_any_batch(name: str, kind: str) -> None:
    exact = ask(shipped_questions(name), Boundary(max_queries=1500))
    questions = rebuilt(shipped_questions(name), KINDS[kind])
    answers = ask(questions, Boundary(max_queries=1500))
    assert sum(a.found for a in answers) >= 0.9 * sum(a.found for a in exact)
    assert (lowest_margins(questions, answers) > 0).all()


def test_noise_of_half_precision_is_measured_where_it_shows() -> None:
    """Rounding to half makes differences of the last bits rare and large."""
    policy = NumpyPolicy(load_agent("fruit-tree").policy.arrays(), np.float32, np.float16)  # type: ignore[attr-defined]
    batch = QuestionBatch([replace(question, policy=policy) for question in shipped_questions("fruit-tree")])
    assert 1e-4 < max(measure_noise(batch, seed) for seed in range(8)) < 0.05


@each_search
def test_a_policy_with_dropout_left_on_is_refused(search: Search) -> None:
    [question, *_] = random_questions()
    asked = replace(question, policy=dropout_left_on(question.policy))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"queried twice \(if dropout is on, call eval\(\) on the module\)"):
        ask([asked], search)


def test_a_random_policy_is_refused_before_its_choices_are_believed() -> None:
    """At random it may choose the foil, which must not be the complaint."""
    [question, *_] = random_questions()
    scores = question.policy.log_probs(question.state[None], question.command[None])[0]
    policy = dropout_left_on(question.policy)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="answers the same query in the same way"):
        explain(policy, state=question.state, command=question.command, foil=int(scores.argmax()), space=question.space)


def test_dropout_that_is_switched_off_is_no_noise() -> None:
    question = random_questions()[0]
    policy = dropout_left_on(question.policy)  # type: ignore[arg-type]
    policy.network.eval()
    assert ask([replace(question, policy=policy)], Boundary(max_queries=1500))[0].found


@each_search
def test_actions_that_a_policy_masks_with_minus_infinity_are_found_where_it_allows_them(search: Search) -> None:
    pcn = random_pcn(5, objectives=3)
    masked = [replace(random_question(pcn, seed), foil=2) for seed in range(12)]
    questions = rebuilt(masked, KINDS["masked with -inf"])
    found = [answer for answer in ask(questions, search) if answer.found]
    assert found
    for answer in found:
        assert answer.command[0] >= 0.3  # type: ignore[union-attr]
        assert np.isfinite(answer.quoted.margin)  # type: ignore[arg-type]


def test_a_foil_that_is_masked_everywhere_is_not_found() -> None:
    def never(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([commands[:, 0], np.full(len(commands), -np.inf)], axis=1)

    space = random_questions()[0].space
    assert not explain(never, state=[0.0], command=[0.5, 0.5, 0.5], foil=1, valid_actions=[0, 1], space=space).found


def test_scores_in_half_precision_may_be_minus_infinity() -> None:
    def half(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        lead = commands[:, 0] - 0.6
        return np.stack([np.zeros(len(lead)), np.where(lead > -0.5, 3 * lead, -np.inf)], axis=1).astype(np.float16)

    space = random_questions()[0].space
    answer = explain(half, state=[0.0], command=[0.05, 0.5, 0.5], foil=1, valid_actions=[0, 1], space=space)
    assert answer.closest.command[0] == pytest.approx(0.6 + 0.05 / 3, abs=2e-3)  # type: ignore[union-attr]


def test_logarithms_of_tiny_probabilities_do_not_push_answers_away() -> None:
    """Far from the boundary their noise is a thousand times larger than where answers lie."""
    questions = rebuilt(shipped_questions("fruit-tree"), KINDS["logs of probabilities"])
    sharp = replace(questions[0].policy, dtype=np.float64)  # type: ignore[type-var]
    exact = ask([replace(question, policy=sharp) for question in questions], Boundary(max_queries=1500))
    ordinary = ask(questions, Boundary(max_queries=1500))
    assert [a.found for a in ordinary] == [a.found for a in exact]
    ratios = [b.closest.distance / a.closest.distance for a, b in zip(exact, ordinary, strict=True) if a.found]  # type: ignore[operator]
    assert np.mean(ratios) < 1.01


def test_a_plain_torch_function_is_explained_rolled_out_and_studied_without_a_warning() -> None:
    """Torch warns of arrays that cannot be written to, but once only: the function looks for itself."""
    agent = load_agent("deep-sea-treasure")
    policy = KINDS["torch float32"](agent.policy)  # type: ignore[arg-type]

    def my_policy(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        assert states.flags.writeable
        assert commands.flags.writeable
        return policy.log_probs(states, commands)

    mine = Agent("mine", my_policy, agent.environment, agent.space, agent.front)  # type: ignore[arg-type]
    decision = rollout(mine, agent.front[3])[2]
    assert mine.decision_at(decision.state, decision.command).action == decision.action
    foil = next(action for action in decision.valid_actions if action != decision.action)
    asked: dict[str, Any] = {"foil": foil, "search": Boundary(max_queries=500)}
    answer = explain(my_policy, state=decision.state, command=decision.command, space=agent.space, **asked)
    assert answer.found
    assert "noise" in answer.search.queries
    assert explain(mine, decision, **asked).found


def test_queries_before_the_search_do_not_count_for_its_limit() -> None:
    """Noise is measured with more queries than this limit has."""
    policy = random_layers(1, (2, 16, 16, 3), ("tanh", "relu"))
    limits = Limits(queries=200)
    for search in (Boundary(), Exact()):
        answers = [ask([layered_question(policy, seed)], search, limits=limits)[0] for seed in range(6)]
        assert any(answer.found for answer in answers)
        assert all(answer.search.queries["noise"] > 200 for answer in answers)

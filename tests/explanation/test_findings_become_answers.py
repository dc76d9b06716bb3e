"""How `ask` turns the findings of a search into answers: verified, rounded, sparse, several. The findings are given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from answers import certificate

from paretofoil.core import question as question_module
from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Options, Stop
from paretofoil.core.policy import CallablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.explanation.ask import ask
from paretofoil.search import NearestFront
from paretofoil.search.budget import Budget


@dataclass(frozen=True)
class FixedSearch(Search):
    """Return the finding that a function gives for each question."""

    find: Callable[[Question], Finding]
    name: str = "fixed"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        return [self.find(question) for question in batch.questions]


def policy(margin: Callable[[np.ndarray], np.ndarray]) -> CallablePolicy:
    """Action 1 beats action 0 by a function of the commands (N, d)."""
    return CallablePolicy(lambda states, z: np.stack([np.zeros(len(z)), margin(z)], axis=1))


def question(margin: Callable[[np.ndarray], np.ndarray], dim: int = 2, **changes: Any) -> Question:
    space = CommandSpace(np.zeros(dim), np.ones(dim))
    return Question(policy(margin), np.zeros(1), np.full(dim, 0.5), 1, (0, 1), space, **changes)


def answer_to(asked: Question, find: Callable[[Question], Finding], **options: Any) -> Answer:
    [answer] = ask([asked], FixedSearch(find), Options(**options))
    return answer


def clipped(question: Question, change: Any) -> np.ndarray:
    """As much of a change as the region allows."""
    return np.clip(question.command + change, question.low, question.high) - question.command


def wide(z: np.ndarray) -> np.ndarray:
    """A margin of 1 where the first number is above 0.6."""
    return np.where(z[:, 0] > 0.6, 1.0, -1.0)


# What counts as an answer


@pytest.mark.parametrize(("height", "found"), [(0.049, False), (0.05, True)])
def test_an_answer_wins_by_kappa(height: float, found: bool) -> None:
    answer = answer_to(
        question(lambda z: np.where(z[:, 0] > 0.6, height, -1.0)), lambda _: Finding(np.array([0.4, 0.0]))
    )
    assert answer.found == found
    assert answer.search.stop is (Stop.COMPLETE if found else Stop.NOT_CONFIRMED)


def test_short_numbers_win_by_kappa() -> None:
    answer = answer_to(question(lambda z: z[:, 0] - 0.785), lambda _: Finding(np.array([0.3371, 0.0])))
    assert answer.command is not None
    assert answer.command.tolist() == [0.84, 0.5]  # at 0.8 it wins by 0.015


def test_the_answer_is_about_the_command_that_is_quoted() -> None:
    answer = answer_to(question(lambda z: z[:, 0] - 0.7555), lambda _: Finding(np.array([0.3123, 0.0])))
    assert answer.command is not None
    assert answer.command.tolist() == [0.81, 0.5]
    assert answer.quoted.distance == pytest.approx(0.31)
    assert answer.quoted.margin == pytest.approx(0.0545)
    assert answer.closest.distance == pytest.approx(0.3123)
    assert answer.quoted.probabilities[1] == pytest.approx(1 / (1 + np.exp(-0.0545)))  # type: ignore[index]


def test_a_change_that_falls_short_by_a_hair_is_walked_outwards_and_no_longer_proven_closest() -> None:
    closest = certificate("optimal", 0.3, 0.3)
    hair = answer_to(
        question(lambda z: z[:, 0] - 0.75 - 1e-7), lambda _: Finding(np.array([0.3, 0.0]), certificate=closest)
    )
    assert hair.status is Status.FOUND
    assert 0.3 < hair.closest.distance < 0.3001  # type: ignore[operator]
    exactly = answer_to(question(lambda z: z[:, 0] - 0.7), lambda _: Finding(np.array([0.3, 0.0]), certificate=closest))
    assert exactly.status is Status.PROVEN_CLOSEST


def test_a_number_that_hardly_changes_stays_as_it_is() -> None:
    answer = answer_to(question(wide), lambda _: Finding(np.array([0.4, 1e-10])))
    assert answer.closest is not None
    assert answer.closest.command[1] == 0.5


# What counts as proven


@pytest.mark.parametrize(
    ("status", "change", "outcome"),
    [
        ("optimal", (0.4, 0.0), Status.PROVEN_CLOSEST),
        ("gap", (0.4, 0.0), Status.FOUND),
        ("infeasible", None, Status.PROVEN_INFEASIBLE),
        ("gap", None, Status.NOT_FOUND),
    ],
)
def test_an_open_gap_proves_nothing(status: str, change: Any, outcome: Status) -> None:
    proof = certificate(status, 0.1, 0.4)
    answer = answer_to(
        question(wide), lambda _: Finding(None if change is None else np.array(change), certificate=proof)
    )
    assert answer.status is outcome
    assert answer.lower_bound == 0.1


def test_a_sparse_answer_is_proven_only_if_every_subset_is() -> None:
    """Of two objectives the first alone is enough, which is proven; of the second nothing is known, or that too."""

    def find(status: str) -> Callable[[Question], Finding]:
        def found(asked: Question) -> Finding:
            if asked.high[0] > asked.low[0]:
                return Finding(clipped(asked, [0.4, 0.0]), certificate=certificate("optimal", 0.4, 0.4))
            return Finding(None, certificate=certificate(status, 0.1, np.inf))

        return found

    assert answer_to(question(wide), find("gap"), sparse=True).status is Status.FOUND
    assert answer_to(question(wide), find("infeasible"), sparse=True).status is Status.PROVEN_CLOSEST


def test_where_no_subset_has_an_answer_the_whole_is_what_was_searched() -> None:
    def find(asked: Question) -> Finding:
        everything = (asked.high > asked.low).all()
        return Finding(None, certificate=certificate("infeasible" if everything else "gap", np.inf, np.inf))

    answer = answer_to(question(wide), find, sparse=True)
    assert answer.status is Status.PROVEN_INFEASIBLE
    assert answer.question.free == ()
    assert answer.question.low.tolist() == [0.0, 0.0]
    assert answer.question.high.tolist() == [1.0, 1.0]


def test_an_answer_over_subsets_counts_the_queries_of_all() -> None:
    assert answer_to(question(wide), lambda asked: Finding(None), sparse=True).search.queries["original"] == 3


# Options


def test_of_two_small_changes_the_smallest_is_undone_first() -> None:
    """One of them is needed, whichever, and as it is: no shorter number will do."""

    def margin(z: np.ndarray) -> np.ndarray:
        return np.where((z[:, 0] > 0.6) & (np.abs(z[:, 1:] - [0.502, 0.505]) < 5e-4).any(axis=1), 1.0, -1.0)

    asked = question(margin, dim=3)
    answer = answer_to(asked, lambda q: Finding(clipped(q, [0.4, 0.002, 0.005])), min_change=0.01)
    assert answer.command is not None
    assert answer.command[1] == 0.5
    assert answer.command[2] > 0.5


def test_answers_that_change_the_same_objectives_the_same_way_are_one() -> None:
    """With the second number, which hardly changes, and far away without it."""

    def find(asked: Question) -> Finding:
        return Finding(clipped(asked, [0.4, 0.01] if (asked.high > asked.low).all() else [0.15, 0.0]))

    answer = answer_to(question(wide), find, k=3)
    assert answer.requested == 3
    assert answer.alternatives == ()


def test_an_answer_that_hardly_changes_one_more_objective_is_no_other_answer() -> None:
    """Far with a hundredth of the second number, which is needed there, or near without it."""

    def margin(z: np.ndarray) -> np.ndarray:
        far = (z[:, 0] > 0.8) & (np.abs(z[:, 1] - 0.51) < 0.005)
        near = (np.abs(z[:, 0] - 0.65) < 0.05) & (z[:, 1] == 0.5)
        return np.where(far | near, 1.0, -1.0)

    def find(asked: Question) -> Finding:
        first, second = asked.high > asked.low
        return Finding(np.array([0.4, 0.01] if first and second else [0.15 * first, 0.0]))

    answer = answer_to(question(margin), find, k=3)
    assert answer.command is not None
    assert answer.command.tolist() == [0.9, 0.51]
    assert answer.alternatives == ()


# Regions


def test_a_region_holds_its_command_on_both_sides() -> None:
    for low, high in (((0.6, 0.0), (1.0, 1.0)), ((0.0, 0.0), (1.0, 0.4))):
        with pytest.raises(InvalidInput, match="a search region that contains the command"):
            question(wide, low=np.array(low), high=np.array(high))


@pytest.mark.parametrize("point", [(0.75, 0.5), (0.25, 0.5), (0.5, 0.25)])
def test_a_front_point_beyond_either_side_of_the_region_is_no_answer(point: tuple[float, float]) -> None:
    asked = question(
        lambda z: np.where(np.abs(z - 0.5).max(axis=1) > 0.2, 1.0, -1.0),
        front=np.array([point]),
        low=np.array([0.3, 0.3]),
        high=np.array([0.7, 0.7]),
    )
    [finding] = NearestFront().run(QuestionBatch([asked]))
    assert finding.scaled_change is None


def test_short_numbers_stay_below_the_upper_side_of_the_region() -> None:
    asked = question(lambda z: z[:, 0] - 0.7, high=np.array([0.7896, 1.0]))
    answer = answer_to(asked, lambda _: Finding(np.array([0.2895, 0.0])))
    assert answer.command is not None
    assert answer.command[0] <= 0.7896


def test_short_numbers_stay_above_the_lower_side_of_the_region() -> None:
    asked = question(lambda z: 0.3 - z[:, 0], low=np.array([0.2104, 0.0]))
    answer = answer_to(asked, lambda _: Finding(np.array([-0.2895, 0.0])))
    assert answer.command is not None
    assert answer.command.tolist() == [0.22, 0.5]  # 0.2 and 0.21 are shorter or closer, and outside


# Batches


@pytest.mark.parametrize("count", [1, 3, 4, 6, 7])
def test_a_batch_in_chunks_gives_each_question_its_own_margins(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    asked = question(lambda z: z[:, 0])
    commands = np.random.default_rng(0).random((count, 2))
    monkeypatch.setattr(question_module, "CHUNK", 3)
    batch = QuestionBatch([asked])
    margins = batch.margins_at(np.zeros(count, dtype=int), commands, "test")
    assert margins.tolist() == commands[:, 0].tolist()
    assert batch.queries(0) == {"test": count}


def test_each_answer_of_a_batch_is_that_of_its_own_question() -> None:
    one, two = (question(wide, front=np.array([[first, 0.5]])) for first in (0.7, 0.9))
    two = Question(one.policy, two.state, two.command, 1, (0, 1), two.space, two.front)
    assert [a.command[0] for a in ask([one, two, one], NearestFront())] == [0.7, 0.9, 0.7]  # type: ignore[index]


def test_actions_that_cannot_be_have_margins_that_are_numbers() -> None:
    impossible = CallablePolicy(lambda states, z: np.full((len(z), 3), -np.inf))
    space = CommandSpace(np.zeros(2), np.ones(2))
    batch = QuestionBatch([Question(impossible, np.zeros(1), np.zeros(2), 1, (0, 1), space)])
    margins = batch.margins(np.zeros(4, dtype=int), np.zeros((4, 2)), "test")
    assert margins.tolist() == [0.0] * 4
    assert np.isfinite(batch.scores_at(np.zeros(1, dtype=int), np.zeros((1, 2)), "test")).all()


def test_an_action_that_is_not_valid_is_no_rival() -> None:
    strong = CallablePolicy(lambda states, z: np.tile([0.0, 1.0, 5.0], (len(z), 1)))
    space = CommandSpace(np.zeros(2), np.ones(2))
    asked = Question(strong, np.zeros(1), np.zeros(2), 1, (0, 1), space)
    assert QuestionBatch([asked]).margins(np.zeros(1, dtype=int), np.zeros((1, 2)), "test").tolist() == [1.0]


# Budgets


def test_a_budget_asks_the_first_queries_of_each_question_and_keeps_the_closest_valid_change() -> None:
    batch = QuestionBatch([question(lambda z: z[:, 0] - 0.6)])
    budget = Budget(batch, Limits(queries=3))
    z = np.array([[0.4, 0.0], [0.2, 0.0], [0.05, 0.0], [0.16, 0.0]])
    margins = budget.ask(np.zeros(4, dtype=int), z, "test")
    assert margins[:3] == pytest.approx([0.3, 0.1, -0.05])
    assert margins[3] == -np.inf
    assert budget.distance[0] == pytest.approx(0.2)
    [finding] = budget.findings()
    assert finding.stop is Stop.OUT_OF_QUERIES
    assert finding.scaled_change == pytest.approx([0.2, 0.0])


def test_each_question_of_a_budget_has_its_own_queries_and_answers() -> None:
    one = question(lambda z: z[:, 0] - 0.6)
    budget = Budget(QuestionBatch([one, one]), Limits(queries=2))
    z = np.array([[0.4, 0.0], [0.2, 0.0], [0.3, 0.0], [0.35, 0.0], [0.16, 0.0], [0.17, 0.0]])
    margins = budget.ask(np.array([0, 1, 0, 1, 0, 1]), z, "test")
    assert np.isfinite(margins).tolist() == [True] * 4 + [False] * 2
    assert [finding.scaled_change[0] for finding in budget.findings()] == [0.3, 0.2]  # type: ignore[index]


@pytest.mark.parametrize(("height", "kept"), [(0.049, False), (0.05, True)])
def test_a_change_is_kept_if_it_wins_by_kappa(height: float, kept: bool) -> None:
    budget = Budget(QuestionBatch([question(lambda z: np.full(len(z), height))]))
    budget.ask(np.zeros(1, dtype=int), np.array([[0.12, 0.0]]), "test")
    assert (budget.findings()[0].scaled_change is not None) == kept

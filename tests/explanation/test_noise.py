"""How noise is measured, kept clear of and allowed for, on policies whose noise is known."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Options, Stop
from paretofoil.core.policy import ValueTable
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.explain import explain, explain_decision
from paretofoil.explanation.questions import make_decision
from paretofoil.explanation.verify import (
    BATCHES,
    CANDIDATES,
    CAUTION,
    OUTWARDS,
    PROBES,
    clearance,
    confirm,
    measure_noise,
    scores_in_batches,
    sure_margin,
)
from paretofoil.search import Boundary, Exact

SPACE = CommandSpace([0.0, 0.0], [1.0, 1.0])
Noise = Callable[[np.ndarray], np.ndarray]
"""Margins (N,) of a batch -> what is added to each."""


@dataclass(eq=False)
class NoisyPolicy:
    """Two actions; the second one leads by 4 R_1 - 3, and by whatever the noise adds."""

    noise: Noise
    slope: float = 4.0

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        lead = self.slope * commands[:, 0] - 3.0
        return np.stack([np.zeros(len(lead)), lead + self.noise(lead)], axis=1)


def alone(amount: float, size: int = 1) -> Noise:
    """Margins are lower by so much in batches of that size."""
    return lambda lead: np.full(len(lead), -amount if len(lead) == size else 0.0)


def margin_at(batch: QuestionBatch, command: np.ndarray) -> float:
    return sure_margin(batch, 0, scores_in_batches(batch, 0, command))


def asked(noise: Noise, **changes: object) -> Question:
    return replace(Question(NoisyPolicy(noise), np.zeros(1), np.array([0.25, 0.5]), 1, (0, 1), SPACE), **changes)  # type: ignore[arg-type]


def batch_of(question: Question) -> QuestionBatch:
    batch = QuestionBatch([question])
    batch.keep_clear(clearance(batch))
    return batch


@pytest.mark.parametrize("size", BATCHES)
def test_noise_that_shows_in_one_size_of_batch_alone_is_measured(size: int) -> None:
    assert measure_noise(QuestionBatch([asked(alone(1e-3, size))])) == pytest.approx(1e-3)


def test_noise_that_depends_on_the_place_in_a_batch_is_measured() -> None:
    def by_place(lead: np.ndarray) -> np.ndarray:
        return 1e-3 * (np.arange(len(lead)) == 40)

    seen = [measure_noise(QuestionBatch([asked(by_place)]), seed) for seed in range(8)]
    assert max(seen) == pytest.approx(1e-3)


def test_noise_far_from_kappa_does_not_count() -> None:
    def far(lead: np.ndarray) -> np.ndarray:
        return np.where(np.abs(lead) > 1.5, 0.1 * len(lead), 1e-6 * (len(lead) == 1))

    assert measure_noise(QuestionBatch([asked(far)])) == pytest.approx(1e-6)


def test_every_question_of_a_batch_has_probes() -> None:
    quiet, loud = asked(alone(0.0)), np.array([7.0])

    def log_probs(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        lead = 4.0 * commands[:, 0] - 3.0 - 1e-3 * (states[:, 0] == 7.0) * (len(states) == 1)
        return np.stack([np.zeros(len(lead)), lead], axis=1)

    policy = NoisyPolicy(alone(0.0))
    policy.log_probs = log_probs  # type: ignore[method-assign]
    questions = [replace(quiet, policy=policy), replace(quiet, policy=policy, state=loud)]
    assert measure_noise(QuestionBatch(questions)) == pytest.approx(1e-3)


def test_searches_must_reach_kappa_and_four_times_the_noise() -> None:
    batch = batch_of(asked(alone(1e-3)))
    assert batch.clearance == pytest.approx(CAUTION * 1e-3) == pytest.approx(4e-3)
    assert batch.kappa[0] == pytest.approx(0.05 + 4e-3)


def test_a_policy_that_promises_exact_rows_is_believed_and_not_asked() -> None:
    batch = batch_of(random_question(random_pcn(0), 0))
    assert batch.clearance == 0
    assert not batch.queries(0)


def test_a_policy_that_answers_differently_when_asked_twice_is_refused() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match=r"in the same way, got margins that differ by up to 0\.\d+ when"):
        measure_noise(QuestionBatch([asked(lambda lead: generator.normal(size=len(lead)) * 0.1)]))


def test_differences_that_are_tiny_are_noise_although_the_very_same_batch_shows_them() -> None:
    """As where a GPU adds up in another order each time."""
    generator = np.random.default_rng(0)
    noise = measure_noise(QuestionBatch([asked(lambda lead: generator.normal(size=len(lead)) * 1e-5)]))
    assert 1e-5 < noise < 1e-4


def test_what_counts_as_random_grows_with_the_margins() -> None:
    generator = np.random.default_rng(0)
    policy = NoisyPolicy(lambda lead: generator.normal(size=len(lead)), slope=4e5)
    assert measure_noise(QuestionBatch([asked(alone(0.0), policy=policy)])) > 1


def test_actions_that_cannot_be_are_no_noise() -> None:
    assert measure_noise(QuestionBatch([asked(lambda lead: np.full(len(lead), -np.inf))])) == 0
    at_times = asked(lambda lead: np.where((lead < 0) & (len(lead) == 1), -np.inf, 0.0))
    assert measure_noise(QuestionBatch([at_times])) == 0


def test_a_margin_is_sure_after_the_noise_is_taken_off() -> None:
    batch, command = batch_of(asked(alone(1e-3))), np.array([0.8, 0.5])  # its margin is 0.2
    assert margin_at(batch, command) == pytest.approx(0.2 - 1e-3 - 1e-3)


def test_noise_that_shows_elsewhere_is_taken_off_too() -> None:
    batch = batch_of(asked(lambda lead: np.where((lead < 0) & (len(lead) == 1), -1e-3, 0.0)))
    assert margin_at(batch, np.array([0.8, 0.5])) == pytest.approx(0.2 - 1e-3)


def test_noise_that_shows_at_the_command_itself_is_taken_off_too() -> None:
    def here(lead: np.ndarray) -> np.ndarray:
        return np.where(np.abs(lead - 0.2) < 1e-6, -0.01 * (len(lead) == 2), 0.0)

    batch = batch_of(asked(here))
    assert batch.clearance == 0  # the probes are elsewhere
    assert margin_at(batch, np.array([0.8, 0.5])) == pytest.approx(0.2 - 0.01 - 0.01)


EDGE = 0.7625 - 0.25
"""The change of the first objective from which on the margin is 0.05, without any noise."""


def test_a_change_that_holds_is_confirmed_as_it_is() -> None:
    confirmed = confirm(batch_of(asked(alone(0.0))), 0, np.array([EDGE + 1e-12, 0.0]))
    assert confirmed is not None
    assert confirmed[0] == pytest.approx([0.7625, 0.5], abs=1e-11)


@pytest.mark.parametrize("lacking", [1e-6, 1e-4, 1e-3])
def test_a_change_on_the_edge_is_walked_outwards_as_little_as_the_noise_asks_for(lacking: float) -> None:
    batch = batch_of(asked(alone(lacking)))
    confirmed = confirm(batch, 0, np.array([EDGE, 0.0]))
    assert confirmed is not None
    command = confirmed[0]
    assert margin_at(batch, command) >= 0.05
    share = (command[0] - 0.25) / EDGE - 1
    assert share < 11 * 2 * lacking / (4 * EDGE)  # each step is ten times the one before


def test_a_change_that_lacks_more_than_a_hundredth_is_not_confirmed() -> None:
    batch = batch_of(asked(alone(0.0)))
    assert confirm(batch, 0, np.array([EDGE * (1 - 0.5 * OUTWARDS[-1]), 0.0])) is not None
    assert confirm(batch, 0, np.array([EDGE * (1 - 2 * OUTWARDS[-1]), 0.0])) is None


def test_a_walk_outwards_stays_inside_the_region_and_leaves_what_did_not_change() -> None:
    question = asked(alone(1e-3), high=np.array([0.7626, 1.0]))
    assert confirm(batch_of(question), 0, np.array([EDGE, 1e-10])) is None  # at most 0.0504 there
    wider = asked(alone(5e-3), high=np.array([0.766, 1.0]))
    confirmed = confirm(batch_of(wider), 0, np.array([EDGE, 1e-10]))
    assert confirmed is not None
    assert confirmed[0].tolist() == [0.766, 0.5]


def test_a_short_number_right_on_the_edge_is_not_turned_down_for_rounding_errors() -> None:
    batch = batch_of(asked(lambda lead: 1e-15 * (len(lead) == 2)))  # type: ignore[return-value]
    assert batch.clearance > 0
    assert margin_at(batch, np.array([0.75, 0.5])) == 0.0


@dataclass(frozen=True)
class Claims(Search):
    """Claims one change, and remembers what it had to reach."""

    change: tuple[float, float]
    name: str = "claims"
    seed: int = 0
    reached: list[float] = field(default_factory=list)

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        self.reached.extend(batch.kappa)
        return [Finding(np.array(self.change))]


def test_the_outer_call_tells_searches_to_keep_clear() -> None:
    search = Claims((0.6, 0.0))
    ask([asked(alone(1e-3))], search)
    assert search.reached == pytest.approx([0.054])


def test_a_claim_that_the_policy_takes_back_in_another_batch_is_not_confirmed() -> None:
    """Asked in pairs about commands where its margin is small, this policy never takes the foil."""
    question = asked(lambda lead: np.where((len(lead) == 2) & (lead > 0.04) & (lead < 0.3), -1.0, 0.0))
    [answer] = ask([question], Claims((EDGE + 1e-9, 0.0)))
    assert not answer.found
    assert answer.search.stop is Stop.NOT_CONFIRMED
    assert "queried again, the foil did not win" in answer.search.stop.sentence


def test_a_shorter_number_that_is_not_sure_is_not_quoted() -> None:
    """0.763 is nearer to what was found than 0.764, and wins by 0.052; sure of it would be 0.0522."""
    [answer] = ask([asked(alone(1.1e-3), high=np.array([0.765, 1.0]))], Claims((0.7634 - 0.25, 0.0)))
    assert answer.closest.command == pytest.approx([0.7634, 0.5])
    assert answer.command == pytest.approx([0.764, 0.5])


def test_the_quoted_command_is_as_sure_as_the_closest_one() -> None:
    question = asked(alone(1e-3))
    [answer] = ask([question], Boundary(max_queries=500))
    for command in (answer.closest.command, answer.command):
        assert command is not None
        assert margin_at(batch_of(question), command) >= 0.05


def test_a_policy_may_write_to_what_it_is_given() -> None:
    """Many scale their inputs in place; what the search asks about must not change under its hands."""
    plain = LinearPolicy(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([0.0, -3.0]))

    class InPlace:
        def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
            scores = plain.log_probs(states, commands)
            states += 1.0
            commands *= 2.0
            return scores

    question = asked(alone(0.0))
    expected, got = (ask([replace(question, policy=p)], Boundary(max_queries=500))[0] for p in (plain, InPlace()))
    assert got.command.tolist() == expected.command.tolist()  # type: ignore[union-attr]


FEW_BOXES = Exact(max_boxes=2000)
"""Enough for an answer; the noise keeps the gap open for ever."""


@dataclass(eq=False)
class LookedInto(NoisyPolicy):
    """The same, and proofs know all of it but the noise."""

    def fold(self, state: np.ndarray) -> Program:
        weights = np.array([[0.0, 0.0], [self.slope, 0.0]])
        return Program.of_layers((weights,), (np.array([0.0, -3.0]),))


@pytest.mark.parametrize("slope", [3.5, 5.0, 10.0])
def test_in_a_proven_range_the_foil_wins_however_the_policy_is_asked(slope: float) -> None:
    policy = LookedInto(alone(0.01), slope)
    answer = explain(
        policy, state=[0.0], command=[0.25, 0.5], foil=1, valid_actions=[0, 1], space=SPACE, search=FEW_BOXES
    )
    assert answer.proven_range is not None
    corner = policy.log_probs(np.zeros((1, 1)), answer.proven_range.low[None])
    assert corner[0, 1] >= answer.question.kappa


def test_noise_is_measured_once_for_all_foils_and_their_proven_ranges() -> None:
    def log_probs(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([np.zeros(len(commands)), 4.0 * commands[:, 0] - 3.0, 4.0 * commands[:, 1] - 3.0], axis=1)

    policy = LookedInto(alone(0.0))
    policy.log_probs = log_probs  # type: ignore[method-assign]
    weights, biases = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]), np.array([0.0, -3.0, -3.0])
    policy.fold = lambda state: Program.of_layers((weights,), (biases,))  # type: ignore[method-assign]
    decision = make_decision(None, None, [0.0], [0.25, 0.5], None, [0, 1, 2])
    answers = explain_decision(policy, decision, space=SPACE, foils=[1, 2])
    assert all(answer.proven_range is not None for answer in answers)
    assert sum(answer.search.queries["noise"] for answer in answers) == CANDIDATES + PROBES * (2 + len(BATCHES)) == 288


def test_an_alternative_and_its_proven_range_share_one_measure_of_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[QuestionBatch] = []

    def measure(batch: QuestionBatch) -> float:
        measured.append(batch)
        return clearance(batch)

    monkeypatch.setattr("paretofoil.explanation.ask.clearance", measure)
    policy, options = LookedInto(alone(0.01)), {"options": Options(k=2), "space": SPACE, "search": FEW_BOXES}
    answer = explain(policy, state=[0.0], command=[0.25, 0.5], foil=1, valid_actions=[0, 1], **options)
    assert answer.proven_range is not None
    assert answer.search.queries["noise"] == 288 * sum(batch.norm == "l2" for batch in measured)
    assert answer.search.queries["linf"] > 288 * sum(batch.norm == "linf" for batch in measured) > 0


@dataclass(eq=False)
class Weighed:
    """Two actions, the first worth the second weight and the other the first, less the noise; proofs know the rest."""

    noise: Noise
    tells_values: bool = True

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        lead = commands[:, 0] - commands[:, 1]
        return np.stack([commands[:, 1], commands[:, 0] + self.noise(lead)], axis=1)

    def table(self, state: np.ndarray) -> ValueTable:
        return ValueTable(np.array([[[0.0, 1.0]], [[1.0, 0.0]]]))


def test_in_a_proven_range_of_preferences_the_foil_wins_however_the_policy_is_asked() -> None:
    policy, space = Weighed(alone(0.02)), CommandSpace.preferences(["treasure", "time"])
    where: dict[str, Any] = {"state": [0.0], "command": [0.49, 0.51], "valid_actions": [0, 1], "space": space}
    held = {"treasure": (0.49, 1.0)}  # half way from the answer to there, the foil leads by a little more than kappa
    answer = explain(
        policy, **where, foil=1, search=Boundary(max_queries=500), options=Options(kappa=0.05, ranges=held)
    )
    assert answer.proven_range is not None
    least = answer.proven_range.low[0]
    told = policy.log_probs(np.zeros((1, 1)), np.array([[least, 1.0 - least]]))
    assert told[0, 1] - told[0, 0] >= 0.05

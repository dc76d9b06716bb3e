"""The outer call trusts no search."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from arguments import arguments
from hypothesis import given, settings
from hypothesis import strategies as st
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits, Options, Stop
from paretofoil.core.policy import CallablePolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.explanation.ask import ask
from paretofoil.explanation.explain import explain
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront

QUICK = CFZoo(directions=300, max_queries=301)
SPACE = CommandSpace([0.0, 0.0], [1.0, 1.0], ["treasure", "time"])
SLOPED = LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -1.5]))


@dataclass(frozen=True)
class Liar(Search):
    """Claims a change that flips nothing."""

    change: tuple[float, ...]
    name: str = "liar"
    seed: int = 0

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        return [Finding(np.array(self.change)) for _ in batch.questions]


def asked(**changes: object) -> dict[str, object]:
    usual = {"state": [0.0], "command": [0.5, 0.5], "foil": 1, "space": SPACE, "search": QUICK}
    return arguments(**{**usual, **changes})


@pytest.mark.parametrize("claim", [(0.0, 0.0), (0.1, 0.1), (-0.4, 0.0)])
def test_a_claim_that_does_not_flip_the_action_is_not_found(claim: tuple[float, ...]) -> None:
    question = Question(SLOPED, np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), SPACE)
    [found] = ask([question], Liar(claim))
    assert found.status is Status.NOT_FOUND
    assert found.search.stop is Stop.NOT_CONFIRMED
    assert found.command is None


def test_a_claim_outside_the_region_is_pulled_into_it_before_it_is_checked() -> None:
    question = Question(SLOPED, np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), SPACE)
    [found] = ask([question], Liar((9.0, 9.0)))
    assert found.command.tolist() == [1.0, 1.0]  # type: ignore[union-attr]


def test_a_foil_that_the_policy_chooses_anyway_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a foil that the policy does not choose, got 'action 0'"):
        explain(SLOPED, **asked(foil=0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"foil": 2, "valid_actions": [0, 1]}, r"a foil among the valid actions \[0, 1\], got 2"),
        ({"foil": 7}, "foil among the valid actions"),
        ({"foil": "down"}, "the number of an action, since the actions have no names"),
        ({"command": [0.5]}, "the command to have 2 numbers, got 1"),
        ({"command": [0.5, float("nan")]}, "the command to be finite"),
        ({"command": "high"}, "list of numbers"),
        ({"state": None}, "a decision, or a state and a command"),
        ({"space": None}, "the command space of the policy"),
        ({"valid_actions": []}, "at least one valid action"),
        ({"front": [[1.0, 2.0, 3.0]]}, "front|broadcast"),
        ({"kappa": -1.0}, "kappa of at least 0, got -1"),
        ({"search": "guess"}, "a search among auto, exact"),
        ({"keep": ["gold"]}, "an objective among treasure, time, got 'gold'"),
        ({"ranges": {"time": (0.6, 0.9)}}, "a range of time that contains the command's value 0.5, got 0.6 to 0.9"),
        ({"norm": "l3"}, "norm among l1, l2, linf"),
        ({"k": 0}, "k of at least 1"),
        ({"min_change": 2.0}, "min_change of at least 0 and at most 1, got 2"),
        ({"search": "exact"}, "Boundary|boundary"),
    ],
)
def test_bad_input_says_what_was_expected(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        explain(SLOPED, **asked(**changes))  # type: ignore[arg-type]


def test_the_one_valid_action_has_no_foil() -> None:
    with pytest.raises(InvalidInput, match="a foil that the policy does not choose"):
        explain(SLOPED, **asked(valid_actions=[1]))  # type: ignore[arg-type]


def shares(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    first = 0.9 - 0.8 * commands[:, 0]
    return np.stack([first, 1.0 - first], axis=1)


def test_probabilities_are_no_log_probabilities() -> None:
    with pytest.raises(InvalidInput, match=r"expected log-probabilities or logits, got probabilities \(rows between"):
        explain(shares, **asked(command=[0.2, 0.5]))  # type: ignore[arg-type]
    logarithms = explain(lambda s, c: np.log(shares(s, c)), **asked(command=[0.2, 0.5]))  # type: ignore[arg-type]
    assert logarithms.found
    assert logarithms.question.probabilities.tolist() == pytest.approx([0.74, 0.26])


def test_logits_that_sum_to_one_here_are_logits_all_the_same() -> None:
    answer = explain(lambda s, c: shares(s, c) * [1.0, c[0, 0] / 0.2], **asked(command=[0.2, 0.5]))  # type: ignore[arg-type]
    assert answer.question.command.tolist() == [0.2, 0.5]


@pytest.mark.parametrize("subject", [torch.nn.Linear(2, 2), torch.nn.ReLU()])
def test_a_torch_module_is_told_how_to_become_a_policy(subject: torch.nn.Module) -> None:
    with pytest.raises(InvalidInput, match=r"got a torch module \(convert it with pf\.from_torch\)"):
        explain(subject, **asked())  # type: ignore[arg-type]


def test_an_observation_of_several_parts_is_no_state() -> None:
    with pytest.raises(InvalidInput, match=r"\(flatten an observation.*\) to be a list of numbers, got {'position'"):
        explain(SLOPED, **asked(state={"position": [0.0]}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (
            lambda n: np.full((n, 2), np.nan),
            r"log-probabilities that are numbers, got NaN or infinity under the command \(",
        ),
        (lambda n: np.full((n, 2), np.inf), "NaN or infinity"),
        (lambda n: np.zeros(n), "log-probabilities of shape"),
        (lambda n: np.zeros((n + 1, 2)), "log-probabilities of shape"),
        (lambda n: np.zeros((n, 0)), "log-probabilities of shape"),
    ],
)
def test_a_policy_that_answers_nonsense_is_refused(scores: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        explain(lambda states, commands: scores(len(commands)), **asked(valid_actions=[0, 1]))  # type: ignore[arg-type,operator]


def test_an_error_inside_the_policy_reaches_the_user() -> None:
    def broken(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        raise RuntimeError("out of fuel")

    with pytest.raises(RuntimeError, match="out of fuel"):
        explain(broken, **asked(valid_actions=[0, 1]))  # type: ignore[arg-type]


def test_log_probabilities_of_minus_infinity_are_legal() -> None:
    def policy(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        margin = commands.sum(axis=1) - 1.5
        return np.stack([np.zeros(len(commands)), np.where(margin > 0, margin, -np.inf)], axis=1)

    found = explain(policy, **asked(search=Boundary()))  # type: ignore[arg-type]
    assert found.found
    assert found.command.sum() >= 1.5 + 0.05 - 1e-9  # type: ignore[union-attr]


@settings(max_examples=40, deadline=None)
@given(
    objectives=st.integers(1, 4),
    actions=st.integers(2, 4),
    seed=st.integers(0, 5000),
    widths=st.lists(st.sampled_from([0.0, 1e-12, 0.5, 1.0, 1000.0]), min_size=4, max_size=4),
    outside=st.booleans(),
)
def test_no_shape_box_or_command_leads_to_a_wrong_answer(
    objectives: int, actions: int, seed: int, widths: list[float], outside: bool
) -> None:
    rng = np.random.default_rng(seed)
    policy = random_pcn(seed, objectives=objectives, actions=actions, hidden=16)
    low = rng.normal(size=objectives)
    space = CommandSpace(low, low + np.array(widths[:objectives]))
    command = (
        low + rng.random(objectives) * np.array(widths[:objectives]) + (rng.normal(size=objectives) if outside else 0)
    )
    state = rng.normal(size=policy.state_size).astype(np.float32)
    greedy = int(policy.log_probs(state[None], command[None])[0].argmax())
    foil = next(a for a in range(actions) if a != greedy)
    question = Question(policy, state, command, foil, tuple(range(actions)), space)
    for search in (QUICK, Boundary(max_queries=400), NearestFront()):
        [found] = ask([question], search)
        if found.found:
            scores = policy.log_probs(state[None], found.command[None])[0]  # type: ignore[index]
            assert scores.argmax() == foil
            assert (found.command >= np.minimum(space.low, command)).all()
            assert (found.command <= np.maximum(space.high, command)).all()


@pytest.mark.parametrize("k", [1, 2])
def test_objectives_that_would_change_little_are_locked_and_the_rest_is_searched_again(k: int) -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.3]]), np.array([0.0, -0.83]))
    plain = explain(policy, **asked(search=Boundary()))  # type: ignore[arg-type]
    locked = explain(policy, **asked(search=Boundary(), min_change=0.1, k=k))  # type: ignore[arg-type]
    assert 0 < plain.change[1] < 0.1  # type: ignore[index]
    assert locked.change[1] == 0  # type: ignore[index]
    assert locked.question.free == (0,)
    assert locked.change[0] == pytest.approx(0.23, abs=0.01)  # what the other one lacks it makes up for


def test_a_small_change_that_is_needed_stays() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 50.0]]), np.array([0.0, -25.9]))
    found = explain(policy, **asked(search=Liar((0.0, 0.009)), min_change=0.01))  # type: ignore[arg-type]
    assert found.change[1] == pytest.approx(0.009)  # type: ignore[index]


def test_sparse_answers_change_as_few_objectives_as_possible() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.9]]), np.array([0.0, -1.15]))
    close = explain(policy, **asked(search=Boundary()))  # type: ignore[arg-type]
    sparse = explain(policy, **asked(search=Boundary(), sparse=True))  # type: ignore[arg-type]
    assert np.count_nonzero(close.change) == 2
    assert np.count_nonzero(sparse.change) == 1
    assert sparse.change[0] != 0  # type: ignore[index]
    assert sparse.quoted.distance > close.quoted.distance  # type: ignore[operator]


def test_sparse_answers_use_more_objectives_where_one_is_not_enough() -> None:
    found = explain(SLOPED, **asked(command=[0.6, 0.6], search=Boundary(), sparse=True))  # type: ignore[arg-type]
    assert found.found
    strict = LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -1.9]))
    both = explain(strict, **asked(search=Boundary(), sparse=True))  # type: ignore[arg-type]
    assert np.count_nonzero(both.change) == 2


def test_further_answers_change_other_objectives_or_directions() -> None:
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.9]]), np.array([0.0, -1.15]))
    found = explain(policy, **asked(search=Boundary(), k=3))  # type: ignore[arg-type]
    patterns = [tuple(np.sign(a.change)) for a in (found, *found.alternatives)]
    assert len(set(patterns)) == len(patterns) == 3
    distances = [a.quoted.distance for a in (found, *found.alternatives)]
    assert distances == sorted(distances)  # type: ignore[type-var]


def test_the_quoted_command_is_short_and_all_that_is_told_is_about_it() -> None:
    for seed in range(8):
        question = random_question(random_pcn(2), seed)
        [found] = ask([question], QUICK)
        if found.command is None or found.closest is None:
            continue
        scores = question.policy.log_probs(question.state[None], found.command[None])[0]
        rivals = [a for a in question.valid_actions if a != question.foil]
        assert found.quoted.margin == pytest.approx(scores[question.foil] - scores[rivals].max(), abs=1e-6)
        assert found.quoted.margin >= question.kappa  # type: ignore[operator]
        assert found.quoted.distance == question.space.distance(found.command, question.command)
        assert found.closest.distance == question.space.distance(found.closest.command, question.command)
        assert max(len(f"{v:.12g}") for v in found.command) <= 8
        told, meant = found.command - question.command, found.closest.command - question.command
        assert (told * meant >= 0).all()  # rounding reverses no change


def test_where_kappa_is_zero_a_draw_is_no_answer() -> None:
    def draw(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.zeros((len(commands), 2))

    question = Question(CallablePolicy(draw), np.zeros(1), np.array([0.5, 0.5]), 1, (0, 1), SPACE, kappa=0.0)
    [found] = ask([question], Liar((0.1, 0.1)))
    assert found.command is None
    assert found.search.stop is Stop.NOT_CONFIRMED


def test_a_function_is_a_policy() -> None:
    found = explain(lambda states, commands: SLOPED.log_probs(states, commands), **asked())  # type: ignore[arg-type]
    assert found.found
    assert found.search.name == "cf-zoo"


def test_collected_returns_turn_front_points_into_remaining_commands() -> None:
    front = [[1.9, 1.9], [0.5, 0.5]]
    found = explain(SLOPED, **asked(front=front, collected=[1.0, 1.0], search=NearestFront()))  # type: ignore[arg-type]
    assert found.command.tolist() == pytest.approx([0.9, 0.9])  # type: ignore[union-attr]
    assert not explain(SLOPED, **asked(front=[[0.1, 0.1]], search=NearestFront())).found  # type: ignore[arg-type]


def test_answers_survive_json_unchanged() -> None:
    policy = random_pcn(2)
    for search in (QUICK, Exact(), NearestFront()):
        for found in ask([random_question(policy, seed) for seed in range(4)], search, Options(k=2)):
            text = found.to_json()
            again = Answer.from_json(text)
            assert again.to_json() == text
            assert str(again) == str(found)
            assert again.paragraph() == found.paragraph()


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"schema": "paretofoil/answer/1"}', "3"])
def test_json_that_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="answer"):
        Answer.from_json(text)


def test_questions_of_two_policies_are_not_mixed() -> None:
    one, two = random_question(random_pcn(0), 0), random_question(random_pcn(1), 0)
    with pytest.raises(InvalidInput, match="questions about one policy"):
        ask([one, two], QUICK)
    assert ask([], QUICK) == []
    assert replace(one, kappa=0.1).kappa == 0.1

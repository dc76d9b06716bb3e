"""Questions that ask for a probability of the foil: answers have it, and proofs hold against samples of the policy."""

import re

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import OddsNetwork, question_network


def probabilities(answer: pf.Answer, commands: np.ndarray) -> np.ndarray:
    """Return the probability of the foil under commands (N, d), by a softmax over the valid actions."""
    question: Question = answer.live.question  # type: ignore[union-attr]
    scores = question.policy.log_probs(np.repeat(question.state[None], len(commands), axis=0), commands)
    weights = np.exp(np.asarray(scores, dtype=float)[:, list(question.valid_actions)])
    share: np.ndarray = weights[:, question.valid_actions.index(question.foil)] / weights.sum(axis=1)
    return share


def ask(probability: float, foil: int, agent: str = "minecart", step: int = 1) -> pf.Answer:
    loaded = pf.load_agent(agent)
    decision = pf.rollout(loaded, loaded.front[len(loaded.front) // 2])[step]
    return pf.explain(loaded, decision, foil, options=pf.Options(probability=probability, attainable=False))


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("foil", [1, 4])
def test_no_sampled_command_refutes_an_answer(probability: float, foil: int) -> None:
    answer = ask(probability, foil)
    question: Question = answer.live.question  # type: ignore[union-attr]
    commands = np.random.default_rng(0).uniform(question.low, question.high, size=(50_000, question.space.dim))
    enough = probabilities(answer, commands) >= probability
    distances = question.space.distance(commands, question.command)
    assert answer.proof is not None
    assert distances[enough].min(initial=np.inf) >= answer.proof.lower
    assert pf.verify_certificate(question, answer.proof, 10_000, rebound=True).rebounded
    if answer.quoted is None:
        assert answer.status is pf.Status.PROVEN_INFEASIBLE
        assert not enough.any()
        return
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert probabilities(answer, answer.quoted.command[None])[0] >= probability
    assert answer.quoted.probabilities[foil] == pytest.approx(probabilities(answer, answer.quoted.command[None])[0])
    assert answer.proven_range is not None
    inside = np.random.default_rng(1).uniform(answer.proven_range.low, answer.proven_range.high, size=(10_000, 3))
    assert (probabilities(answer, inside) >= probability).all()


def test_bounds_hold_the_deployed_odds_of_boxes_of_all_sizes() -> None:
    question: Question = ask(0.3, 1).live.question  # type: ignore[union-attr]
    network, batch, generator = question_network(question, ""), QuestionBatch([question]), np.random.default_rng(3)
    assert isinstance(network, OddsNetwork)
    for size in (1.0, 0.1, 1e-3, 1e-6, 0.0):
        low = generator.uniform(batch.low[0], batch.high[0], size=(100, batch.dim))
        high = np.minimum(low + size * generator.random(low.shape), batch.high[0])
        points = low[:, None] + generator.random((100, 50, batch.dim)) * (high - low)[:, None]
        margins = batch.margins(np.zeros(5000, dtype=int), points.reshape(5000, -1), "test").reshape(100, 50)
        bounds = network.upper_bounds(low, high, 0.0)
        upper = (np.einsum("bkd,bnd->bnk", bounds.slopes, points) + bounds.offsets[:, None]).min(axis=2)
        assert (margins <= upper).all()
        assert (margins >= network.lower_bounds(low, high).min(axis=1)[:, None]).all()
        assert (upper - margins).max() < 60 * size + 1e-6  # they are bounds of this function, and not of a larger one
        assert (
            np.abs(network.margins(low).min(axis=1) - batch.margins(np.zeros(100, dtype=int), low, "test")).max() < 1e-9
        )


def test_the_slopes_of_the_odds_are_their_derivatives() -> None:
    question: Question = ask(0.3, 1).live.question  # type: ignore[union-attr]
    network, z, step = question_network(question, ""), np.full((1, 3), 0.01), 1e-6
    _, slopes = network.margins_and_slopes(z)  # type: ignore[union-attr]
    around = [network.margins(z + sign * step * np.eye(3)) for sign in (1, -1)]
    np.testing.assert_allclose(slopes[0].T, (around[0] - around[1]) / (2 * step), rtol=1e-4, atol=1e-6)


def test_sentences_say_the_probability() -> None:
    answer = ask(0.5, 1)
    words = re.search(r"turned left with a probability of at least 50 % \((.*) %\) instead of (.*)\.$", str(answer))
    assert words is not None, str(answer)
    assert float(words[1]) == pytest.approx(100 * answer.quoted.probabilities[1], abs=0.1)  # type: ignore[union-attr]
    assert "choose left with a probability of at least 50 %" in answer.paragraph()
    assert str(pf.Answer.from_json(answer.to_json())) == str(answer)
    impossible = next(a for a in (ask(0.999, foil) for foil in (3, 4)) if not a.found)
    assert "with a probability of at least 99.9 % in this state (proven)" in str(impossible)


def test_the_chosen_action_may_be_the_foil() -> None:
    answer = ask(0.9, 5)
    assert answer.question.chosen == answer.question.foil
    assert "(probability 78" in answer.paragraph()
    assert answer.quoted is not None
    assert answer.quoted.probabilities[5] >= 0.9


def test_questions_without_an_answer_in_probabilities_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"a probability below 0\.5, got 'none' with 0\.78"):
        ask(0.5, 5)
    with pytest.raises(InvalidInput, match=r"either kappa or probability, got 0\.1 and 0\.5"):
        pf.Options(kappa=0.1, probability=0.5)
    for odd in (0.0, 1.0, -1.0):
        with pytest.raises(InvalidInput, match="probability of at least 1e-06"):
            pf.Options(probability=odd)
    table, space = pf.from_q_table(lambda s: [[3.0, 0.0], [0.0, 1.0]]), pf.CommandSpace.preferences(["a", "b"])
    with pytest.raises(InvalidInput, match="a policy with probabilities"):
        pf.explain(table, state=[0.0], command=[0.7, 0.3], foil=1, space=space, options=pf.Options(probability=0.5))
    actions = pf.ActionSpace(["a"], [], [0.0], [1.0])
    box = pf.CommandSpace([0.0], [1.0], ["x"])
    with pytest.raises(InvalidInput, match=r"discrete actions with options\.probability"):
        pf.explain(
            lambda s, c: c, state=[0.0], command=[0.2], foil="a > 0.5", space=box, actions=actions,
            options=pf.Options(probability=0.5),
        )  # fmt: skip

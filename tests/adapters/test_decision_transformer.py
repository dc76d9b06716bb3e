"""A Decision Transformer of d3rlpy is explained at a moment of its history, by the lines of the documentation."""

import logging
from typing import Any

import numpy as np
import pytest
import torch
from pages import block_that_begins

import paretofoil as pf

d3rlpy = pytest.importorskip("d3rlpy", reason="not part of any extra: it brings Gym, which NumPy 2 does not support")
structlog = pytest.importorskip("structlog")
LENGTH, CONTEXT = 10, 5


@pytest.fixture(scope="module")
def dt() -> Any:
    """Trained on episodes of ten steps in which one earns 1 or rests; what is asked for tells how often to earn."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    rng = np.random.default_rng(0)
    actions = (rng.random((200, LENGTH)) < rng.random((200, 1))).astype(np.int64)
    places = np.tile(np.arange(LENGTH, dtype=np.float32) / LENGTH, 200)[:, None]
    ends = np.tile(np.arange(LENGTH) == LENGTH - 1, 200).astype(np.float32)
    rewards = actions.reshape(-1).astype(np.float32)
    episodes = d3rlpy.dataset.MDPDataset(places, actions.reshape(-1), rewards, ends)
    d3rlpy.seed(0)
    config = d3rlpy.algos.DiscreteDecisionTransformerConfig(
        context_size=CONTEXT, max_timestep=LENGTH + 1, num_heads=1, num_layers=1, batch_size=64, learning_rate=3e-3,
        encoder_factory=d3rlpy.models.VectorEncoderFactory([16]), warmup_tokens=100,
    )  # fmt: skip
    transformer, silent = config.create(), d3rlpy.logging.NoopAdapterFactory()
    transformer.fit(episodes, n_steps=300, n_steps_per_epoch=300, show_progress=False, logger_adapter=silent)
    return transformer


def history_of(length: int, left: float) -> Any:
    """Nothing but rest so far, and a return that is left to collect; the last action is not taken yet."""
    return d3rlpy.algos.TransformerInput(
        observations=np.arange(length, dtype=np.float32)[:, None] / LENGTH,
        actions=np.zeros(length, dtype=np.int64),
        rewards=np.zeros((length, 1), dtype=np.float32),
        returns_to_go=np.full((length, 1), left, dtype=np.float32),
        timesteps=np.arange(1, length + 1),
    )


def run_the_lines(dt: Any, history: Any, foil: int | None = None) -> dict[str, Any]:
    """All of them, with a foil, or those that make the policy."""
    lines = block_that_begins("docs/explain-your-own-agent.md", "from d3rlpy").text
    made, asked = lines.split("answer = ")
    names = {"dt": dt, "history": history, "pf": pf, "torch": torch}
    exec(made if foil is None else f"{made}answer = {asked.replace('foil=1', f'foil={foil}')}", names)
    return names


@pytest.mark.parametrize("length", [2, CONTEXT, 8])
def test_the_policy_tells_what_the_transformer_predicts_after_its_history(dt: Any, length: int) -> None:
    policy = run_the_lines(dt, history_of(length, 8.0))["policy"]
    asked = np.array([[0.0], [2.0], [8.0]])
    histories = [history_of(length, 8.0) for _ in asked]
    for history, left in zip(histories, asked, strict=True):
        history.returns_to_go[-1] = left
    told = policy.log_probs(np.repeat(histories[0].observations[-1:], len(asked), axis=0), asked)
    logits = torch.tensor(np.array([dt.predict(history) for history in histories]))
    np.testing.assert_allclose(told, logits.log_softmax(dim=1), atol=1e-5)


def test_a_transformer_that_earns_would_have_rested_had_less_been_asked_for_now(dt: Any) -> None:
    names = run_the_lines(dt, history_of(6, 8.0), foil=0)
    answer = names["answer"]
    assert (answer.search.name, answer.status) == ("exact", pf.Status.PROVEN_CLOSEST)
    assert answer.command[0] < 8.0
    history = history_of(6, 8.0)
    history.returns_to_go[-1] = answer.command
    assert dt.predict(history_of(6, 8.0)).argmax() == 1
    assert dt.predict(history).argmax() == 0, "with the same past"

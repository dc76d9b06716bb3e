"""Training with continuous actions: squared errors of amounts, resumed trainings, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paretofoil import envs
from paretofoil.agents.store import read_agent, save_agent
from paretofoil.agents.training import make_agent, make_trainer, preset, resume_trainer, train
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import GymnasiumBatch
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.explore import explore_plans, follow, mutate_amounts, random_plans
from paretofoil.pcn.policy import PCNActor, PCNPolicy
from paretofoil.pcn.train import Trainer

ENTRY = envs.entry("water-reservoir")
BRIEF = TrainConfig(
    steps=40_000,
    episodes=128,
    warmup=512,
    restart_share=0.1,
    mutate_share=0.75,
    capacity=20,
    standardise=True,
    polish_rounds=2,
    updates=10,
    polish_updates=400,
    hidden=32,
    returns="realised",
)


def test_a_brief_training_learns_most_of_a_front() -> None:
    agent = make_agent("brief", ENTRY, make_trainer(ENTRY, BRIEF).run())
    gap = np.abs(agent.achieved - agent.front) / agent.space.scale
    assert gap.mean() < 0.05
    assert agent.front[:, 0].min() < -80
    assert agent.front[:, 0].max() > -5


def test_the_exported_network_has_the_amounts_of_the_trained_one() -> None:
    trainer = make_trainer(ENTRY, replace(BRIEF, steps=8_000))
    trainer.explore()
    network, actor = trainer.learner.network, trainer.learner.network.export()
    assert isinstance(actor, PCNActor)
    states, commands = np.array([[60.0], [90.0]], np.float32), np.array([[-40.0, -70.0], [-5.0, -90.0]])
    scaled = (actor.amounts(states, commands) - 75) / 75
    inputs = network.scaled("state", states), network.scaled("command", commands), np.ones((2, 1), dtype=bool)
    for target in (-1.0, 0.0, 1.0):
        targets = np.array([[target], [1.0]], np.float32)
        loss = network.gradient(*inputs, targets, np.empty_like(network.vector))
        assert loss == pytest.approx(((scaled - targets) ** 2).mean(), rel=1e-4)


def test_a_resumed_training_gives_the_same_agent(tmp_path: Path) -> None:
    config = replace(BRIEF, steps=16_000, polish_rounds=1, polish_updates=20, updates=3)
    whole = make_trainer(ENTRY, config).run()
    first = make_trainer(ENTRY, config)
    first.explore()
    first.save(tmp_path / "half")
    resumed = resume_trainer(ENTRY, tmp_path / "half").run()
    assert np.array_equal(resumed.front, whole.front)
    assert np.array_equal(resumed.achieved, whole.achieved)
    with pytest.raises(InvalidInput):
        resume_trainer(envs.entry("branch-path"), tmp_path / "half")


def test_plans_are_edited_within_the_range() -> None:
    space, rng = ENTRY.action_space, np.random.default_rng(0)
    assert space is not None
    plan, other = rng.uniform(0, 150, (12, 1)), rng.uniform(0, 150, (8, 1))
    edited = [mutate_amounts(BRIEF, plan, other, space, rng) for _ in range(200)]
    assert all(((e >= 0) & (e <= 150)).all() for e in edited)
    assert {len(e) for e in edited} == {8, 9, 10, 11, 12}
    assert not any(len(e) == 12 and np.array_equal(e, plan) for e in edited)
    plans = random_plans(BRIEF, 300, envs.make_batch(ENTRY), rng)
    assert np.ptp(plans.actions.mean(axis=1)) > 100  # each episode has a mean of its own
    assert np.isfinite(plans.actions).all()


def test_the_policy_acts_with_noise_where_a_plan_has_no_amount() -> None:
    space, rng = ENTRY.action_space, np.random.default_rng(0)
    assert space is not None
    trainer = make_trainer(ENTRY, replace(BRIEF, explore="plain", steps=8_000))
    trainer.explore()
    plans = explore_plans(trainer.config, trainer.replay, trainer.env, rng)
    assert np.isnan(plans.actions).all()
    plans.actions[0] = 33.0
    actor = trainer.learner.network.export()
    assert isinstance(actor, PCNActor)
    states, rows = np.full((128, 1), 100.0, np.float32), np.arange(128)
    chosen = follow(plans, actor, rng)(0, rows, states, plans.commands, np.ones((128, 1), bool))
    off = chosen[1:] - space.clip(actor.amounts(states[1:], plans.commands[1:]))
    assert chosen[0] == 33.0
    assert 2.0 < off.std() < 6.0  # 3 % of 150


def test_chance_needs_realised_returns() -> None:
    entry = envs.entry("water-reservoir-stochastic")
    assert preset(entry).returns == "realised"
    with pytest.raises(InvalidInput, match="returns='realised' for continuous actions"):
        make_trainer(entry, preset(entry, returns="expected"))


def test_an_agent_of_a_plain_id_is_stored_with_its_ranges(tmp_path: Path) -> None:
    pytest.importorskip("mo_gymnasium")
    entry = envs.catalogue.with_names(
        envs.describe("mo-mountaincarcontinuous-v0", max_steps=10), None, ["force (N)=pushed with"]
    )
    config = replace(BRIEF, steps=100, warmup=4, episodes=4, polish_rounds=1, polish_updates=5, updates=2)
    trainer = Trainer(lambda limit: GymnasiumBatch(entry, 10), config)
    agent = make_agent("car", entry, trainer.run())
    again = read_agent(save_agent(agent, tmp_path / "car"))
    assert again.environment.action_space is not None
    assert again.environment.action_space.units == ("N",)
    assert again.phrases == ("pushed with",)
    assert again.act([-0.5, 0.0], agent.front[0]) == agent.act([-0.5, 0.0], agent.front[0])


def test_an_actor_needs_an_output_for_each_dimension() -> None:
    layer = np.zeros((2, 2), np.float32), np.zeros(2, np.float32)
    network = PCNPolicy((layer,), (layer,), (layer, layer))
    assert ENTRY.action_space is not None
    with pytest.raises(InvalidInput, match="an output for each of release, got 2 outputs"):
        PCNActor(network, ENTRY.action_space)


def test_train_from_python_names_settings() -> None:
    agent = train("water-reservoir", name="tiny", **{**vars(BRIEF), "steps": 4_000, "polish_rounds": 0, "seed": 3})
    assert agent.name == "tiny"
    assert agent.actor is not None

"""Train agents with continuous actions, explain them, and try to refute the proofs by samples.

    python benchmarks/continuous.py [AGENT ...] [--states 20] [--samples 1000000]

The agents are trained by Stable-Baselines3 (SAC, TD3, PPO; a goal of three numbers), MORL-Baselines (CAPQL and PCN in
the water reservoir; extra [morl]) and plain torch (supervised, in the water reservoir). In each state, questions ask
for more and less of each dimension, for amounts from the whole range, and for a range of amounts. The table has the
share of questions that are settled in 10 CPU seconds, the CPU times, and the number of sampled commands that contradict
a proof.
"""

import argparse
import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.core.amounts import AmountFoil, directions_of
from paretofoil.core.threads import one_thread
from paretofoil.pcn.policy import PCNActor

os.environ.setdefault("WANDB_MODE", "disabled")
Trained = tuple[Any, list[np.ndarray], list[np.ndarray]]
"""An actor, and the states and commands of questions."""


class Space3(gym.Env):
    """Fly to a goal in a room, with a thrust in each of three directions."""

    def __init__(self) -> None:
        place = spaces.Box(-3.0, 3.0, (3,))
        self.observation_space = spaces.Dict({"achieved_goal": place, "desired_goal": place, "observation": place})
        self.action_space = spaces.Box(-1.0, 1.0, (3,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.uniform(-2, 2, size=(2, 3)).astype(np.float32)
        self.steps = 0
        return self._observation(), {}

    def _observation(self) -> dict[str, Any]:
        return {"achieved_goal": self.place, "desired_goal": self.goal, "observation": self.place / 2}

    def step(self, action: Any) -> Any:
        self.place = np.clip(self.place + 0.4 * np.asarray(action), -3, 3).astype(np.float32)
        self.steps += 1
        return self._observation(), -float(np.abs(self.place - self.goal).sum()), False, self.steps >= 16, {}


def train_sb3(kind: str, count: int) -> Trained:
    import stable_baselines3

    settings: dict[str, Any] = {"gamma": 0.8, "learning_rate": 1e-3}
    settings |= {"n_steps": 512} if kind == "PPO" else {"learning_starts": 500}
    steps = 20_000 if kind == "PPO" else 4_000
    model = getattr(stable_baselines3, kind)(
        "MultiInputPolicy", Space3(), seed=0, device="cpu", policy_kwargs={"net_arch": [64, 64]}, **settings
    ).learn(steps)
    observations = [Space3().reset(seed=seed)[0] for seed in range(count)]
    names = pf.ActionSpace(["east", "north", "up"], [], -np.ones(3), np.ones(3))
    goals = pf.CommandSpace(-3 * np.ones(3), 3 * np.ones(3), ["x", "y", "z"])
    actor: Any = pf.from_sb3(model, observations[0], goals, actions=names)
    states, commands = zip(*(actor.module.split(one) for one in observations), strict=True)
    return actor, list(states), list(commands)


@dataclass(frozen=True, eq=False)
class PlacedActor(PCNActor):
    """The actor of a shipped agent, with its command space."""

    space: Any = None
    is_white_box = True


def load_shipped(count: int) -> Trained:
    """Return the shipped agent of the water reservoir, and decisions of its episodes."""
    agent = pf.load_agent("water-reservoir")
    assert isinstance(agent.policy, PCNActor)
    decisions = [decision for command in agent.front[::5] for decision in pf.rollout(agent, command)]
    picked = [decisions[i] for i in np.random.default_rng(0).integers(len(decisions), size=count)]
    actor = PlacedActor(agent.policy.network, agent.policy.actions, agent.space)
    commands = [np.clip(decision.command, agent.space.low, agent.space.high) for decision in picked]
    return actor, [decision.state for decision in picked], commands


def reservoir(objectives: int) -> Any:
    from mo_gymnasium.utils import make

    return make("water-reservoir-v0", nO=objectives, normalized_action=True)


RELEASE = pf.ActionSpace(["release"], [], np.zeros(1), np.ones(1))
OBJECTIVES = ["flooding", "supply", "power"]


def levels(count: int) -> list[np.ndarray]:
    return [np.array([level], dtype=np.float32) for level in np.linspace(5.0, 150.0, count)]


class Small(gym.RewardWrapper):
    """Small rewards, without which the actor saturates at once."""

    def reward(self, reward: Any) -> Any:
        return np.asarray(reward) / 100.0


class CapqlActor(nn.Module):
    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, states: Tensor, weights: Tensor) -> Tensor:
        return self.policy.get_action(states, weights)


def train_capql(objectives: int, count: int) -> Trained:
    from morl_baselines.multi_policy.capql.capql import CAPQL

    torch.manual_seed(0)
    env = Small(reservoir(objectives))
    agent = CAPQL(env, log=False, seed=0, learning_starts=500, device="cpu", net_arch=[128, 128])
    # There is no evaluation, but its weights are drawn; pymoo has corners of the simplex at least.
    agent.train(2_000, env, np.full(objectives, -200.0), eval_freq=10**9, num_eval_weights_for_front=objectives)
    space = pf.CommandSpace.preferences(OBJECTIVES[:objectives])
    states, rng = levels(count), np.random.default_rng(0)
    actor = pf.from_torch(CapqlActor(agent.policy).eval(), states, space, actions=RELEASE)
    return actor, states, list(rng.dirichlet(np.ones(objectives), size=count))


class PcnActor(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        return self.model(states, commands[:, :-1], commands[:, -1:])


def train_pcn(count: int) -> Trained:
    from morl_baselines.multi_policy.pcn.pcn import PCN

    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (its noise uses the global generator)
    env = reservoir(2)
    agent = PCN(env, np.array([1e-3, 1e-3, 1e-2]), learning_rate=2e-3, batch_size=256, log=False, seed=0, device="cpu")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        agent.train(8_000, env, np.array([-1e4, -1e4]), max_return=np.zeros(2), num_model_updates=60)
    objectives: list[Any] = [*OBJECTIVES[:2], pf.Objective("horizon", "steps")]
    space = pf.CommandSpace(np.array([-5e3, -3e3, 1.0]), np.array([0.0, 0.0, 100.0]), objectives)
    states, rng = levels(count), np.random.default_rng(0)
    actor = pf.from_torch(PcnActor(agent.model).eval(), states, space, actions=RELEASE)
    return actor, states, list(rng.uniform(space.low, space.high, size=(count, 3)))


def train_torch(count: int) -> Trained:
    """Learn the action from the state and the return that followed, as upside-down reinforcement learning does."""
    env, rng, rows = reservoir(3), np.random.default_rng(0), []
    for episode in range(150):
        state, steps = env.reset(seed=episode)[0], []
        habit = rng.random()
        for _ in range(20):
            action = np.clip([habit + 0.2 * rng.normal()], 0, 1)
            after, reward, *_ = env.step(action.astype(np.float32))
            steps.append((state, action, np.asarray(reward)))
            state = after
        totals = np.cumsum([reward for *_, reward in steps][::-1], axis=0)[::-1]
        rows += [(*step[:2], total) for step, total in zip(steps, totals, strict=True)]
    states, actions, returns = (np.array(column, dtype=np.float32) for column in zip(*rows, strict=True))
    torch.manual_seed(0)
    scale = torch.tensor(np.concatenate([states.std(0), returns.std(0)]))
    network: Any = nn.Sequential(
        nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid()
    )
    network[0].weight.data /= scale
    inputs, targets = torch.tensor(np.concatenate([states, returns], axis=1)), torch.tensor(actions)
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for _ in range(2_000):
        batch = torch.randint(len(inputs), (256,))
        loss: Any = nn.functional.mse_loss(network(inputs[batch]), targets[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    space = pf.CommandSpace(returns.min(0), np.minimum(returns.max(0), 0), OBJECTIVES)
    picked = rng.integers(len(states), size=count)
    actor = pf.from_torch(network.eval(), states[picked], space, inputs="concatenated", actions=RELEASE)
    return actor, list(states[picked]), list(np.clip(returns[picked], space.low, space.high))


AGENTS: dict[str, Callable[[int], Trained]] = {
    "Stable-Baselines3 SAC": lambda count: train_sb3("SAC", count),
    "Stable-Baselines3 TD3": lambda count: train_sb3("TD3", count),
    "Stable-Baselines3 PPO": lambda count: train_sb3("PPO", count),
    "MORL-Baselines CAPQL, 2 objectives": lambda count: train_capql(2, count),
    "MORL-Baselines CAPQL, 3 objectives": lambda count: train_capql(3, count),
    "MORL-Baselines PCN with a horizon": train_pcn,
    "torch, supervised, 3 objectives": train_torch,
    "Paretofoil PCN, shipped": load_shipped,
}


def foils_of(actions: pf.ActionSpace, amounts: np.ndarray) -> list[AmountFoil]:
    """Return directions, amounts from the whole range and a band, without those that hold already."""
    foils = list(directions_of(actions, amounts).values())
    for name, low, high, now in zip(actions.names, actions.low, actions.high, actions.clip(amounts), strict=True):
        at = [low + share * (high - low) for share in (0.2, 0.45, 0.55, 0.8)]
        foils += [pf.between(name, limit, None) for limit in at[2:] if now < limit]
        foils += [pf.between(name, None, limit) for limit in at[:2] if now > limit]
        foils += [pf.between(name, at[1], at[2])] if not at[1] <= now <= at[2] else []
    return foils


def fulfils(foil: AmountFoil, actions: pf.ActionSpace, now: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """Return which of the amounts (N, dimensions) fulfil a foil."""
    [condition] = foil.conditions
    i = actions.index(condition.name)
    base = now[i] if condition.relative else 0.0
    least = -np.inf if condition.least is None else base + condition.least
    most = np.inf if condition.most is None else base + condition.most
    return (amounts[:, i] >= least) & (amounts[:, i] <= most)


def refuted(answer: pf.Answer, commands: np.ndarray, valid: np.ndarray) -> bool:
    """Return whether sampled commands (N, d) refute what an answer proves; `valid` tells which fulfil the foil."""
    question = answer.live.question  # type: ignore[union-attr]
    if answer.proven_range is not None and not valid[answer.proven_range.holds(commands)].all():
        return True
    if answer.proof is None:
        return False
    # A relative foil is rounded to a short amount, which is a little stricter.
    strict = -question.policy.log_probs(np.repeat(question.state[None], valid.sum(), axis=0), commands[valid])[:, 1:]
    wins = (strict >= 0).all(axis=1)
    distances = question.space.distance(commands[valid][wins], question.command)
    return bool((distances < answer.proof.lower).any())


def main(names: list[str], count: int, samples: int) -> None:
    columns = "agent", "numbers", "questions", "settled", "derived", "feasible", "median CPU s", "largest CPU s"
    print(f"| {' | '.join(columns)} | contradictions of {samples:,} samples |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, train in AGENTS.items():
        if names and not any(part.lower() in name.lower() for part in names):
            continue
        actor, states, commands = train(count)
        assert actor.is_white_box, actor.why_not
        rng, seconds, statuses, derived, contradictions = np.random.default_rng(1), [], [], 0, 0
        for state, command in zip(states, commands, strict=True):
            space = actor.space
            drawn = rng.uniform(space.low, space.high, size=(samples // len(states), space.dim))
            drawn = rng.dirichlet(np.ones(space.dim), size=len(drawn)) if space.simplex else drawn
            [now] = actor.amounts(state[None], command[None])
            amounts = actor.amounts(np.repeat(state[None], len(drawn), axis=0), drawn)
            for foil in foils_of(actor.actions, now):
                began = time.process_time()
                answer = pf.explain(actor, state=state, command=command, foil=foil)
                seconds.append(time.process_time() - began)
                statuses.append(answer.status)
                if answer.proof is None or answer.proof.status == "gap":
                    print(f"not settled: {answer!r}, {answer.proof!r}, {answer.search.stop.value}")
                derived += answer.proof is not None and answer.proof.rounding == "derived"
                contradictions += refuted(answer, drawn, fulfils(foil, actor.actions, now, amounts))
        settled = sum(status in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE) for status in statuses)
        feasible = sum(status in (pf.Status.PROVEN_CLOSEST, pf.Status.FOUND) for status in statuses)
        total = len(statuses)
        print(
            f"| {name} | {actor.space.dim} | {total} | {settled} ({settled / total:.1%}) | {derived / total:.0%} "
            f"| {feasible} | {np.median(seconds):.2f} | {max(seconds):.2f} | {contradictions} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", help="Parts of the names of agents; all if omitted.")
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--samples", type=int, default=10**6)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock of time limits, so that other processes do not matter
    with one_thread():
        main(arguments.agents, arguments.states, arguments.samples)

"""Explain preference-conditioned agents that MORL-Baselines trains, and try to refute the certificates by samples.

    python benchmarks/preferences.py --agent envelope-sea --samples 10000000

Needs morl-baselines. Answers about Envelope Q-learning, which maximises w . Q(s, a, w), are proven by branch and bound;
GPI-LS has a table of values at each state. Weights are sampled where a certificate says that the foil cannot win, and
the network of MORL-Baselines is evaluated there. Every question is asked with the default kappa and with kappa 0.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import mo_gymnasium
import numpy as np
import torch

import paretofoil as pf

CHUNK = 1 << 15
OBJECTIVES = {"deep-sea-treasure-v0": ("treasure", "time"), "four-room-v0": ("blue", "green", "red")}
SCALES: dict[str, Any] = {"deep-sea-treasure-v0": 10.0, "four-room-v0": [13.0, 13.0, *[1.0] * 12]}
"""Divisors of the states, so that networks learn from numbers near 1."""
MAX_STEPS = 50
OWN_CHOICES = 30
"""Sampled weights per question at which the agent's own `eval` is called."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A trained agent of MORL-Baselines, and the policy made of it."""

    agent: Any
    env: Any
    policy: Any
    space: pf.CommandSpace
    worth: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """(state, weights (N, d)) -> (N, actions), from its own network."""


class Scaled(gymnasium.ObservationWrapper):
    """Scale states to float32 numbers near 1."""

    def __init__(self, env: Any, scale: Any) -> None:
        super().__init__(env)
        self.scale = np.asarray(scale, dtype=np.float32)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        return np.asarray(observation, dtype=np.float32) / self.scale


def make(name: str) -> Any:
    return Scaled(mo_gymnasium.make(name, max_episode_steps=MAX_STEPS), SCALES[name])  # type: ignore[attr-defined]


def envelope(name: str, steps: int, seed: int) -> Subject:
    from morl_baselines.multi_policy.envelope.envelope import Envelope

    env, space = make(name), pf.CommandSpace.preferences(OBJECTIVES[name])
    exploring = {"initial_epsilon": 1.0, "final_epsilon": 0.1, "epsilon_decay_steps": int(0.7 * steps)}
    learning = {"learning_rate": 1e-3, "batch_size": 32, "gamma": 0.95, "target_net_update_freq": 500, "per": False}
    agent = Envelope(
        env, net_arch=[64, 64], buffer_size=steps, log=False, seed=seed, device="cpu", **exploring, **learning
    )
    agent.train(total_timesteps=steps)
    policy = pf.from_q_module(agent.q_net, env.reset(seed=seed)[0], space)

    @torch.no_grad()
    def worth(state: np.ndarray, weights: np.ndarray) -> np.ndarray:
        w = torch.as_tensor(weights, dtype=torch.float32)
        values = agent.q_net(torch.as_tensor(state).expand(len(w), -1), w)
        return torch.einsum("br,bar->ba", w, values).numpy()

    return Subject(agent, make(name), policy, space, worth)


def gpi(name: str, steps: int, seed: int) -> Subject:
    from morl_baselines.multi_policy.gpi_pd.gpi_pd import GPILS

    env, space = make(name), pf.CommandSpace.preferences(OBJECTIVES[name])
    exploring = {"initial_epsilon": 1.0, "final_epsilon": 0.05, "epsilon_decay_steps": steps // 2}
    settings = {"net_arch": [64, 64, 64], "gradient_updates": 2, "buffer_size": steps, "device": "cpu", **exploring}
    agent = GPILS(env, log=False, seed=seed, **settings)
    counts = {"num_eval_weights_for_front": 10, "num_eval_episodes_for_front": 1, "num_eval_weights_for_eval": 5}
    seldom = {"eval_freq": 10 * steps, "eval_mo_freq": 10 * steps, "checkpoints": False}
    reference = np.full(space.dim, -50.0)
    agent.train(steps, make(name), reference, timesteps_per_iter=max(steps // 5, 1), **counts, **seldom)
    network, support = agent.q_nets[0], torch.stack(agent.weight_support)

    @torch.no_grad()
    def table(state: np.ndarray) -> np.ndarray:
        network.eval()  # each time: the agent turns its dropout on again whenever it acts
        states = torch.as_tensor(state, dtype=torch.float32).expand(len(support), -1)
        return network(states, support).permute(1, 0, 2).numpy()

    def worth(state: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.einsum("nd,avd->nav", weights.astype(np.float32), table(state)).max(axis=2)

    return Subject(agent, make(name), pf.from_q_table(table), space, worth)


AGENTS: dict[str, tuple[Callable[[str, int, int], Subject], str, int]] = {
    "envelope-sea": (envelope, "deep-sea-treasure-v0", 16_000),
    "envelope-rooms": (envelope, "four-room-v0", 10_000),
    "gpi-sea": (gpi, "deep-sea-treasure-v0", 8_000),
}
"""Each trains in minutes. Minecart also has three objectives, but brought no ore home after 15,000 steps."""


def visited(subject: Subject, weights: np.ndarray, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the states of an episode under given weights, and its return."""
    state, _ = subject.env.reset(seed=seed)
    states, returns, over = [], np.zeros(subject.space.dim), False
    while not over:
        states.append(state)
        state, reward, ended, cut, _ = subject.env.step(subject.agent.eval(state, weights))
        returns, over = returns + reward, ended or cut
    return states, returns


def decisions_of(
    subject: Subject, episodes: int, each: int, seed: int
) -> tuple[list[tuple[np.ndarray, np.ndarray]], int]:
    """Return distinct states with the weights of their episodes, and the number of distinct returns."""
    rng, found, returns = np.random.default_rng(seed), {}, set()
    for weights in rng.dirichlet(np.ones(subject.space.dim), size=episodes):
        states, reached = visited(subject, weights, seed)
        returns.add(tuple(np.round(reached, 1)))
        spread = np.unique(np.linspace(0, len(states) - 1, each).astype(int))
        found.update({(states[i].tobytes(), weights.tobytes()): (states[i], weights) for i in spread})
    return list(found.values()), len(returns)


def sample(answer: pf.Answer, size: int, rng: np.random.Generator) -> np.ndarray:
    """Sample weights closer than the lower bound: half uniformly, half near the bound."""
    dim, lower = len(answer.question.command), answer.lower_bound
    if np.isinf(lower):
        return rng.dirichlet(np.ones(dim), size=size)
    moved = rng.normal(size=(size, dim))
    moved -= moved.mean(axis=1, keepdims=True)
    share = rng.random((size, 1)) ** (1.0 / max(dim - 1, 1))
    share[size // 2 :] = 1.0 - 0.05 * (1.0 - share[size // 2 :])
    weights = answer.question.command + moved / np.linalg.norm(moved, axis=1, keepdims=True) * share * lower * (
        1 - 1e-9
    )
    return weights[(weights >= 0).all(axis=1)]


def attack(
    subject: Subject, state: np.ndarray, answer: pf.Answer, samples: int, rng: np.random.Generator
) -> np.ndarray:
    """Return (4,): sampled weights, violations, calls of the agent's own `eval`, violations there."""
    counts, foil = np.zeros(4, dtype=np.int64), answer.question.actions.index(answer.question.foil_name)
    while counts[0] < samples:
        weights = sample(answer, CHUNK, rng)
        worth = subject.worth(state, weights).astype(np.float64)
        lead = worth[:, foil] - np.delete(worth, foil, axis=1).max(axis=1)
        broken = lead >= answer.question.kappa if answer.question.kappa > 0 else worth.argmax(axis=1) == foil
        if counts[0] == 0 and answer.question.kappa == 0:
            own = [subject.agent.eval(state, w) == answer.question.foil for w in weights[-OWN_CHOICES:]]
            counts[2:] += len(own), sum(own)
        counts[:2] += len(weights), int(broken.sum())
    return counts


def explained(subject: Subject, asked: list[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, pf.Answer]]:
    """Explain every foil of each decision, with the default kappa and with 0."""
    answers, actions = [], int(subject.env.action_space.n)
    for state, weights in asked:
        chosen = int(subject.policy.log_probs(state[None], weights[None])[0].argmax())
        for foil in set(range(actions)) - {chosen}:
            options: dict[str, Any] = {"state": state, "command": weights, "foil": foil, "space": subject.space}
            answers.append((state, pf.explain(subject.policy, **options)))
            answers.append((state, pf.explain(subject.policy, **options, options=pf.Options(kappa=0.0))))
    return answers


def report(name: str, subject: Subject, asked: list[Any], answers: list[Any], attacked: np.ndarray) -> None:
    found = [a for _, a in answers if a.command is not None]
    statuses = [a.status for _, a in answers]
    seconds = [a.proof.seconds for _, a in answers]
    weights = np.random.default_rng(0).dirichlet(np.ones(subject.space.dim), size=2000)
    chosen = [len(set(subject.worth(state, weights).argmax(axis=1).tolist())) for state, _ in asked]
    agree = sum(
        int(subject.policy.log_probs(s[None], w[None])[0].argmax()) == subject.agent.eval(s, w) for s, w in asked
    )
    cells = [
        f"{len(asked)}, {np.mean(chosen):.1f} actions",
        f"{agree} of {len(asked)}",
        f"{len(answers):,}",
        f"{statuses.count(pf.Status.PROVEN_CLOSEST):,}",
        f"{statuses.count(pf.Status.PROVEN_INFEASIBLE):,}",
        f"{sum(o not in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE) for o in statuses):,}",
        f"{np.mean(seconds):.3f} ({np.max(seconds):.2f})",
        f"{sum(a.proven_range is not None for a in found):,} of {len(found):,}",
        f"{max((abs(a.command.sum() - 1) for a in found), default=0.0):.0e}",
        *(f"{count:,}" for count in attacked),
    ]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", choices=list(AGENTS), default="envelope-sea")
    parser.add_argument("--steps", type=int, help="training steps; by default those of the agent")
    parser.add_argument("--episodes", type=int, default=20, help="episodes, each with its own weights")
    parser.add_argument("--decisions", type=int, default=3, help="decisions per episode")
    parser.add_argument("--samples", type=int, default=10_000_000, help="sampled weights over all questions")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    began, (train, env, steps) = time.perf_counter(), AGENTS[options.agent]
    subject = train(env, options.steps or steps, options.seed)
    asked, returns = decisions_of(subject, options.episodes, options.decisions, options.seed)
    spent = time.perf_counter() - began
    print(
        f"{subject.policy}: {options.steps or steps:,} steps in {spent:.0f} s, {returns} different returns", flush=True
    )
    answers = explained(subject, asked)
    rng, each = np.random.default_rng(options.seed), -(-options.samples // len(answers))
    attacked = np.sum([attack(subject, state, answer, each, rng) for state, answer in answers], axis=0)
    report(options.agent, subject, asked, answers, attacked)
    found = [answer for _, answer in answers if answer.found and answer.question.kappa > 0]
    if found:
        print(max(found, key=lambda answer: answer.quoted.distance if answer.quoted else 0.0).paragraph())


if __name__ == "__main__":
    main()

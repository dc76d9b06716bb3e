"""Train agents without a command, ask which features of the state would change their actions, and attack the proofs.

    python benchmarks/features.py [cartpole] [lunarlander] [taxi] [--states 20] [--samples 100000]

The agents are models of Stable-Baselines3 with its usual networks: PPO in CartPole and LunarLander (needs the package
box2d), DQN in Taxi. In states of their episodes, questions ask for every other action, with 1 to 4 free features that
are drawn at random. The table has the share of questions that are settled in 10 seconds, the CPU times, and the number
of sampled states that contradict a proof. For Taxi, every answer is compared with the values of all 500 states.
"""

import argparse
import time
from typing import Any

import gymnasium as gym
import numpy as np
import torch

import paretofoil as pf
from paretofoil.core.question import QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.envs.observations import find_observations

SETTLED = (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE)


def train(name: str) -> tuple[Any, str]:
    """Return a model and the id of its environment."""
    from stable_baselines3 import DQN, PPO

    settings: dict[str, Any]
    common: dict[str, Any] = {"seed": 0, "device": "cpu"}
    if name == "cartpole":
        return PPO("MlpPolicy", "CartPole-v1", n_steps=256, **common).learn(40_000), "CartPole-v1"
    if name == "lunarlander":
        settings = {"n_steps": 1024, "n_epochs": 4, "gae_lambda": 0.98, "gamma": 0.999, "ent_coef": 0.01}
        return PPO("MlpPolicy", "LunarLander-v3", **settings, **common).learn(200_000), "LunarLander-v3"
    settings = {"learning_rate": 1e-3, "gamma": 0.95, "batch_size": 128, "learning_starts": 1000, "train_freq": 4}
    settings |= {"exploration_fraction": 0.5, "target_update_interval": 1000, "buffer_size": 100_000}
    return DQN("MlpPolicy", "Taxi-v4", **settings, **common).learn(200_000), "Taxi-v4"


def visited(model: Any, environment: str, count: int) -> tuple[list[np.ndarray], float]:
    """Return states of greedy episodes, and the mean return of these episodes."""
    env, states, returns = gym.make(environment), [], []
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        returns.append(0.0)
        over = False
        while not over:
            states.append(np.ravel(observation))
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, ended, cut, _ = env.step(int(action))
            returns[-1] += float(reward)
            over = ended or cut
    chosen = np.random.default_rng(0).permutation(len(states))[:count]
    return [states[i] for i in chosen], float(np.mean(returns))


def attack(answer: pf.Answer, samples: int, seed: int) -> int:
    """Return how many of random states refute the proof of an answer."""
    assert answer.live is not None
    assert answer.proof is not None
    question, lower = answer.live.question, answer.proof.lower
    batch, generator = QuestionBatch([question]), np.random.default_rng(seed)
    reach = min(lower, 1.0)
    z = generator.uniform(np.maximum(batch.low[0], -reach), np.minimum(batch.high[0], reach), (samples, batch.dim))
    rows = np.zeros(samples, dtype=np.int64)
    z = batch.project(rows, z)
    z = z[batch.distances(z) < lower]
    return int((batch.margins(rows[: len(z)], z, "attack") >= question.kappa).sum())


def differs_from_enumeration(model: Any, answer: pf.Answer, features: list[Any], state: int) -> bool:
    """Return whether an answer about Taxi is not the one that the values of all states give."""
    with torch.no_grad():
        values = model.q_net(torch.arange(500)).double().numpy()
    weights, counts = (
        np.array(numbers) for numbers in zip(*((f.factors[0], f.high + 1) for f in features), strict=True)
    )
    digits = np.arange(500)[:, None] // weights % counts
    others = [f for f in find_observations("Taxi").features if f not in features]  # type: ignore[union-attr]
    same = np.ones(500, dtype=bool)
    for other in others:
        own = np.arange(500) // other.factors[0] % (other.high + 1)  # type: ignore[operator]
        same &= own == own[state]
    foil: Any = answer.question.foil
    margins = values[:, foil] - np.delete(values, foil, axis=1).max(axis=1)
    valid = same & (margins >= answer.question.kappa)
    if answer.quoted is None:
        return bool(valid.any())
    away = np.linalg.norm((digits - digits[state]) / (counts - 1), axis=1)
    return not valid.any() or abs(away[valid].min() - answer.quoted.distance) > 1e-9


@one_thread()
def measure(name: str, num_states: int, samples: int) -> None:
    model, environment = train(name)
    states, mean = visited(model, environment, num_states)
    known: Any = find_observations(environment)
    print(f"\n{name}: {type(model).__name__}, mean return {mean:.1f} in 10 episodes, {len(states)} states")
    print("| free | questions | settled in 10 s | with a change | CPU s, median | CPU s, longest | contradictions |")
    print("|---|---|---|---|---|---|---|")
    generator = np.random.default_rng(1)
    for count in range(1, 5):
        answers, seconds, contradictions = [], [], 0
        for number, state in enumerate(states):
            free = [known.features[i] for i in sorted(generator.choice(len(known.features), count, replace=False))]
            policy = pf.from_sb3(model, free=free, environment=environment)
            chosen = int(model.predict(state.astype(np.float32) if name != "taxi" else state[0], deterministic=True)[0])
            for foil in range(model.action_space.n):
                if foil == chosen:
                    continue
                began = time.process_time()
                answer = pf.explain(policy, state=state, foil=foil, limits=pf.Limits(seconds=10))
                seconds.append(time.process_time() - began)
                answers.append(answer)
                if name == "taxi":
                    contradictions += differs_from_enumeration(model, answer, free, int(state[0]))
                else:
                    contradictions += attack(answer, samples, number)
        settled = sum(answer.status in SETTLED for answer in answers)
        found = sum(answer.found for answer in answers)
        share = f"{settled} ({100 * settled / len(answers):.0f} %)"
        times = f"{np.median(seconds):.3f} | {max(seconds):.2f}"
        print(f"| {count} | {len(answers)} | {share} | {found} | {times} | {contradictions} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=["cartpole", "lunarlander", "taxi"])
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100_000)
    arguments = parser.parse_args()
    for name in arguments.agents:
        measure(name, arguments.states, arguments.samples)


if __name__ == "__main__":
    main()

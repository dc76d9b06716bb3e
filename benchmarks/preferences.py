"""A preference-conditioned agent, trained by MORL-Baselines' GPI-LS on Deep Sea Treasure, explained on the simplex.

    python benchmarks/preferences.py --steps 20000 --samples 10000000

It needs morl-baselines in the environment. Every answer must sum to 1, and no sampled weights may violate a
certificate; the values that are sampled come from MORL-Baselines' own network.
"""

import argparse
import time
from typing import Any

import numpy as np

import paretofoil as pf

CHUNK = 1 << 16


def train(steps: int, seed: int) -> tuple[Any, Any]:
    import mo_gymnasium
    from morl_baselines.multi_policy.gpi_pd.gpi_pd import GPILS

    env, eval_env = (mo_gymnasium.make("deep-sea-treasure-v0") for _ in range(2))  # type: ignore[attr-defined]
    settings = {"net_arch": [128, 128, 128], "initial_epsilon": 1.0, "final_epsilon": 0.05}
    agent = GPILS(env, gradient_updates=2, epsilon_decay_steps=steps // 2, log=False, seed=seed, **settings)
    agent.train(
        total_timesteps=steps,
        eval_env=eval_env,
        ref_point=np.array([0.0, -50.0]),
        timesteps_per_iter=max(steps // 5, 1),
        num_eval_weights_for_front=10,
        num_eval_episodes_for_front=1,
        num_eval_weights_for_eval=5,
        eval_freq=10 * steps,
        eval_mo_freq=10 * steps,
        checkpoints=False,
    )
    return agent, eval_env


def tables(agent: Any) -> Any:
    """state -> (actions, vectors, objectives): the adapter of the guide."""
    import torch

    network, support = agent.q_nets[0], torch.stack(agent.weight_support)

    @torch.no_grad()
    def table(state: np.ndarray) -> np.ndarray:
        states = torch.as_tensor(state, dtype=torch.float32).expand(len(support), -1)
        network.eval()  # each time: the agent turns its dropout on again whenever it acts
        return network(states, support).permute(1, 0, 2).numpy()

    return table


def visited(agent: Any, env: Any, weights: np.ndarray) -> list[np.ndarray]:
    """The states of an episode under some weights."""
    state, _ = env.reset(seed=0)
    states: list[np.ndarray] = []
    over = False
    while not over and len(states) < 30:
        states.append(np.asarray(state, dtype=np.float32))
        state, _, terminated, truncated, _ = env.step(agent.eval(state, weights.astype(np.float32)))
        over = terminated or truncated
    return states


def attack(table: np.ndarray, answer: pf.Answer, samples: int, rng: np.random.Generator) -> np.ndarray:
    """How many sampled weights are valid and closer than is proven possible, and how many were sampled."""
    counts = np.zeros(2, dtype=np.int64)
    for first in range(0, samples, CHUNK):
        size = min(CHUNK, samples - first)
        if np.isinf(answer.lower_bound):
            weights = rng.dirichlet(np.ones(table.shape[2]), size=size)
        else:
            moved = rng.normal(size=(size, table.shape[2]))
            moved -= moved.mean(axis=1, keepdims=True)
            moved *= answer.lower_bound * rng.random((size, 1)) ** 0.25 / np.linalg.norm(moved, axis=1, keepdims=True)
            weights = answer.original + moved * (1 - 1e-9)
            weights = weights[(weights >= 0).all(axis=1)]
        worth = np.stack([(weights @ vectors.T).max(axis=1) for vectors in table], axis=1)
        lead = worth[:, answer.foil] - np.delete(worth, answer.foil, axis=1).max(axis=1)
        counts += (lead >= answer.kappa).sum(), len(weights)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=10_000_000, help="sampled weights, over all questions")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.perf_counter()
    agent, env = train(options.steps, options.seed)
    print(
        f"trained {options.steps:,} steps in {time.perf_counter() - began:.0f} s, {len(agent.weight_support)} weights"
    )
    table, space = tables(agent), pf.CommandSpace.preferences(["treasure", "time"])
    policy, rng = pf.from_q_table(table), np.random.default_rng(options.seed)
    answers, agree, asked = [], 0, 0
    for weights in rng.dirichlet(np.ones(2), size=5):
        for state in visited(agent, env, weights):
            chosen = int(policy.log_probs(state[None], weights[None])[0].argmax())
            asked, agree = asked + 1, agree + (chosen == agent.eval(state, weights.astype(np.float32)))
            for foil in set(range(4)) - {chosen}:
                answers.append((state, pf.explain(policy, state=state, command=weights, foil=foil, space=space)))
    found = [answer for _, answer in answers if answer.found]
    outcomes = [answer.outcome.value for _, answer in answers]
    print(f"{len(answers)} questions: { {kind: outcomes.count(kind) for kind in sorted(set(outcomes))} }")
    print(f"the same action as MORL-Baselines' in {agree} of {asked} moments")
    print(f"seconds a question: {np.mean([a.certificate.seconds for _, a in answers if a.certificate]):.4f}")
    print(
        f"largest |sum - 1|: {max((abs(a.command.sum() - 1) for a in found if a.command is not None), default=0.0):.1e}"
    )
    each = -(-options.samples // len(answers))
    violations, sampled = np.sum(
        [attack(np.asarray(table(s), dtype=np.float64), a, each, rng) for s, a in answers], axis=0
    )
    print(f"{violations} violations among {sampled:,} sampled weights")
    if found:
        print(max(found, key=lambda answer: answer.distance or 0.0).paragraph())


if __name__ == "__main__":
    main()

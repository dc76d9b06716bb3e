"""Train goal-conditioned agents with Stable-Baselines3 (DQN with hindsight replay), and explain their decisions.

    python benchmarks/goals.py [--out paper/results]

Needs stable-baselines3. Each question is answered by the exact search, Boundary and CF-ZOO, and the model itself then
acts under the answer. The rows are written to OUT/rows/goals.csv. The run takes about a minute of one core.
"""

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import paretofoil as pf
from paretofoil_paper.goals import FILE, GoalAnswer, goals_table, read_goals

SIZES = {"plane": 2, "space": 3}
"""The number of coordinates of a goal, by environment."""
SEARCHES = ("exact", "boundary", "cf-zoo")
FAR, NEAR, STRIDE, MOST_STEPS = 1.0, 0.15, 0.2, 16
STEPS, TESTS = 8_000, 100
EPISODES = {"plane": 3, "space": 1}
"""The number of episodes with questions."""
QUESTION_STEPS = (0, 3)
"""The steps of an episode with questions, if it lasts that long."""


class Room(gym.Env[dict[str, np.ndarray], int]):
    """Move to a goal in a box: two actions per coordinate; the reward is -1 until the goal is near."""

    def __init__(self, size: int) -> None:
        place = spaces.Box(-FAR, FAR, (size,))
        parts: dict[str, spaces.Space] = dict.fromkeys(("observation", "achieved_goal", "desired_goal"), place)
        self.observation_space = spaces.Dict(parts)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(2 * size)  # type: ignore[assignment]
        self.moves = STRIDE * np.concatenate([np.eye(size), -np.eye(size)]).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.goal = self.np_random.uniform(-FAR, FAR, size=(2, self.moves.shape[1])).astype(np.float32)
        self.steps = 0
        return self._observe(), {}

    def _observe(self) -> dict[str, np.ndarray]:
        return {"observation": self.place, "achieved_goal": self.place, "desired_goal": self.goal}

    def compute_reward(self, achieved: np.ndarray, desired: np.ndarray, info: Any) -> np.ndarray:
        """Return the reward for goals that hindsight replay puts in place of the original ones."""
        return -(np.abs(achieved - desired).max(axis=-1) > NEAR).astype(np.float32)

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + self.moves[int(action)], -FAR, FAR)
        self.steps += 1
        reward = float(self.compute_reward(self.place, self.goal, {}))
        return self._observe(), reward, reward == 0.0, self.steps >= MOST_STEPS, {}


def train(size: int) -> Any:
    from stable_baselines3 import DQN, HerReplayBuffer

    model = DQN(
        "MultiInputPolicy",
        Room(size),
        replay_buffer_class=HerReplayBuffer,
        policy_kwargs={"net_arch": [64, 64]},
        seed=0,
        device="cpu",
        learning_rate=1e-3,
        gamma=0.9,
        learning_starts=500,
        target_update_interval=250,
        exploration_fraction=0.5,
        exploration_final_eps=0.1,
    )
    return model.learn(STEPS)


def play(model: Any, env: Room, seed: int) -> tuple[list[dict[str, np.ndarray]], bool]:
    """Return the observations of a greedy episode, and whether it reaches its goal."""
    observation, _ = env.reset(seed=seed)
    observations, reached, over = [], False, False
    while not over:
        observations.append(observation)
        observation, _, reached, cut, _ = env.step(model.predict(observation, deterministic=True)[0])
        over = reached or cut
    return observations, reached


def measure(agent: str) -> Iterator[GoalAnswer]:
    size = SIZES[agent]
    env, model = Room(size), train(size)
    reached = sum(play(model, env, 10_000 + seed)[1] for seed in range(TESTS))
    for episode in range(EPISODES[agent]):
        observations, _ = play(model, env, 20_000 + episode)
        for step in (step for step in QUESTION_STEPS if step < len(observations)):
            observation = observations[step]
            policy = pf.from_sb3(model, observation)
            state, goal = policy.module.split(observation)  # type: ignore[operator]
            chosen = int(model.predict(observation, deterministic=True)[0])
            for foil in sorted(set(range(2 * size)) - {chosen}):
                for search in SEARCHES:
                    start = time.process_time()
                    answer = pf.explain(policy, state=state, command=goal, foil=foil, search=search)
                    seconds = time.process_time() - start
                    closest, takes_foil = answer.closest, None
                    if answer.command is not None:
                        with_goal = observation | {"desired_goal": answer.command.astype(np.float32)}
                        takes_foil = int(model.predict(with_goal, deterministic=True)[0]) == foil
                    yield GoalAnswer(
                        *(agent, size, reached, TESTS, episode, step, foil, search, answer.status.value),
                        None if closest is None else closest.distance,
                        answer.total_queries,
                        0 if answer.proof is None else answer.proof.boxes,
                        round(seconds, 4),
                        takes_foil,
                    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    path = parser.parse_args().out / "rows" / FILE
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(GoalAnswer)], lineterminator="\n")
        writer.writeheader()
        for agent in SIZES:
            for row in measure(agent):
                writer.writerow({key: "" if value is None else value for key, value in asdict(row).items()})
                file.flush()
    print(goals_table(read_goals(path)).to_markdown())


if __name__ == "__main__":
    main()

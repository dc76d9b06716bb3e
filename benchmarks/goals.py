"""Train agents conditioned on goals and on preferences with Stable-Baselines3, and explain their decisions.

    python benchmarks/goals.py [--out paper/results]

Needs stable-baselines3. Two DQN agents with hindsight replay move to a goal, and a third one maximises returns weighted
by random preferences, like PD-MORL without its alignment term and its hindsight replay. The exact search, Boundary and
CF-ZOO answer each question. The model itself then acts under the command of the answer. The rows are written to
OUT/rows/goals.csv. The run takes about ten minutes of one core.
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

SEARCHES = ("exact", "boundary", "cf-zoo")
FAR, NEAR, STRIDE, MOST_STEPS = 1.0, 0.15, 0.2, 16
STEPS, TESTS = 8_000, 100
EPISODES = {"plane": 14, "space": 8, "preferences": 14}
"""The number of episodes with questions."""
QUESTION_STEPS = (0, 3)
"""The steps of an episode with questions, if it lasts that long."""
OBJECTIVES = ("red", "blue", "time")
TARGETS = np.array([[0.9, 0.9], [-0.3, 0.3]], dtype=np.float32)
"""The places of red and blue; an episode starts in the lower half."""
PRICE = 0.1
"""What a step costs in the objective time."""


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


class Market(gym.Env[dict[str, np.ndarray], int]):
    """Move to red or blue, or stop; a reward is weighted by preferences that each episode draws anew."""

    def __init__(self) -> None:
        parts: dict[str, spaces.Space] = {
            "observation": spaces.Box(-FAR, FAR, (2,)),
            "preferences": spaces.Box(0.0, 1.0, (len(OBJECTIVES),)),
        }
        self.observation_space = spaces.Dict(parts)  # type: ignore[assignment]
        self.action_space = spaces.Discrete(5)  # type: ignore[assignment]
        self.moves = STRIDE * np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.np_random.uniform((-FAR, -FAR), (FAR, 0.0)).astype(np.float32)
        self.weights = self.np_random.dirichlet(np.ones(len(OBJECTIVES))).astype(np.float32)
        self.steps = 0
        return self._observe(), {}

    def _observe(self) -> dict[str, np.ndarray]:
        return {"observation": self.place, "preferences": self.weights}

    def step(self, action: int) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + self.moves[int(action)], -FAR, FAR)
        self.steps += 1
        rewards = (np.abs(self.place - TARGETS).max(axis=1) <= NEAR).astype(np.float32)
        over = bool(rewards.any()) or int(action) == 4
        reward = float(self.weights @ np.array([*rewards, -PRICE]))
        return self._observe(), reward, over, self.steps >= MOST_STEPS, {}


def best_return(place: np.ndarray, weights: np.ndarray) -> float:
    """Return the largest weighted return from a place: stop at once, or go straight to red or blue."""
    red, blue, price = (float(weight) for weight in weights * (1.0, 1.0, PRICE))
    away = np.maximum(np.ceil((np.abs(TARGETS - place) - NEAR) / STRIDE - 1e-6), 0).sum(axis=1)
    return max(-price, red - away[0] * price, blue - away[1] * price)


def make_env(agent: str) -> gym.Env[Any, Any]:
    return Market() if agent == "preferences" else Room({"plane": 2, "space": 3}[agent])


def train(agent: str) -> Any:
    from stable_baselines3 import DQN, HerReplayBuffer

    model = DQN(
        "MultiInputPolicy",
        make_env(agent),
        replay_buffer_class=None if agent == "preferences" else HerReplayBuffer,
        policy_kwargs={"net_arch": [64, 64]},
        seed=0,
        device="cpu",
        learning_rate=1e-3,
        gamma=1.0 if agent == "preferences" else 0.9,
        learning_starts=500,
        target_update_interval=250,
        exploration_fraction=0.5,
        exploration_final_eps=0.1,
    )
    return model.learn((6 if agent == "preferences" else 1) * STEPS)


def play(model: Any, env: Any, seed: int) -> tuple[list[dict[str, np.ndarray]], bool]:
    """Return the observations of a greedy episode, and whether it reaches its goal or the largest weighted return."""
    observation, _ = env.reset(seed=seed)
    observations, total, ended, over = [], 0.0, False, False
    while not over:
        observations.append(observation)
        observation, reward, ended, cut, _ = env.step(model.predict(observation, deterministic=True)[0])
        total, over = total + reward, ended or cut
    if isinstance(env, Room):
        return observations, ended
    return observations, total >= best_return(observations[0]["observation"], env.weights) - 1e-5


def measure(agent: str) -> Iterator[GoalAnswer]:
    env, model = make_env(agent), train(agent)
    part = "preferences" if agent == "preferences" else "desired_goal"
    space = pf.CommandSpace.preferences(OBJECTIVES) if agent == "preferences" else None
    reached = sum(play(model, env, 10_000 + seed)[1] for seed in range(TESTS))
    for episode in range(EPISODES[agent]):
        observations, _ = play(model, env, 20_000 + episode)
        for step in (step for step in QUESTION_STEPS if step < len(observations)):
            observation = observations[step]
            policy = pf.from_sb3(model, observation, space, command=part)
            state, command = policy.module.split(observation)  # type: ignore[operator]
            chosen = int(model.predict(observation, deterministic=True)[0])
            for foil in sorted(set(range(env.action_space.n)) - {chosen}):  # type: ignore[attr-defined]
                for search in SEARCHES:
                    start = time.process_time()
                    answer = pf.explain(policy, state=state, command=command, foil=foil, search=search)
                    seconds = time.process_time() - start
                    closest, takes_foil = answer.closest, None
                    if answer.command is not None:
                        under_answer = observation | {part: answer.command.astype(np.float32)}
                        takes_foil = int(model.predict(under_answer, deterministic=True)[0]) == foil
                    yield GoalAnswer(
                        *(agent, len(command), reached, TESTS, episode, step, foil, search, answer.status.value),
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
        for agent in EPISODES:
            for row in measure(agent):
                writer.writerow({key: "" if value is None else value for key, value in asdict(row).items()})
                file.flush()
    print(goals_table(read_goals(path)).to_markdown())


if __name__ == "__main__":
    main()

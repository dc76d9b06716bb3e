"""Measure how the training choices of the paper's authors change the number of feasible cases.

    python benchmarks/factors.py [--out paper/results]

Each variant of an agent is trained with one choice of the authors in place of ours, and the last variant with all of
them. A case counts as feasible if Boundary finds a valid command in the paper's search region; if it finds none, a
valid command may still exist. The rows are appended to OUT/rows/factors.csv, and an interrupted run resumes. The full
run of 205 agents takes about an hour of one core.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax

from paretofoil import envs
from paretofoil.agents import Agent
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.core.pareto import crowding_distance, nondominated
from paretofoil.core.question import QuestionBatch
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.network import Learner, PCNNetwork, draw_weights
from paretofoil.pcn.policy import PCN, Layer, PCNPolicy
from paretofoil.pcn.replay import CROWDED, Ranking, Replay
from paretofoil.search import Boundary
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper.factors import (
    ALL,
    ARCHIVE,
    FACTORS,
    FILE,
    LOSS,
    SCALING,
    SMALL,
    TWO_LAYERS,
    VARIANTS,
    FactorAgent,
    factors_table,
    read_factors,
)
from paretofoil_paper.protocols import PAPER_STRESS

SEEDS = (20, 21, 22, 23, 24)
COMMAND_FACTORS = {"deep-sea-treasure": 0.1}
"""The authors multiply commands by a fixed factor, 1 in the other environments."""
BUFFER = 1_000
"""Episodes in the warm-up and in the archive if all choices are the authors', who have 8,000 in Deep Sea Treasure."""
SEARCH = Boundary()


def measure_factors(path: Path, seeds: Sequence[int] = SEEDS) -> Iterator[FactorAgent]:
    """Train and measure the agents that are not in the file yet, and append them to it."""
    known = {(row.environment, row.variant, row.seed) for row in read_factors(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(FactorAgent)], lineterminator="\n")
        if not known:
            writer.writeheader()
        for environment, seed, variant in _order(seeds):
            if (environment, variant, seed) not in known:
                row = measure_agent(environment, variant, seed)
                writer.writerow(asdict(row))
                file.flush()
                yield row


def _order(seeds: Sequence[int]) -> Iterator[tuple[str, int, str]]:
    """Return environment, seed and variant of each agent; the last variant, which takes minutes, comes last."""
    yield from product(SMALL, seeds, VARIANTS[:-1])
    yield from product(SMALL[:1], seeds, VARIANTS[-1:])


def measure_agent(environment: str, variant: str, seed: int) -> FactorAgent:
    agent = train(environment, variant, seed)
    questions = [make_case_question(agent, *case, box="paper") for case in enumerate_cases(agent, PAPER_STRESS, 0)]
    findings = SEARCH.run(QuestionBatch(questions)) if questions else []
    feasible = sum(finding.scaled_change is not None for finding in findings)
    reached = int(agent.reached().sum())
    return FactorAgent(environment, variant, seed, len(agent.front), reached, len(questions), feasible)


def train(environment: str, variant: str, seed: int) -> Agent:
    """Train an agent with one choice of the authors, or with all of them."""
    chosen = set(FACTORS) if variant == ALL else {variant}
    entry, theirs = envs.entry(environment), preset(envs.entry(environment), "plain")
    changes: dict[str, dict[str, Any]] = {
        "width 256": {"hidden": 256},
        "no polish": {"polish_rounds": 0},
        "their exploration": {"explore": "plain"},
        "their learning rate": {"learning_rate": theirs.learning_rate, "cooling": theirs.cooling},
    }
    config = replace(theirs, warmup=BUFFER, capacity=BUFFER) if variant == ALL else preset(entry)
    settings = {name: value for factor in chosen & changes.keys() for name, value in changes[factor].items()}
    config = replace(config, seed=seed, **settings)
    if "their observation" in chosen:
        entry = with_their_observation(entry)
    trainer = make_trainer(entry, config)
    if ARCHIVE in chosen:
        trainer.replay = AuthorsReplay(config.capacity)
    if chosen & {TWO_LAYERS, SCALING, LOSS}:
        sizes = trainer.env.observation_size, trainer.command_size, trainer.env.num_actions
        factor = COMMAND_FACTORS.get(environment, 1.0)
        trainer.learner = Learner(AuthorsNetwork(sizes, config, chosen, factor))
    return make_agent(f"{environment}-{seed}", entry, trainer.run())


class AuthorsReplay(Replay):
    """An archive that keeps episodes of equal return, so that those of the front displace all others.

    Ours keeps one episode per return, so that it always has dominated returns, too.
    """

    def choose(self, new: Ranking) -> tuple[list[int], list[int]]:
        """Keep the front, then copies of its returns, then the returns that are nearest to it; crowded ones later."""
        own = len(self.demonstrations)
        labels = np.concatenate([*([d.label] for d in self.demonstrations), new.labels])
        front = nondominated(labels)
        distance = np.linalg.norm(labels[:, None] - labels[front], axis=2).min(axis=1)
        distance = np.where(crowding_distance(labels) <= CROWDED, 2.0 * distance, distance)
        distance[front] = -1.0
        order = np.lexsort((-np.arange(len(labels)), distance))  # of equal ones the newest
        kept = np.sort(order[: self.capacity])
        return kept[kept < own].tolist(), (kept[kept >= own] - own).tolist()


@dataclass(frozen=True)
class _Cells:
    """One one-hot vector of all cells of a map."""

    columns: int

    def __call__(self, observation: Any) -> np.ndarray:
        row, column = (int(number) for number in observation)
        flat = np.zeros(self.columns**2, dtype=np.float32)
        flat[self.columns * row + column] = 1.0
        return flat


def _raw(observation: Any) -> np.ndarray:
    return np.array(observation, dtype=np.float32)


def with_their_observation(entry: envs.CatalogueEntry) -> envs.CatalogueEntry:
    """Return the environment with the authors' encoding: raw numbers, and in DST one cell of 121."""
    if entry.name == "deep-sea-treasure":
        return replace(entry, encode=_Cells(11), observation_size=121)
    return replace(entry, encode=_raw, observation_size=len(entry.encode.sizes))  # type: ignore[attr-defined]


class AuthorsNetwork(PCNNetwork):
    """A network with choices of the authors: embeddings of two layers, a factor of commands, a loss of all actions."""

    def __init__(self, sizes: tuple[int, int, int], config: TrainConfig, chosen: Set[str], factor: float) -> None:
        super().__init__(*sizes, config.hidden, config.seed)
        self.chosen, self.factor = chosen, factor
        if TWO_LAYERS in chosen:
            self.sizes |= dict.fromkeys(("state_2", "command_2"), (config.hidden, config.hidden))
            self.vector = draw_weights(self.sizes, config.seed)
            self.layers = self.split(self.vector)

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set the scaling of an input; a fixed factor replaces that of commands."""
        if name == "command" and SCALING in self.chosen:
            shift, scale = np.zeros_like(shift), np.full_like(scale, self.factor)
        super().rescale(name, shift, scale)

    def gradient(
        self, states: np.ndarray, commands: np.ndarray, masks: np.ndarray, targets: np.ndarray, out: np.ndarray
    ) -> float:
        """Write the gradient of the mean negative log-likelihood into `out` and return the loss."""
        if LOSS in self.chosen:
            masks = np.ones_like(masks)
        if TWO_LAYERS not in self.chosen:
            return super().gradient(states, commands, masks, targets, out)
        inputs, outer = {"state": states, "command": commands}, self.split(out)
        first = {name: np.maximum(_affine(values, self.layers[name]), 0) for name, values in inputs.items()}
        embedded = {name: expit(_affine(values, self.layers[f"{name}_2"])) for name, values in first.items()}
        product = embedded["state"] * embedded["command"]
        hidden = np.maximum(_affine(product, self.layers["hidden"]), 0)
        logs = log_softmax(np.where(masks, _affine(hidden, self.layers["output"]), -np.inf), axis=1)
        rows = np.arange(len(targets))
        loss, slopes = -float(logs[rows, targets].mean()), np.exp(logs)
        slopes[rows, targets] -= 1
        slopes = _write(outer["output"], slopes / len(targets), hidden) @ self.layers["output"][0] * (hidden > 0)
        slopes = _write(outer["hidden"], slopes, product) @ self.layers["hidden"][0] * product
        for name, values in inputs.items():
            second = _write(outer[f"{name}_2"], slopes * (1 - embedded[name]), first[name])
            _write(outer[name], second @ self.layers[f"{name}_2"][0] * (first[name] > 0), values)
        return loss

    def export(self) -> PCN:
        policy = super().export()
        if TWO_LAYERS not in self.chosen:
            return policy
        assert isinstance(policy, PCNPolicy)
        state, command = (tuple(values.copy() for values in self.layers[f"{name}_2"]) for name in ("state", "command"))
        return PCNPolicy(state=(*policy.state, state), command=(*policy.command, command), head=policy.head)  # type: ignore[arg-type]


def _affine(inputs: np.ndarray, layer: Layer) -> np.ndarray:
    outputs: np.ndarray = inputs @ layer[0].T + layer[1]
    return outputs


def _write(layer: Layer, slopes: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Write the gradient of a layer, given the slopes of its outputs; return the slopes."""
    layer[0][...], layer[1][...] = slopes.T @ inputs, slopes.sum(axis=0)
    return slopes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    rows_file = parser.parse_args().out / "rows" / FILE
    for agent_row in measure_factors(rows_file):
        print(agent_row, flush=True)
    print(factors_table(read_factors(rows_file)).to_markdown())

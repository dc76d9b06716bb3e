"""Count the feasible cases of agents that are trained with one choice of the paper's authors at a time.

    python benchmarks/factors.py [--out paper/results]

Each variant changes one choice of our training into the authors' choice, and the last one changes all. A case counts as
feasible if Boundary finds a valid command in the paper's search region; a failure of it is no proof. The rows are
appended to OUT/rows/factors.csv, and an interrupted run resumes. The full run of 160 agents takes about an hour of one
core; it has not been recorded yet.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy, linear

from paretofoil import envs
from paretofoil.agents import Agent
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.core.question import QuestionBatch
from paretofoil.pcn.config import TrainConfig
from paretofoil.pcn.network import Learner, PCNNetwork, draw_weights
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.pcn.train import Trainer
from paretofoil.search import Boundary
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil.study.table import Table
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.protocols import PAPER_STRESS

SMALL = ("deep-sea-treasure", "branch-path", "reward-line", "collect-two")
"""Environments in which a training takes seconds."""
SEEDS = (20, 21, 22, 23, 24)
OURS, ALL = "ours", "all of these"
FACTORS = (
    *("two-layer embeddings", "width 256", "their observation", "their scaling of commands", "no polish"),
    "their exploration",
)
VARIANTS = (OURS, *FACTORS, ALL)
COMMAND_FACTORS = {"deep-sea-treasure": 0.1}
"""The authors multiply commands by a fixed factor, 1 in the other environments."""
SEARCH = Boundary()
FILE = "factors.csv"


@dataclass(frozen=True)
class FactorAgent:
    """One agent, and how many of its cases are feasible."""

    environment: str
    variant: str
    seed: int
    front: int
    """Points of its front."""
    reached: int
    """Points that greedy rollouts reach."""
    cases: int
    feasible: int


def measure_factors(path: Path, seeds: Sequence[int] = SEEDS) -> Iterator[FactorAgent]:
    """Train and measure the agents that are not in the file yet, and append them to it."""
    known = {(row.environment, row.variant, row.seed) for row in read_factors(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(FactorAgent)], lineterminator="\n")
        if not known:
            writer.writeheader()
        for seed in seeds:
            for environment in SMALL:
                for variant in VARIANTS:
                    if (environment, variant, seed) not in known:
                        row = measure_agent(environment, variant, seed)
                        writer.writerow(asdict(row))
                        file.flush()
                        yield row


def read_factors(path: Path) -> list[FactorAgent]:
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return [
            FactorAgent(row.pop("environment"), row.pop("variant"), **{name: int(n) for name, n in row.items()})
            for row in csv.DictReader(file)
        ]


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
    entry, config = envs.entry(environment), replace(preset(envs.entry(environment)), seed=seed)
    if "their observation" in chosen:
        entry = with_their_observation(entry)
    config = replace(config, **_settings(chosen))
    trainer = make_trainer(entry, config)
    if chosen & {"two-layer embeddings", "their scaling of commands"}:
        factor = COMMAND_FACTORS.get(environment, 1.0) if "their scaling of commands" in chosen else None
        _replace_network(trainer, config, "two-layer embeddings" in chosen, factor)
    return make_agent(f"{environment}-{seed}", entry, trainer.run())


def _settings(chosen: set[str]) -> dict[str, Any]:
    changes: dict[str, dict[str, Any]] = {
        "width 256": {"hidden": 256},
        "no polish": {"polish_rounds": 0},
        "their exploration": {"explore": "plain"},
    }
    return {name: value for factor in chosen & changes.keys() for name, value in changes[factor].items()}


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


def _replace_network(trainer: Trainer, config: TrainConfig, two_layers: bool, factor: float | None) -> None:
    env = trainer.env
    sizes = (env.observation_size, trainer.command_size, env.num_actions)
    trainer.learner = Learner(AuthorsNetwork(*sizes, config.hidden, config.seed, two_layers, factor))


def factors_table(rows: Sequence[FactorAgent]) -> Table:
    """Return the share of feasible cases of each variant, and its difference from ours with an interval over seeds."""
    lines: list[tuple[Any, ...]] = []
    environments = [name for name in SMALL if any(row.environment == name for row in rows)]
    for variant in VARIANTS:
        group = {(r.environment, r.seed): r for r in rows if r.variant == variant}
        ours = {(r.environment, r.seed): r for r in rows if r.variant == OURS}
        shares = []
        for environment in environments:
            here = [_share(row) for (name, _), row in group.items() if name == environment]
            shares.append(float(np.mean(here)) if here else None)
        difference = None if variant == OURS else _difference(group, ours, "deep-sea-treasure")
        reached = sum(row.reached == row.front for row in group.values())
        lines.append((variant, *shares, difference, f"{reached} of {len(group)}"))
    columns = (
        "variant",
        *(ENVIRONMENTS[name] for name in environments),
        "DST: difference [95 % CI]",
        "reach their front",
    )
    note = (
        "Feasible cases, in % of all cases of the stress test, mean over five seeds. The difference is in points; its "
        "interval is Student's over the five pairs of agents of one seed."
    )
    return Table("Feasible cases by one choice of the authors", columns, tuple(lines), note)


def _share(row: FactorAgent) -> float:
    return 100 * row.feasible / row.cases if row.cases else float("nan")


def _difference(group: dict[Any, FactorAgent], ours: dict[Any, FactorAgent], environment: str) -> str | None:
    """Return the mean difference over seeds with Student's 95 % interval, for example "-12.3 [-20.1,-4.5]"."""
    from scipy.stats import t

    pairs = [_share(row) - _share(ours[key]) for key, row in group.items() if key[0] == environment and key in ours]
    if len(pairs) < 2:
        return None
    half = float(t.ppf(0.975, len(pairs) - 1) * np.std(pairs, ddof=1) / np.sqrt(len(pairs)))
    mean = float(np.mean(pairs))
    return f"{mean:+.1f} [{mean - half:.1f},{mean + half:.1f}]"


class AuthorsNetwork(PCNNetwork):
    """A network whose embeddings may have two layers, and whose commands may have a fixed factor."""

    def __init__(
        self,
        state_size: int,
        command_size: int,
        num_actions: int,
        hidden: int,
        seed: int,
        two_layers: bool,
        factor: float | None,
    ) -> None:
        super().__init__(state_size, command_size, num_actions, hidden, seed)
        self.factor, self.two_layers = factor, two_layers
        if two_layers:
            second = {"state_2": (hidden, hidden), "command_2": (hidden, hidden)}
            self.sizes |= second
            self.vector = np.concatenate([self.vector, draw_weights(second, seed + 1)])
            self.layers = self.split(self.vector)

    def rescale(self, name: str, shift: np.ndarray, scale: np.ndarray) -> None:
        """Set the scaling of an input; a fixed factor replaces that of commands."""
        if name == "command" and self.factor is not None:
            shift, scale = np.zeros_like(shift), np.full_like(scale, self.factor)
        super().rescale(name, shift, scale)

    def gradient(
        self, states: np.ndarray, commands: np.ndarray, masks: np.ndarray, targets: np.ndarray, out: np.ndarray
    ) -> float:
        if not self.two_layers:
            return super().gradient(states, commands, masks, targets, out)
        vector = torch.tensor(self.vector, requires_grad=True)
        layers: Any = self.split(vector)  # type: ignore[arg-type]  # views of a tensor, too

        def embed(name: str, inputs: np.ndarray) -> torch.Tensor:
            first = torch.relu(linear(torch.from_numpy(inputs), *layers[name]))
            return torch.sigmoid(linear(first, *layers[f"{name}_2"]))

        hidden = torch.relu(linear(embed("state", states) * embed("command", commands), *layers["hidden"]))
        logits = linear(hidden, *layers["output"]).masked_fill(~torch.from_numpy(masks), -torch.inf)
        loss: Any = cross_entropy(logits, torch.from_numpy(targets))
        loss.backward()
        out[:] = vector.grad
        return float(loss.detach())

    def export(self) -> PCNPolicy:
        policy = super().export()
        assert isinstance(policy, PCNPolicy)
        if not self.two_layers:
            return policy
        second = (self.layers[name] for name in ("state_2", "command_2"))
        state, command = ((weight.copy(), bias.copy()) for weight, bias in second)
        return PCNPolicy(state=(*policy.state, state), command=(*policy.command, command), head=policy.head)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    rows_file = parser.parse_args().out / "rows" / FILE
    for agent_row in measure_factors(rows_file):
        print(agent_row, flush=True)
    print(factors_table(read_factors(rows_file)).to_markdown())

"""Train agents with fewer steps, and with parts of the training switched off; measure their fronts and explanations.

    python benchmarks/trainings.py [--out paper/results]

The rows are appended to OUT/rows/trainings.csv, and an interrupted run resumes. The 105 agents take about five minutes
of one core.
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil import envs
from paretofoil.agents import Agent
from paretofoil.agents.agent import rollouts
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.envs.episode import EXACT
from paretofoil.envs.front import known_front
from paretofoil.study import COMPARISON, make_study, read_rows, run_study
from paretofoil_paper.budgets import Budgets
from paretofoil_paper.claims.trainings import (
    ABLATED,
    ABLATED_SEEDS,
    FILE,
    OURS,
    STAGED,
    STAGED_SEEDS,
    STAGES,
    VARIANTS,
    TrainedAgent,
    ablation_table,
    read_trainings,
    stages_table,
)
from paretofoil_paper.claims.undertrained import AgentResult
from paretofoil_paper.issued import AnswerRollouts


def measure_all(path: Path) -> Iterator[TrainedAgent]:
    """Train and measure the agents that are not in the file yet, and append them to it."""
    known = {(row.environment, row.variant, row.seed) for row in read_trainings(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(TrainedAgent)], lineterminator="\n")
        if not known:
            writer.writeheader()
        ablated = ((name, variant, seed, 1.0) for name, seed, variant in product(ABLATED, ABLATED_SEEDS, VARIANTS))
        stages = ((name, OURS, seed, STAGES[seed % len(STAGES)]) for seed, name in product(STAGED_SEEDS, STAGED))
        for environment, variant, seed, share in (*ablated, *stages):
            if (environment, variant, seed) not in known:
                row = measure(environment, variant, seed, share)
                writer.writerow({key: "" if value is None else value for key, value in asdict(row).items()})
                file.flush()
                yield row


def measure(environment: str, variant: str, seed: int, share: float) -> TrainedAgent:
    entry = envs.entry(environment)
    config = replace(preset(entry), seed=seed, **VARIANTS[variant])
    if share < 1:
        config = replace(config, steps=round(share * config.steps), polish_rounds=0)
    agent = make_agent(f"{environment}-{seed}", entry, make_trainer(entry, config).run())
    points, achieved = known_front(entry), agent.achieved
    assert points is not None
    assert achieved is not None
    reached = int((np.abs(points[:, None] - achieved).max(axis=2) <= EXACT).any(axis=1).sum())
    lengths = float(np.mean([len(list(episode)) for episode in rollouts(agent, agent.front)]))
    row = TrainedAgent(environment, variant, seed, share, len(points), reached, round(lengths, 3))
    return row if seed in ABLATED_SEEDS else replace(row, **explanations(agent))


def explanations(agent: Agent) -> dict[str, Any]:
    """Return the means of the measures over the agent's cases, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.sqlite"
        run_study(make_study([agent], {"exact": Budgets().exact}, COMPARISON), path, workers=1)
        rows = read_rows(path)
    issued = list(AnswerRollouts(agent, [row for row in rows if row.found], 0).measure())
    means = {name: mean for name, (mean, _) in AgentResult(agent, rows, issued).measures().items()}
    names = {
        "feasible": "a valid command exists (exact)",
        "distance": "distance as share of the range (exact)",
        "changed": "share of entries that change",
        "ends_on_front": "episode ends on the front (issued)",
        "noise": "foil is still chosen under 1 % noise",
    }
    return {column: round(means[name], 3) for column, name in names.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    file_of_rows = parser.parse_args().out / "rows" / FILE
    for trained in measure_all(file_of_rows):
        print(trained, flush=True)
    agents = read_trainings(file_of_rows)
    print(ablation_table(agents).to_markdown(), stages_table(agents).to_markdown(), sep="\n\n")

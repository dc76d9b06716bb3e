"""Compare Boundary, which stops when another round hardly helps, with a version that uses all its queries.

    python benchmarks/boundary_stop.py [--seeds 6]

Asks the questions of the paper's comparison once for each seed of the searches. Distances are divided by those of
Exact. One question in a poor local optimum can change the mean of one seed by 0.004.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.search import Boundary, Exact, boundary
from paretofoil.study.case import enumerate_cases, make_case_questions
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import PAPER_COMPARISON

ALL_QUERIES = "boundary, all queries"
SEARCHES = {"exact": Exact(), "boundary": Boundary(), ALL_QUERIES: Boundary()}


def main(num_seeds: int) -> None:
    results: dict[str, list[np.ndarray]] = {name: [] for name in SEARCHES}
    seconds = dict.fromkeys(SEARCHES, 0.0)
    for source in Plan(Path()).as_run.values():
        agent = load_agent(source)
        cases = enumerate_cases(agent, PAPER_COMPARISON)
        questions = [question for _, question in make_case_questions(agent, cases, box=PAPER_COMPARISON.box)]
        for name, search in SEARCHES.items():
            began = time.process_time()
            with patch.object(boundary, "_AT_LEAST", 10**9 if name == ALL_QUERIES else boundary._AT_LEAST):
                rows = [run(replace(search, seed=seed), questions) for seed in range(num_seeds)]  # type: ignore[type-var]
            results[name].append(np.stack(rows))
            seconds[name] += time.process_time() - began
    joined = {name: np.concatenate(parts, axis=1).reshape(-1, 2) for name, parts in results.items()}
    proven = joined["exact"][:, 0]
    feasible = np.isfinite(proven) & (proven > 0)
    print(f"{len(proven)} questions with {num_seeds} seeds, {feasible.sum()} of them feasible")
    print(f"{'search':22} {'recovered':>9} {'mean distance':>13} {'median queries':>14} {'mean':>6} {'CPU s':>6}")
    for name, values in joined.items():
        distance, queries = values.T
        ratio = distance[feasible] / proven[feasible]
        recovered = np.isfinite(ratio)
        numbers = f"{recovered.mean():9.1%} {ratio[recovered].mean():13.4f}"
        print(f"{name:22} {numbers} {np.median(queries):14,.0f} {queries.mean():6,.0f} {seconds[name]:6.1f}")


def run(search: Search, questions: list[Question]) -> np.ndarray:
    """Return the distance, infinite if none was found, and the queries of each question (N, 2)."""
    batch = QuestionBatch(questions)
    with one_thread():
        findings = search.run(batch)
    rows = []
    for row, finding in enumerate(findings):
        change = finding.scaled_change
        distance = np.inf if change is None else float(batch.distances(change))
        rows.append((distance, sum(batch.queries(row).values())))
    return np.array(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    main(parser.parse_args().seeds)

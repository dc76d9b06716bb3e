"""Measure the authors' own agents: worked examples, stress test, and the time of proofs.

    python benchmarks/authors_agents.py [FOLDER] [QUESTIONS]

FOLDER holds the authors' checkpoints and fronts, which are not part of this repository. The benchmark prints the
paper's worked examples (`paretofoil_paper.examples` quotes them), the stress test as the authors ran it, and the CPU
time of every question of the stress test, or of QUESTIONS evenly spread ones, for `Exact` alone and for the whole of
`pf.explain`.
"""

import sys
import time
from pathlib import Path

import numpy as np

import paretofoil as pf
from paretofoil.core.question import QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.search import Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil_paper.differences import ask_as_run
from paretofoil_paper.examples import EXAMPLES, answers_of, vector

AGENTS = {"dst_R": "deep-sea-treasure", "dst_RH": "deep-sea-treasure", "branch-path_R": "branch-path"}
SETTLED = ("optimal", "infeasible")


def main(folder: Path, count: int) -> None:
    print("| example | search | counterfactual command | in the paper's box |\n|---|---|---|---:|")
    for example in EXAMPLES:
        if example.authors_agent:
            agent = take(folder, example.checkpoint)
            for search, command in answers_of(example, agent).items():
                size = agent.paper_space.distance(command, np.array(example.remaining))
                print(f"| {example.title} | {search} | {vector(command)} | {size:.4f} |", flush=True)
    print()
    as_run(folder)
    print()
    stress(folder, count)


def take(folder: Path, name: str) -> pf.Agent:
    """Import an agent of the authors, with the front that they published."""
    return pf.import_agent(folder / f"{name}.pt", AGENTS[name], front=folder / f"{name}_achievable_within_1pct.txt")


def as_run(folder: Path) -> None:
    """Run the stress test as the authors did; `paretofoil_paper.authors_data` quotes these figures."""
    print("| agent | cases | possible | found by CF-ZOO as run |\n|---|---:|---:|---:|")
    for name in ("branch-path_R", "dst_R"):
        with one_thread():
            print(f"| {name} | {' | '.join(map(str, ask_as_run(take(folder, name))))} |", flush=True)


def stress(folder: Path, count: int) -> None:
    head = ("agent", "returns as stated", "questions", "optimal", "infeasible", "open", "exact: mean CPU s", "largest")
    print(f"| {' | '.join(head)} | explain: mean CPU s | largest |\n|---|" + "---:|" * (len(head) + 1))
    for name in AGENTS:
        agent = take(folder, name)
        cases = list(enumerate_cases(agent))
        picked = [cases[i] for i in evenly(len(cases), count)]
        with one_thread():
            (statuses, proofs), whole = prove(agent, picked), explain(agent, picked)
        told = [statuses.count(status) for status in (*SETTLED, "gap")]
        times = [f"{value:.2f}" for seconds in (proofs, whole) for value in (np.mean(seconds), max(seconds))]
        cells = [name, agent.provenance["returns as stated"], len(picked), *told, *times]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def prove(agent: pf.Agent, picked: list) -> tuple[list[str], list[float]]:
    """Return what is proven about each question to 1 % of its distance, and the CPU seconds."""
    statuses: list[str] = []
    seconds = []
    for case, decision in picked:
        batch = QuestionBatch([make_case_question(agent, case, decision)])
        started = time.process_time()
        [finding] = Exact().run(batch)
        seconds.append(time.process_time() - started)
        assert finding.certificate is not None
        statuses.append(finding.certificate.status)
    return statuses, seconds


def explain(agent: pf.Agent, picked: list) -> list[float]:
    """Return the CPU seconds of each answer."""
    seconds = []
    for case, decision in picked:
        started = time.process_time()
        pf.explain(agent, decision, foil=case.foil, search=Exact())
        seconds.append(time.process_time() - started)
    return seconds


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "authors"
    if not where.is_dir():
        sys.exit(f"expected the authors' checkpoints in {where}, got no such folder")
    main(where, int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)

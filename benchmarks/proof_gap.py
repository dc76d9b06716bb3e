"""Compare the time of proofs with a gap of 1 % of the distance with that of a gap of 0.001.

python benchmarks/proof_gap.py [QUESTIONS]
"""

import sys
import time

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.question import QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.search import Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question

AGENTS = (
    *("branch-path", "collect-two", "reward-line", "deep-sea-treasure"),
    *("breakable-bottles", "resource-gathering", "fruit-tree", "minecart"),
)
ABSOLUTE, RELATIVE = Exact(share=np.inf, slack=1e-4), Exact()


def main(count: int) -> None:
    head = ("agent", "questions", "0.001: s", "within 1 %", "1 %: s", "within 1 %", "open", "time ratio")
    print(f"| {' | '.join(head)} |\n|---|" + "---:|" * (len(head) - 1))
    totals = np.zeros(6)
    for name in AGENTS:
        agent = load_agent(name)
        cases = list(enumerate_cases(agent))
        picked = [cases[i] for i in evenly(len(cases), count)]
        questions = [make_case_question(agent, case, decision) for case, decision in picked]
        old, old_seconds = measure(ABSOLUTE, questions)
        new, new_seconds = measure(RELATIVE, questions)
        row = np.array([len(questions), old_seconds, old[0], new_seconds, new[0], new[1]])
        totals += row
        tell(name, row)
    tell("all", totals)


def tell(name: str, row: np.ndarray) -> None:
    asked, old_seconds, old, new_seconds, new, still_open = row
    shares = f"{old_seconds:.1f} | {old / asked:.2%} | {new_seconds:.1f} | {new / asked:.2%} | {still_open:.0f}"
    print(f"| {name} | {asked:.0f} | {shares} | {new_seconds / old_seconds:.2f} |", flush=True)


def measure(search: Exact, questions: list) -> tuple[tuple[int, int], float]:
    """Return how many questions are decided to 1 % of their distance, how many are not, and the CPU time."""
    started = time.process_time()
    with one_thread():
        findings = search.run(QuestionBatch(questions))
    seconds = time.process_time() - started
    proofs = [finding.certificate for finding in findings if finding.certificate is not None]
    settled = sum(p.status == "infeasible" or p.upper - p.lower <= 0.01 * p.upper * (1 + 1e-6) for p in proofs)
    return (settled, sum(p.status == "gap" for p in proofs)), seconds


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)

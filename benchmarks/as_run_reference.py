"""Compare the commands of `cf-zoo:as-run` with those of a sequential reference, on the paper's questions.

    python benchmarks/as_run_reference.py [--questions 32]

The reference is `Sequential` in paper/tests/test_cf_zoo_as_run.py: one question and one query at a time, written from
the published description. The questions are spread evenly over the stress test of each environment.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from paretofoil.agents import load_agent
from paretofoil.core.question import QuestionBatch
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil_paper import Plan
from paretofoil_paper.protocols import PAPER_STRESS
from paretofoil_paper.searches import CFZooAsRun

REPOSITORY = Path(__file__).parents[1]
sys.path += [str(REPOSITORY / "paper" / "tests"), str(REPOSITORY / "tests")]


def main(per_environment: int) -> None:
    from test_cf_zoo_as_run import Sequential

    search, total, same = CFZooAsRun.preset("stress"), 0, 0
    print("| environment | questions | found | equal command and queries | largest difference | CPU s |")
    print("|---|---:|---:|---:|---:|---:|")
    for environment, source in Plan(Path()).as_run.items():
        started, agent = time.process_time(), load_agent(source)
        cases = list(enumerate_cases(agent, PAPER_STRESS, 0))
        chosen = [cases[number] for number in evenly(len(cases), per_environment)]
        batch = QuestionBatch([make_case_question(agent, *case, box="paper") for case in chosen])
        equal, found, largest = 0, 0, 0.0
        for row, finding in enumerate(search.run(batch)):
            reference = Sequential(batch.questions[row], search)
            theirs, ours = reference.search(), finding.scaled_change
            found += ours is not None
            agree = np.array_equal(ours, theirs) if ours is not None and theirs is not None else ours is theirs
            equal += agree and batch.queries(row) == reference.batch.queries(0)
            if ours is not None and theirs is not None:
                largest = max(largest, float(np.abs(ours - theirs).max()))
        total, same = total + len(chosen), same + equal
        seconds = time.process_time() - started
        print(f"| {environment} | {len(chosen)} | {found} | {equal} | {largest:.1g} | {seconds:.0f} |", flush=True)
    print(f"\n{same} of {total} questions have the same command, to the last bit, and the same queries in each phase.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=32, help="Questions per environment.")
    main(parser.parse_args().questions)

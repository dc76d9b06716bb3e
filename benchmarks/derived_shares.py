"""Count the proofs whose rounding errors are derived, and measure the CPU time that deriving them costs.

python benchmarks/derived_shares.py [--questions 40] [--authors FOLDER] [--groups shipped torch wide authors]

Each question is answered twice: once with derived and once with measured rounding errors. The last columns compare the
number of proofs and the CPU time. Torch modules are float32 networks that imitate a smooth decision, as in
benchmarks/wide_networks.py. FOLDER holds the checkpoints of the authors of the paper, which are not part of this
repository.
"""

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from wide_networks import ask, imitate, make_module

import paretofoil as pf
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.search import Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question

SECONDS = 10.0
"""Time limit per question."""
AUTHORS = {"dst_R": "deep-sea-treasure", "dst_RH": "deep-sea-treasure", "branch-path_R": "branch-path"}
Group = tuple[str, list[Question]]


@contextmanager
def only_measured() -> Iterator[None]:
    """Withhold the rounding errors of policies, so that proofs use the measured rule."""
    within = Program.within
    Program.within = lambda self, *_: replace(self, rounding=None)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Program.within = within  # type: ignore[method-assign]


def case_questions(agent: pf.Agent, count: int) -> list[Question]:
    cases = list(enumerate_cases(agent))
    return [make_case_question(agent, *cases[i]) for i in evenly(len(cases), count)]


def shipped(arguments: argparse.Namespace) -> Iterator[Group]:
    for name in pf.list_agents():
        agent = pf.load_agent(name)
        if not agent.space.simplex:
            yield f"shipped: {name}", case_questions(agent, arguments.questions)


def authors(arguments: argparse.Namespace) -> Iterator[Group]:
    for name, env in AUTHORS.items():
        front = arguments.authors / f"{name}_achievable_within_1pct.txt"
        agent = pf.import_agent(arguments.authors / f"{name}.pt", env, front=front)
        yield f"authors: {name}", case_questions(agent, arguments.questions)


def modules(arguments: argparse.Namespace, widths: list[int], dims: list[int]) -> Iterator[Group]:
    """Yield questions about modules of several forms; the number of questions is shared by the dimensions."""
    for width, form in itertools.product(widths, ("relu", "tanh", "pcn")):
        questions = []
        for seed, dim in enumerate(dims):
            torch.manual_seed(seed)
            module = make_module(form, dim, width, depth=2)
            imitate(module, dim, seed)
            questions += ask(module, dim, -(-arguments.questions // len(dims)), seed)
        yield f"torch float32: {form}, width {width}", questions


GROUPS = {
    "shipped": shipped,
    "torch": lambda arguments: modules(arguments, [32, 64], [2, 3]),
    "wide": lambda arguments: modules(arguments, [128, 256, 512], [2]),
    "authors": authors,
}


def prove(questions: list[Question]) -> tuple[Counter[str], float]:
    """Return how many proofs close, by the kind of rounding, and the CPU seconds."""
    counts: Counter[str] = Counter()
    began = time.process_time()
    for question in questions:
        [finding] = Exact().run(QuestionBatch([question]), pf.Limits(seconds=SECONDS))
        proof = finding.certificate
        closed = proof is not None and proof.status != "gap"
        counts.update([proof.rounding if proof is not None and closed else "open"])
    return counts, time.process_time() - began


def main(arguments: argparse.Namespace) -> None:
    columns = "questions", "proven", "derived", "share", "proven, all measured", "mean CPU s", "times that of measured"
    print(f"| policy | {' | '.join(columns)} |\n|---{'|---:' * len(columns)}|", flush=True)
    for group in arguments.groups:
        for label, questions in GROUPS[group](arguments):
            with one_thread():
                prove(questions[:2])  # the first call takes longer
                counts, seconds = prove(questions)
                with only_measured():
                    others, other_seconds = prove(questions)
            proven, before = (count["derived"] + count["measured"] for count in (counts, others))
            share = counts["derived"] / max(proven, 1)
            cells = len(questions), proven, counts["derived"], f"{share:.0%}", before
            times = f"{seconds / len(questions):.3f}", f"{seconds / other_seconds:.2f}"
            print(f"| {label} | {' | '.join(map(str, (*cells, *times)))} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=40, help="Number of questions per policy.")
    parser.add_argument("--groups", nargs="+", choices=list(GROUPS), default=["shipped", "torch", "wide"])
    parser.add_argument("--authors", type=Path, help="Folder of the authors' checkpoints.")
    np.seterr(all="ignore")
    main(parser.parse_args())

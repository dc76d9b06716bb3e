"""Does any certificate of Exact fail? A long run over the shipped agents; prints a Markdown table, a row per agent.

Resolves every question of the stress test with Exact on one core, samples the deployed policy below the lower bounds
and in the boxes that are called infeasible, samples inside proven regions, and for two objectives looks at every point
of a 1000 x 1000 grid. Anything but 0 in the columns of violations would refute a proof.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from paretofoil.agents import list_agents, load_agent
from paretofoil.core.answer import Answer, Status
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.proof.verify import verify_certificate
from paretofoil.proof.widen import widen
from paretofoil.search import Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil_paper.searches import Grid

QUESTIONS = 2400
"""At most so many questions per agent, evenly spread: one that wanders to the step limit has tens of thousands."""
SAMPLED, SAMPLES = 70, 200_000
"""Certificates per agent that are sampled, and commands for each: 10 agents give 140 million."""
REGIONS, INSIDE = 40, 100_000
GRID = 1000
PAPER_GRID = 20
"""Infeasible questions per agent that also get the grid of the paper's audit (`--paper-grid AGENT ...`)."""


def stress_questions(name: str) -> list[Question]:
    agent = load_agent(name)
    cases = list(enumerate_cases(agent))
    return [make_case_question(agent, *cases[i]) for i in evenly(len(cases), QUESTIONS)]


def sample_regions(questions: list[Question], answers: list[Answer]) -> tuple[int, int]:
    """(commands sampled inside proven regions, how many of them fail)."""
    rng, inside, failing = np.random.default_rng(0), 0, 0
    found = [i for i, a in enumerate(answers) if a.command is not None]
    for i in (found[j] for j in evenly(len(found), REGIONS)):
        region = widen(QuestionBatch([questions[i]]), 0, answers[i].command)  # type: ignore[arg-type]
        if region is None:
            continue
        commands = rng.uniform(region.low, region.high, (INSIDE, questions[i].space.dim))
        margins = QuestionBatch([questions[i]]).margins_at(np.zeros(INSIDE, dtype=int), commands, "sample")
        inside, failing = inside + INSIDE, failing + int((margins < questions[i].kappa).sum())
    return inside, failing


def grid_violations(question: Question, found: Answer) -> int:
    """Grid commands that make the foil win although they are closer than the lower bound (which may be infinite)."""
    x, y = (np.linspace(question.low[i], question.high[i], GRID) for i in (0, 1))
    commands = np.stack([np.tile(x, GRID), np.repeat(y, GRID)], axis=1)
    margins = QuestionBatch([question]).margins_at(np.zeros(len(commands), dtype=int), commands, "grid")
    closer = question.space.distance(commands, question.command) < found.lower_bound
    return int((closer & (margins >= question.kappa)).sum())


def audit(name: str) -> str:
    questions = stress_questions(name)
    started = time.perf_counter()
    answers = ask(questions, Exact())
    seconds = (time.perf_counter() - started) / len(questions)
    counts = {outcome: sum(a.status is outcome for a in answers) for outcome in Status}
    resolved = counts[Status.PROVEN_CLOSEST] + counts[Status.PROVEN_INFEASIBLE]
    reports = [
        verify_certificate(questions[i], answers[i].certificate, SAMPLES)  # type: ignore[arg-type]
        for i in evenly(len(questions), SAMPLED)
    ]
    inside, failing = sample_regions(questions, answers)
    grid = "-"
    if questions[0].space.dim == 2:
        grid = str(sum(grid_violations(q, a) for q, a in zip(questions, answers, strict=True)))
    cells = [name, len(questions), counts[Status.PROVEN_CLOSEST], counts[Status.PROVEN_INFEASIBLE]]
    cells += [
        f"{resolved / len(questions):.2%}",
        f"{seconds:.3f}",
        len(reports),
        f"{sum(r.samples for r in reports):,}",
    ]
    cells += [sum(r.violations for r in reports), f"{inside:,}", failing, grid]
    return "| " + " | ".join(map(str, cells)) + " |"


def audit_grid(name: str) -> str:
    """The paper's grid of 200 values per objective, on some of the questions that Exact calls infeasible."""
    questions = stress_questions(name)
    picked = [questions[i] for i in evenly(len(questions), 8 * PAPER_GRID)]
    infeasible = [q for q in picked if ask([q], Exact())[0].status is Status.PROVEN_INFEASIBLE][:PAPER_GRID]
    found = sum(ask([question], Grid())[0].found for question in infeasible)
    return f"| {name} | {len(infeasible)} | {len(infeasible) * 200 ** questions[0].space.dim:,} | {found} |"


def main(names: list[str]) -> None:
    if names[:1] == ["--paper-grid"]:
        print("| agent | infeasible questions | grid commands | found valid |\n|---|---|---|---|", flush=True)
        with threadpool_limits(1):
            for name in names[1:]:
                print(audit_grid(name), flush=True)
        return
    print("| agent | questions | optimal | infeasible | resolved | s each | certificates sampled | commands", end="")
    print(" | violations | commands in regions | violations | violations on the grid |")
    print("|---" * 12 + "|", flush=True)
    with threadpool_limits(1):
        for name in names:
            print(audit(name), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(list_agents()))

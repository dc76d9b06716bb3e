"""Audit the certificates of `Exact` on the shipped agents.

Decides every question of the stress test, samples the deployed policy below the lower bounds, in infeasible search
regions and in proven ranges, and evaluates a 1000 x 1000 grid for two objectives. Prints a Markdown table; a
violation would refute a proof.
"""

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from paretofoil.agents import list_agents, load_agent
from paretofoil.core.answer import Answer, Status
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.ask import ask
from paretofoil.proof.ranges import widen
from paretofoil.proof.verify import verify_certificate
from paretofoil.search import Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil_paper.searches import Grid

QUESTIONS = 2400
"""Maximum of questions per agent, evenly spread."""
SAMPLED, SAMPLES = 70, 200_000
"""Sampled certificates per agent, and commands per certificate."""
REGIONS, INSIDE = 40, 100_000
GRID = 1000
PAPER_GRID = 20
"""Infeasible questions per agent for the grid of the paper's audit (`--paper-grid AGENT ...`)."""


def stress_questions(name: str) -> list[Question]:
    agent = load_agent(name)
    cases = list(enumerate_cases(agent))
    return [make_case_question(agent, *cases[i]) for i in evenly(len(cases), QUESTIONS)]


def sample_regions(questions: list[Question], answers: list[Answer]) -> tuple[int, int]:
    """Return (commands sampled in proven ranges, violations)."""
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
    """Count the grid commands below the lower bound that make the foil win."""
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
        verify_certificate(questions[i], answers[i].proof, SAMPLES)  # type: ignore[arg-type]
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
    """Evaluate the paper's grid of 200 values per objective on infeasible questions."""
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

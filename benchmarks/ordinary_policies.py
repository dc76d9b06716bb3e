"""Compare what searches find for an exact policy and for an ordinary torch module.

    python benchmarks/ordinary_policies.py [QUESTIONS] [AGENT ...]

Questions about each shipped agent are asked twice: about the NumPy policy, whose outputs do not depend on the batch,
and about a torch float32 module, whose outputs do. For the questions that `Exact` proves feasible, the table has the
number that each search answers, the mean distance divided by the proven one, and the number of answers that fail in
other batches.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from cf_zoo_speed import TorchPolicy
from rich.console import Console
from rich.progress import track

from paretofoil.agents import list_agents, load_agent
from paretofoil.core.answer import Answer
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil.study.case import enumerate_cases, evenly, make_case_question

SEARCHES = (Boundary(), CFZoo())
CONSOLE = Console(stderr=True)
AT_ONCE = 64
"""Questions per batch, as in a study."""
BATCHES = (1, 2, 3, 7, 64, 1000)
"""Sizes of the batches in which answers are checked again."""


def main(count: int, names: Sequence[str]) -> None:
    head = ("agent", "search", "feasible", "found: NumPy", "torch", "mean ratio: NumPy", "torch", "bad: NumPy", "torch")
    print(f"| {' | '.join(head)} |\n|---|---|" + "---:|" * (len(head) - 2), flush=True)
    totals = {search.name: np.zeros(7) for search in SEARCHES}
    for name in names:
        feasible, proven = feasible_questions(name, count)
        if not feasible:
            continue
        module = TorchPolicy(feasible[0].policy)  # type: ignore[arg-type]
        rebuilt = [replace(question, policy=module) for question in feasible]
        for search in SEARCHES:
            judged = [judge(asked, ask_all(asked, search, name), proven) for asked in (feasible, rebuilt)]
            row = np.array([len(feasible), *(number for pair in zip(*judged, strict=True) for number in pair)])
            totals[search.name] += row
            tell(name, search.name, row)
    for label, row in totals.items():
        tell("all", label, row)


def feasible_questions(name: str, count: int) -> tuple[list[Question], list[float]]:
    """Return evenly spread feasible questions of an agent, with their proven distances."""
    agent = load_agent(name)
    cases = list(enumerate_cases(agent))
    questions = [make_case_question(agent, *cases[i]) for i in evenly(len(cases), count)]
    answers = ask_all(questions, Exact(), name)
    pairs = [(q, a.closest.distance) for q, a in zip(questions, answers, strict=True) if a.closest is not None]
    return [question for question, _ in pairs], [distance for _, distance in pairs]


def ask_all(questions: list[Question], search: Boundary | CFZoo | Exact, name: str) -> list[Answer]:
    parts = [questions[first : first + AT_ONCE] for first in range(0, len(questions), AT_ONCE)]
    kind = type(questions[0].policy).__name__
    shown = track(parts, f"{name}: {search.name} on {kind}", console=CONSOLE, disable=not CONSOLE.is_terminal)
    return [answer for part in shown for answer in ask(part, search)]


def judge(questions: list[Question], answers: list[Answer], proven: list[float]) -> tuple[int, float, int]:
    """Return (answers, sum of the ratios to the proven distances, answers that do not hold in other batches)."""
    found = [row for row, answer in enumerate(answers) if answer.found]
    ratios = [answers[row].closest.distance / proven[row] for row in found]  # type: ignore[union-attr]
    return len(found), float(sum(ratios)), bad_answers([questions[i] for i in found], [answers[i] for i in found])


def bad_answers(questions: list[Question], answers: list[Answer]) -> int:
    """Count the answers whose closest or quoted command fails in some batch or order."""
    if not answers:
        return 0
    batch, generator, bad = QuestionBatch(questions), np.random.default_rng(0), np.zeros(len(answers), dtype=bool)
    for commands in (
        np.array([a.command for a in answers]),
        np.array([a.closest.command for a in answers if a.closest]),
    ):
        for size in BATCHES:
            order = generator.permutation(max(size, len(answers))) % len(answers)
            for first in range(0, len(order), size):
                rows = order[first : first + size]
                bad[rows] |= batch.margins_at(rows, commands[rows], "again") < batch.kappa[rows]
    return int(bad.sum())


def tell(name: str, label: str, row: np.ndarray) -> None:
    feasible, *found, numpy_ratios, torch_ratios, numpy_bad, torch_bad = row
    ratios = [total / max(number, 1) for total, number in zip((numpy_ratios, torch_ratios), found, strict=True)]
    cells = [*(f"{n:.0f}" for n in (feasible, *found)), *(f"{r:.4f}" for r in ratios), f"{numpy_bad:.0f}"]
    print(f"| {name} | {label} | {' | '.join(cells)} | {torch_bad:.0f} |", flush=True)


if __name__ == "__main__":
    with one_thread():
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, sys.argv[2:] or list(list_agents()))

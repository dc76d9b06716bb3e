"""How often, and how closely, do black-box searches find what Exact proves? On agents that nothing was tuned on.

Trains an agent of a fresh seed for each environment, asks up to 60 questions of its stress test, and compares Boundary
and CF-ZOO at several budgets, and the white-box attacks with their own, with the proven distances. Prints a Markdown
table. White-CW needs the [art] extra. With `--policy torch` the agent is asked as a torch float32 module, whose last
bits depend on the batch; what needs to look inside is then left out.

python benchmarks/search_quality.py [--policy torch] [environments ...]
"""

from argparse import ArgumentParser
from dataclasses import replace

import numpy as np
from cf_zoo_speed import TorchPolicy

from paretofoil import envs
from paretofoil.agents.training import make_agent, make_trainer, preset
from paretofoil.core.answer import Answer
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.explanation.ask import ask
from paretofoil.reproduce.paper import ENVIRONMENTS
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront, ProjectedCW, WhiteCW
from paretofoil.study.case import enumerate_cases, evenly, pose_case

SEED, QUESTIONS = 11, 60
BUDGETS = (1_000, 9_001, 21_000, 100_000)


def fresh_questions(name: str) -> list[Question]:
    entry = envs.entry(name)
    agent = make_agent(name, entry, make_trainer(entry, replace(preset(entry), seed=SEED)).run())
    cases = list(enumerate_cases(agent))
    return [pose_case(agent, *cases[i]) for i in evenly(len(cases), QUESTIONS)]


def judge(answers: list[Answer], proven: list[Answer]) -> tuple[int, int, list[float]]:
    """(found, provably feasible, distance over proven distance of each that was found)."""
    sizes = [(a.closest_distance, p.closest_distance) for a, p in zip(answers, proven, strict=True)]
    pairs = [(found, least) for found, least in sizes if least is not None]
    ratios = [found / least for found, least in pairs if found is not None]
    return len(ratios), len(pairs), ratios


def on_torch(questions: list[Question]) -> list[Question]:
    """The same questions of the module that was trained."""
    module = TorchPolicy(questions[0].policy)  # type: ignore[arg-type]
    return [replace(question, policy=module) for question in questions]


def main(names: list[str], policy: str) -> None:
    searches: list[tuple[str, Search]] = [("nearest-front", NearestFront())]
    searches += [(f"boundary, {budget:,}", Boundary(max_queries=budget)) for budget in BUDGETS]
    searches += [(f"cf-zoo, {budget:,}", CFZoo(directions=budget, max_queries=budget)) for budget in BUDGETS]
    searches += [
        ("white-cw", WhiteCW()),
        ("white-cw-padded", WhiteCW.preset("padded")),
        ("projected-cw", ProjectedCW()),
    ]
    if policy == "torch":
        searches = [(label, search) for label, search in searches if search.access == "queries"]
    totals: dict[str, list[tuple[int, int, list[float]]]] = {label: [] for label, _ in searches}
    print("| environment | search, budget | found / feasible | mean ratio | largest | queries | s each |")
    print("|---" * 7 + "|", flush=True)
    with one_thread():
        for name in names:
            questions = fresh_questions(name)
            proven = ask(questions, Exact())
            asked = on_torch(questions) if policy == "torch" else questions
            for label, search in searches:
                answers = ask(asked, search)
                totals[label].append(judge(answers, proven))
                spent = np.mean([a.total_queries for a in answers])
                print(row(name, label, [totals[label][-1]], f"{spent:,.0f}", f"{answers[0].seconds:.3f}"), flush=True)
    for label, judged in totals.items():
        print(row("all", label, judged, "", ""))


def row(name: str, label: str, judged: list[tuple[int, int, list[float]]], spent: str, seconds: str) -> str:
    found, feasible = sum(j[0] for j in judged), sum(j[1] for j in judged)
    ratios = [ratio for j in judged for ratio in j[2]]
    spread = [f"{np.mean(ratios):.4f}", f"{max(ratios):.2f}"] if ratios else ["", ""]
    cells = [name, label, f"{found}/{feasible}", *spread, spent, seconds]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("environments", nargs="*", default=list(ENVIRONMENTS))
    parser.add_argument("--policy", choices=("numpy", "torch"), default="numpy")
    options = parser.parse_args()
    main(options.environments, options.policy)

"""Compare the speed of CF-ZOO with one query at a time and in batches, with the budget of the stress test.

The sequential version runs on the torch module and on the deployed NumPy policy. Prints a Markdown table.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import torch
from torch.nn.functional import linear

from paretofoil.agents import load_agent
from paretofoil.core.policy import QueryAtStates
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search import CFZoo
from paretofoil.study.case import enumerate_cases, make_case_question
from paretofoil_paper.searches import ReferenceCFZoo

AGENT, QUESTIONS = "deep-sea-treasure", 64


class TorchPolicy:
    """The policy as torch computes it."""

    def __init__(self, policy: PCNPolicy) -> None:
        layers = (*policy.state, *policy.command, *policy.head)
        self.layers = [(torch.from_numpy(weight), torch.from_numpy(bias)) for weight, bias in layers]

    @torch.no_grad()
    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        state, command, hidden, output = self.layers
        embedded = torch.sigmoid(linear(torch.from_numpy(states), *state))
        requested = torch.sigmoid(linear(torch.from_numpy(np.asarray(commands, dtype=np.float32)), *command))
        outputs = linear(torch.relu(linear(embedded * requested, *hidden)), *output)
        return torch.log_softmax(outputs, dim=1).numpy()


@dataclass(eq=False)
class TimedPolicy:
    """A policy that adds up the time of its forward passes."""

    policy: PCNPolicy
    seconds: float = field(default=0.0)

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return self.policy.log_probs(states, commands)

    def at(self, states: np.ndarray) -> QueryAtStates:
        query = self.policy.at(states)

        def timed(rows: np.ndarray | slice, commands: np.ndarray) -> np.ndarray:
            started = time.perf_counter()
            scores = query(rows, commands)
            self.seconds += time.perf_counter() - started
            return scores

        return timed


def questions() -> list[Question]:
    agent = load_agent(AGENT)
    return [make_case_question(agent, case, decision) for case, decision in islice(enumerate_cases(agent), QUESTIONS)]


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    torch.set_num_threads(1)
    asked, search = questions(), CFZoo.preset("stress")
    policy: PCNPolicy = asked[0].policy  # type: ignore[assignment]
    torch_policy = TorchPolicy(policy)
    sample = asked[:: max(1, len(asked) // 3)][:3]  # the reference is slow: three questions, one at a time
    rows: list[tuple[str, float, float, float | None]] = []
    for name, asked_policy in (("sequential, torch module", torch_policy), ("sequential, NumPy policy", policy)):
        seconds, queries = 0.0, 0
        for question in sample:
            batch = QuestionBatch([replace(question, policy=asked_policy)])
            seconds += timed(lambda batch=batch: ReferenceCFZoo(search).run(batch))  # type: ignore[misc]
            queries += sum(batch.queries(0).values())
        rows.append((name, seconds / len(sample), queries / seconds, None))
    for name, groups in (
        ("batched, one question", [[q] for q in sample]),
        (f"batched, {len(asked)} questions", [asked]),
    ):
        timer, seconds, queries = TimedPolicy(policy), 0.0, 0
        for group in groups:
            batch = QuestionBatch([replace(question, policy=timer) for question in group])
            seconds += timed(lambda batch=batch: search.run(batch))  # type: ignore[misc]
            queries += sum(sum(batch.queries(row).values()) for row in range(batch.num_questions))
        count = sum(map(len, groups))
        rows.append((name, seconds / count, queries / seconds, timer.seconds / seconds))
    slowest, plain = rows[0][1], rows[1][1]
    print(f"CF-ZOO, stress preset, {AGENT}, {len(asked)} questions\n")
    print("| implementation | s per question | queries/s | forward share | faster than torch | faster than NumPy |")
    print("|---|---|---|---|---|---|")
    for name, seconds, rate, share in rows:
        shown = "-" if share is None else f"{share:.0%}"
        print(f"| {name} | {seconds:.4f} | {rate:,.0f} | {shown} | {slowest / seconds:.1f}x | {plain / seconds:.1f}x |")


if __name__ == "__main__":
    main()

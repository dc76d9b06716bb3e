"""What a policy chooses under random commands of a region, and how much that says."""

import numpy as np
from scipy.stats import beta

from paretofoil.core.errors import InvalidInput
from paretofoil.core.influence import CONFIDENCE
from paretofoil.core.question import CHUNK, Question, QuestionBatch

_ROUNDS = 200
"""How often preferences are drawn until enough of them lie within the region's ranges."""


def actions_at(batch: QuestionBatch, commands: np.ndarray, phase: str) -> np.ndarray:
    """(N,): what is chosen under commands (N, d) at the first question's state: the first of equals, as it acts."""
    valid = np.array(batch.questions[0].valid_actions)
    parts = [commands[start : start + CHUNK] for start in range(0, len(commands), CHUNK)]
    best = [batch.scores_at(np.zeros(len(p), dtype=int), p, phase)[:, valid].argmax(axis=1) for p in parts]
    return valid[np.concatenate(best)] if best else np.zeros(0, dtype=int)


def random_commands(question: Question, count: int, generator: np.random.Generator) -> np.ndarray:
    """(N, d): evenly distributed over the region; of narrow ranges of preferences perhaps fewer than asked for."""
    low, high = question.low, question.high
    if not question.space.simplex:
        return low + generator.random((count, low.size)) * (high - low)
    free = 1.0 - low.sum()
    drawn = np.zeros((0, low.size))
    for _ in range(_ROUNDS):
        weights = low + free * generator.dirichlet(np.ones(low.size), size=count)
        drawn = np.concatenate([drawn, weights[(weights <= high).all(axis=1)]])[:count]
        if len(drawn) == count or free <= 0:
            break
    if not len(drawn):
        raise InvalidInput.expected("ranges of preferences that are not too narrow to be sampled", f"{low} to {high}")
    return drawn


def likely_share(hits: int, total: int) -> tuple[float, float]:
    """The exact confidence interval of a share of which so many of all samples were hits (Clopper and Pearson 1934)."""
    tail = (1.0 - CONFIDENCE) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, total - hits + 1))
    high = 1.0 if hits == total else float(beta.ppf(1.0 - tail, hits + 1, total - hits))
    return low, high

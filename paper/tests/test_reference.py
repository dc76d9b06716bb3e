"""CF-ZOO in batches gives what its sequential reference gives."""

import numpy as np
import pytest
from policies import random_pcn, random_question

from paretofoil.core.question import QuestionBatch
from paretofoil.search import CFZoo
from paretofoil_paper.searches import LocalZoo, ReferenceCFZoo

SMALL = CFZoo(directions=150, max_queries=301)


def equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 6])
def test_the_batched_search_gives_what_the_sequential_reference_gives(objectives: int) -> None:
    policy = random_pcn(objectives, objectives=objectives)
    questions = [random_question(policy, seed) for seed in range(12)]
    fast = SMALL.run(QuestionBatch(questions))
    slow = ReferenceCFZoo(SMALL).run(QuestionBatch(questions))
    assert any(f.scaled_change is not None for f in fast)
    assert all(equal(f.scaled_change, s.scaled_change) for f, s in zip(fast, slow, strict=True))


def test_rejecting_and_mirroring_both_match_their_reference() -> None:
    policy = random_pcn(3)
    questions = [random_question(policy, seed) for seed in range(6)]
    config = CFZoo(directions=60, max_queries=61, sampling="reject")
    fast, slow = config.run(QuestionBatch(questions)), ReferenceCFZoo(config).run(QuestionBatch(questions))
    assert all(equal(f.scaled_change, s.scaled_change) for f, s in zip(fast, slow, strict=True))


def test_dropping_hopeless_rays_saves_queries_and_changes_nothing() -> None:
    policy = random_pcn(5)
    questions = [random_question(policy, seed) for seed in range(10)]
    fast, slow = QuestionBatch(questions), QuestionBatch(questions)
    SMALL.run(fast)
    ReferenceCFZoo(SMALL).run(slow)
    spent = [(fast.queries(i)["bisection"], slow.queries(i)["bisection"]) for i in range(10)]
    assert all(a <= b for a, b in spent)
    assert sum(a for a, _ in spent) < sum(b for _, b in spent)


def test_without_any_seeding_zoo_starts_at_the_original_command() -> None:
    batch = QuestionBatch([random_question(random_pcn(0), 1)])
    LocalZoo(max_queries=301).run(batch)
    assert batch.queries(0) == {"zoo": 301}

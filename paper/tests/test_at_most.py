"""AtMost runs a search with a limit of queries."""

import numpy as np
import pytest
from policies import random_pcn, random_question

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Search
from paretofoil.search import Boundary, CFZoo, Exact
from paretofoil_paper.searches import AtMost


@pytest.mark.parametrize("search", [Boundary(), CFZoo(), Exact()], ids=lambda search: search.name)
def test_it_gives_what_the_search_gives_under_the_limit(search: Search) -> None:
    policy = random_pcn(3, objectives=3)
    questions = [random_question(policy, seed) for seed in range(4)]
    limited = search.run(QuestionBatch(questions), Limits(queries=90))
    for a, b in zip(AtMost(search, 90).run(QuestionBatch(questions)), limited, strict=True):
        assert a.stop is b.stop
        assert (a.scaled_change is None) == (b.scaled_change is None)
        assert a.scaled_change is None or np.array_equal(a.scaled_change, b.scaled_change)
    with pytest.raises(InvalidInput, match="at least 1 query"):
        AtMost(search, 0)

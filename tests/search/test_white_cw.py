"""White-box searches: ART's attack in two forms, and the projected descent."""

import importlib.util
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.search import CFZoo, Exact, Grid, ProjectedCW, WhiteCW

needs_art = pytest.mark.skipif(importlib.util.find_spec("art") is None, reason="needs the art extra")
QUICK = {"binary_search_steps": 5, "max_iter": 5}
ART = [WhiteCW(**QUICK), WhiteCW(padded=True, **QUICK)]
WHITE = [pytest.param(search, marks=needs_art, id=search.name) for search in ART] + [
    pytest.param(ProjectedCW(), id="projected-cw"),
    pytest.param(Grid(values=30, first=False), id="grid"),
]
each = pytest.mark.parametrize("search", WHITE)
each_that_looks_inside = pytest.mark.parametrize("search", WHITE[:-1])  # the grid asks the policy as a black box


def questions(objectives: int = 2, count: int = 4) -> list[Question]:
    policy = random_pcn(objectives, objectives=objectives)
    return [random_question(policy, seed) for seed in range(count)]


@each
def test_what_it_claims_is_true_and_inside_the_region(search: Search) -> None:
    found = [a for a in ask(questions(3), search) if a.found]
    assert found
    for a in found:
        assert a.margin >= a.kappa
        assert (a.command >= 0).all()
        assert (a.command <= 1).all()


@each
def test_an_answer_does_not_depend_on_its_neighbours(search: Search) -> None:
    asked = questions()
    together = ask(asked, search)
    for question, one in zip(asked[::-1], together[::-1], strict=True):
        [alone] = ask([question], search)
        assert replace(alone, seconds=0.0).to_json() == replace(one, seconds=0.0).to_json()


@each
def test_nothing_is_closer_than_what_is_proven(search: Search) -> None:
    asked = questions(2, 5)
    for best, other in zip(ask(asked, Exact()), ask(asked, search), strict=True):
        if other.found:
            assert best.found
            assert other.distance >= best.lower_bound - 1e-6


@each
def test_objectives_that_cannot_move_do_not(search: Search) -> None:
    locked = [
        replace(q, low=np.r_[q.low[:1], q.command[1:]], high=np.r_[q.high[:1], q.command[1:]]) for q in questions()
    ]
    for a in ask(locked, search):
        assert not a.found or a.change[1] == 0
    stuck = [replace(q, low=q.command, high=q.command) for q in questions(count=2)]
    assert not any(a.found for a in ask(stuck, search))


@each
def test_invalid_actions_take_no_part(search: Search) -> None:
    policy = random_pcn(5, actions=4)
    asked = []
    for seed in range(6):
        q = random_question(policy, seed)
        scores = policy.log_probs(q.state[None], q.command[None])[0]
        greedy = int(scores.argmax())
        third = next(a for a in range(4) if a not in (greedy, q.foil))
        rivals = tuple(sorted({q.foil, third}))
        if scores[third] > scores[q.foil]:
            asked.append(replace(q, valid_actions=rivals))
    assert asked
    for a in ask(asked, search):
        assert not a.found or a.counterfactual_probabilities[list(a.valid_actions)].argmax() == a.valid_actions.index(
            a.foil
        )


@needs_art
def test_padding_frees_commands_on_the_edge() -> None:
    """On the edge of the box tanh is flat: the faithful form hardly moves, the padded one does."""
    policy = random_pcn(11, objectives=2, actions=3)
    space = CommandSpace(np.zeros(2), np.ones(2))
    asked = []
    for seed in range(40):
        corner = np.random.default_rng(seed).integers(2, size=2).astype(float)
        q = random_question(policy, seed, space=space)
        greedy = int(policy.log_probs(q.state[None], corner[None])[0].argmax())
        if q.foil != greedy:
            asked.append(replace(q, command=corner, low=None, high=None))
    feasible = [q for q, best in zip(asked, ask(asked, Exact()), strict=True) if best.found][:5]
    plain, padded = (sum(a.found for a in ask(feasible, WhiteCW(padded=form, **QUICK))) for form in (False, True))
    assert padded > plain


def test_the_projected_descent_is_close_to_the_boundary_of_a_simple_network() -> None:
    asked = questions(2, 8)
    best = ask(asked, Exact())
    for proven, found in zip(best, ask(asked, ProjectedCW()), strict=True):
        if found.found and proven.distance > 0.05:
            assert found.distance <= 2 * proven.distance


@each_that_looks_inside
def test_a_black_box_is_refused_with_a_sentence(search: Search) -> None:
    policy = LinearPolicy(np.eye(2), np.zeros(2))
    question = Question(policy, np.zeros(1), [1.0, 0.0], 1, (0, 1), CommandSpace([0, 0], [1, 1]))
    with pytest.raises(InvalidInput, match="fold"):
        ask([question], search)


def test_the_grid_finds_what_cf_zoo_finds_and_stops_at_the_first() -> None:
    asked = questions(2, 8)
    for coarse, zoo in zip(ask(asked, Grid(values=200)), ask(asked, CFZoo(300, 301)), strict=True):
        assert coarse.found or not zoo.found
        assert coarse.queries["grid"] < 200**2 if coarse.found else coarse.queries["grid"] == 200**2


def test_a_grid_beyond_counting_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a grid of at most"):
        ask(questions(5, 1), Grid())


def test_without_art_there_is_an_error_that_says_what_to_install() -> None:
    """In a process in which ART cannot be imported."""
    script = (
        "import sys; sys.modules['art'] = None\n"
        "from policies import random_pcn, random_question\n"
        "from paretofoil.explanation.ask import ask; from paretofoil.search import WhiteCW\n"
        "ask([random_question(random_pcn(0), 0)], WhiteCW())"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "pip install 'paretofoil[art]'" in done.stderr

"""White-box searches: ART's attack in its forms, and the projected descent."""

import importlib.util
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from answers import changed
from policies import LinearPolicy, random_pcn, random_question, with_output_bias

from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.explanation.ask import ask
from paretofoil.search import CFZoo, Exact
from paretofoil_paper.searches import Grid, ProjectedCW, WhiteCW
from paretofoil_paper.searches.frame import Inputs, frame_of
from paretofoil_paper.searches.white_box_budget import WhiteBoxBudget

needs_art = pytest.mark.skipif(importlib.util.find_spec("art") is None, reason="needs the art extra")
QUICK = {"binary_search_steps": 5, "max_iter": 5}
ART = [WhiteCW(**QUICK), *(replace(WhiteCW.preset(name), **QUICK) for name in ("padded", "as-run", "as-run-0"))]
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
        assert a.quoted.margin >= a.question.kappa
        assert (a.command >= 0).all()
        assert (a.command <= 1).all()


@each
def test_an_answer_does_not_depend_on_its_neighbours(search: Search) -> None:
    asked = questions()
    together = ask(asked, search)
    for question, one in zip(asked[::-1], together[::-1], strict=True):
        [alone] = ask([question], search)
        assert changed(alone, seconds=0.0).to_json() == changed(one, seconds=0.0).to_json()


@each
def test_nothing_is_closer_than_what_is_proven(search: Search) -> None:
    asked = questions(2, 5)
    for best, other in zip(ask(asked, Exact()), ask(asked, search), strict=True):
        if other.found:
            assert best.found
            assert other.quoted.distance >= best.lower_bound - 1e-6


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
        assert not a.found or a.quoted.probabilities[
            list(a.question.valid_actions)
        ].argmax() == a.question.valid_actions.index(a.question.foil)


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
    plain, padded = (sum(a.found for a in ask(feasible, WhiteCW(form, **QUICK))) for form in ("unit", "padded"))
    assert padded > plain


def test_as_run_are_the_settings_of_the_authors_code() -> None:
    run, other = WhiteCW.preset("as-run", seed=3), WhiteCW.preset("as-run-0")
    assert (run.learning_rate, run.binary_search_steps, run.max_iter, run.initial_const) == (0.001, 3, 250, 1.0)
    assert (run.max_halving, run.max_doubling, run.inputs, run.confidence, run.seed) == (5, 5, "raw", 0.05, 3)
    assert other == replace(run, confidence=0.0, seed=0)
    assert [s.name for s in (run, other, WhiteCW())] == ["white-cw:as-run", "white-cw:as-run-0", "white-cw"]
    with pytest.raises(InvalidInput, match="a preset among padded, as-run, as-run-0"):
        WhiteCW.preset("as-written")
    with pytest.raises(InvalidInput, match="inputs among unit, padded, raw"):
        WhiteCW("scaled")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a confidence of at least 0"):
        WhiteCW(confidence=-0.1)


def test_as_run_art_moves_the_change_in_the_commands_units_in_a_box_relaxed_by_a_hundredth() -> None:
    policy = random_pcn(2)
    question = random_question(policy, 0, space=CommandSpace([0, -200], [124, -1]))
    question = replace(question, command=[8.0, -2.0], low=None, high=None)
    frame = frame_of(question, "raw")
    assert np.array_equal(frame.to_input(question.command), [0, 0])
    assert np.allclose(frame.clip_values, [[-8.01, -198.01], [116.01, 1.01]])
    assert np.allclose(frame.to_answer(np.array([1.0, -3.0])), [9, -5])
    assert np.array_equal(frame.to_answer(np.array([116.01, 1.01])), [124, -1])  # clipped afterwards


@needs_art
@pytest.mark.parametrize("inputs", ["unit", "padded", "raw"])
def test_the_gradients_that_art_is_given_are_those_of_the_logits(inputs: Inputs) -> None:
    from paretofoil_paper.searches.art_classifier import ArtClassifier

    question = questions(3)[1]
    batch, frame = QuestionBatch([question]), frame_of(question, inputs)
    classifier = ArtClassifier(question, question.policy.fold(question.state), frame, 0.0, WhiteBoxBudget(batch))  # type: ignore[attr-defined]
    low, high = (frame.to_input(side) for side in (question.low, question.high))
    x = np.random.default_rng(0).uniform(low, high, (20, frame.size))
    x[0, 0] = high[0] + 0.05 * (inputs != "unit")  # outside the region, where a clamped network is flat
    labels = np.arange(20) % classifier.nb_classes
    given = classifier.class_gradient(x, label=labels)[:, 0]
    logits = question.policy.log_probs(np.repeat(question.state[None], 20, axis=0), frame.to_commands(x))
    ours = classifier.predict(x)
    assert np.allclose(ours - ours[:, :1], logits - logits[:, :1], atol=1e-4)
    for i, step in enumerate(1e-6 * np.eye(frame.size)):
        slope = (classifier.predict(x + step) - classifier.predict(x - step))[np.arange(20), labels] / 2e-6
        inner = slice(1, None) if i == 0 and inputs == "unit" else slice(None)  # its first point lies on the kink
        assert np.allclose(given[inner, i], slope[inner], rtol=1e-3, atol=1e-5)


@needs_art
def test_an_invalid_action_is_to_the_attack_what_a_logit_of_minus_a_billion_is() -> None:
    policy = random_pcn(5, actions=4)
    masked, search = with_output_bias(policy, 3, -1e9), replace(WhiteCW.preset("as-run"), max_iter=20)
    asked = [q for q in (random_question(policy, seed) for seed in range(10)) if q.foil != 3]
    sliced = ask([replace(q, valid_actions=(0, 1, 2)) for q in asked], search)
    for a, b in zip(sliced, ask([replace(q, policy=masked) for q in asked], search), strict=True):
        assert a.found == b.found
        assert not a.found or np.array_equal(a.closest.command, b.closest.command)
    assert any(a.found for a in sliced)


@pytest.mark.long
@needs_art
def test_with_confidence_0_the_attack_ends_with_a_foil_that_is_greedy_and_no_more() -> None:
    asked = [replace(q, kappa=0.0) for q in questions(2, 6)]
    by = {name: ask(asked, replace(WhiteCW.preset(name), max_iter=100)) for name in ("as-run", "as-run-0")}
    both = [(a, b) for a, b in zip(by["as-run"], by["as-run-0"], strict=True) if a.found and b.found]
    assert both
    assert min(a.quoted.margin for a, _ in both) > 0.04
    assert min(b.quoted.margin for _, b in both) < 0.04


def test_the_projected_descent_is_close_to_the_boundary_of_a_simple_network() -> None:
    asked = questions(2, 8)
    best = ask(asked, Exact())
    for proven, found in zip(best, ask(asked, ProjectedCW()), strict=True):
        if found.found and proven.quoted.distance > 0.05:
            assert found.quoted.distance <= 2 * proven.quoted.distance


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
        assert coarse.search.queries["grid"] < 200**2 if coarse.found else coarse.search.queries["grid"] == 200**2


def test_a_grid_beyond_counting_is_refused() -> None:
    with pytest.raises(InvalidInput, match="a grid of at most"):
        ask(questions(5, 1), Grid())


def test_without_art_there_is_an_error_that_says_what_to_install() -> None:
    """In a process in which ART cannot be imported."""
    script = (
        "import sys; sys.modules['art'] = None\n"
        "from policies import random_pcn, random_question\n"
        "from paretofoil.explanation.ask import ask; from paretofoil_paper.searches import WhiteCW\n"
        "ask([random_question(random_pcn(0), 0)], WhiteCW())"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "pip install 'paretofoil-paper[art]'" in done.stderr

"""Every number of a paragraph about preferences, checked on the policy by one who reads nothing else."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from answers import changed
from arguments import arguments

import paretofoil as pf
from paretofoil.core.answer import ProvenRange

NAMES, ACTIONS = ["fuel", "ore", "time"], ["up", "down", "left", "right"]
SPACE = pf.CommandSpace.preferences(NAMES)
NUMBER = r"(-?[\d.]+(?:e-?\d+)?)"
OPTIONS: list[dict[str, Any]] = [{}, {"keep": ["ore"]}, {"ranges": {"ore": (0.1, 0.45)}}, {"sparse": True}]


def answers(options: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray, pf.Answer]]:
    """Tables (actions, vectors, objectives), original weights and answers."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table, weights = 10.0 * rng.normal(size=(4, 3, 3)), np.array([0.3, 0.3, 0.4])
        policy = pf.from_q_table(lambda state, table=table: table)  # type: ignore[misc]
        chosen = int(worth(table, weights[None])[0].argmax())
        decision = pf.Decision(np.zeros(1), weights, (0, 1, 2, 3), chosen, np.zeros(3))
        answers_here = pf.explain_decision(policy, decision, space=SPACE, actions=ACTIONS, **arguments(**options))
        found += [(table, weights, answer) for answer in answers_here]
    return found


def worth(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.einsum("nd,aid->nai", weights, table).max(axis=2)


def lead(table: np.ndarray, weights: np.ndarray, foil: int) -> np.ndarray:
    values = worth(table, weights)
    return values[:, foil] - np.delete(values, foil, axis=1).max(axis=1)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_number_of_a_paragraph_about_preferences_is_true(options: dict[str, Any]) -> None:
    kinds, ranges = set(), 0
    for table, before, answer in answers(options):
        text, foil = answer.paragraph(), answer.question.foil
        weights = re.findall(NUMBER + r" for (\w+)", text.split(", the agent")[0])
        assert [(float(weight), name) for weight, name in weights] == list(zip(before, NAMES, strict=True))
        values = dict(
            zip(("chosen", "foil"), re.search(rf"\(value {NUMBER}, \w+ {NUMBER}\)", text).groups(), strict=True)
        )  # type: ignore[union-attr]
        for action, number in ((answer.question.chosen, values["chosen"]), (foil, values["foil"])):
            assert float(number) == pytest.approx(worth(table, before[None])[0, action], rel=5e-3)
        margin = float(re.search(rf"for a margin of {NUMBER}", text).group(1))  # type: ignore[union-attr]
        region = np.random.default_rng(0).dirichlet(np.ones(3), size=20_000)
        region = region[inside(region, before, options)]
        kinds.add(answer.found)
        if not answer.found:
            restricted = any(name in options for name in ("keep", "ranges"))
            assert ("No preferences in the search region make" in text) == restricted
            assert ("No preferences make" in text) == ("All weights that sum to 1 were searched" in text) != restricted
            assert ("or other weights" in text) == restricted
            assert (lead(table, region, foil) < margin).all()
            continue
        after = before.copy()
        for name, new, old in re.findall(rf"(\w+) \({NUMBER} instead of {NUMBER}\)", text):
            i = NAMES.index(name)
            after[i] = float(new)
            more = text.index("more about") if "more about" in text else -1
            less = text.index("less about") if "less about" in text else len(text)
            assert (after[i] > before[i]) == (
                more < text.index(f"{name} ({new}") and text.index(f"{name} ({new}") < less
            )
            assert abs(float(old) - before[i]) <= 0.05 * abs(after[i] - before[i])
        assert after.sum() == pytest.approx(1.0, abs=1e-9)
        assert inside(after[None], before, options)[0]
        assert lead(table, after[None], foil)[0] >= margin
        assert ("a little" in text) == bool(moved_little(before, after))
        weights = told_weights(text, NAMES, before)  # type: ignore[assignment]
        ranges += len(weights) > 0
        assert (lead(table, weights, foil) >= margin).all()
        smaller = float(re.search(rf"more than {NUMBER} % smaller works", text).group(1))  # type: ignore[union-attr]
        bound = np.linalg.norm(after - before) * (1 - smaller / 100)
        if not options.get("sparse"):
            closer = region[np.linalg.norm(region - before, axis=1) < bound]
            assert (lead(table, closer, foil) < margin).all()
    assert kinds == {True, False}
    assert ranges > 0


def told_weights(text: str, names: list[str], before: np.ndarray) -> np.ndarray:
    """(N, d): weights that the sentence about the proven range allows, by its words alone; none if there is none."""
    found = re.search(r"All weights of (.+) that sum to 1(?:, with (.+),)? also make the agent choose", text)
    if found is None:
        return np.zeros((0, len(names)))
    low, high = np.full(len(names), np.nan), np.full(len(names), np.nan)
    for least, most, name in re.findall(rf"{NUMBER} to {NUMBER} for (\w+)", found[1]):
        low[names.index(name)], high[names.index(name)] = float(least), float(most)
    for words in re.split(", | and ", found[2] or "") if found[2] else ():
        name, weight = told_weight(words, names, before)
        low[names.index(name)] = high[names.index(name)] = weight
    assert np.isfinite(low).all(), text  # something is said of every weight
    space = pf.CommandSpace.preferences(names)
    weights: np.ndarray = space.project(np.random.default_rng(0).uniform(low, high, (2000, len(names))), low, high)
    return weights


def told_weight(words: str, names: list[str], before: np.ndarray) -> tuple[str, float]:
    """Read whose weight it is, and which: "fuel unchanged", "fuel at 0.1"."""
    if found := re.fullmatch(rf"(\w+) at {NUMBER}", words):
        return found[1], float(found[2])
    found = re.fullmatch(r"(\w+) unchanged", words)
    assert found, words
    return found[1], before[names.index(found[1])]


def test_weights_read_off_the_proven_range_of_a_network_make_it_choose_the_foil() -> None:
    torch.manual_seed(4)
    network = torch.nn.Sequential(torch.nn.Linear(5, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3))
    network[0].weight.data *= 6
    names, state, before = ["treasure", "time", "fuel"], np.array([0.5, 0.2]), np.array([0.2, 0.5, 0.3])
    space = pf.CommandSpace.preferences(names)
    policy = pf.from_torch(network, state=state, space=space, inputs="concatenated")
    text = pf.explain(policy, state=state, command=before, foil=1).paragraph()
    weights = told_weights(text, names, before)
    assert ", with treasure at 0, also make the agent choose action 1 (proven)" in text
    assert len(weights)
    assert (policy.log_probs(np.tile(state, (len(weights), 1)), weights).argmax(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [(0.2, 0.0, "fuel at 0"), (0.2, 0.1, "fuel at 0.1"), (1 / 7, 1 / 7, "fuel unchanged")],
)
def test_a_weight_without_a_range_reads_word_for_word(old: float, new: float, words: str) -> None:
    found = next(answer for _, _, answer in answers({}) if answer.found)
    ore = (1.0 - new) / 2
    command, original = np.array([new, ore, ore]), np.array([old, 0.5, 0.5 - old])
    proven = ProvenRange(np.array([new, 0.1, 0.1]), np.array([new, 0.9, 0.9]))
    text = changed(found, original=original, command=command, proven_range=proven).paragraph()
    wide, foil = "0.1 to 0.9 for ore and 0.1 to 0.9 for time", found.question.actions[found.question.foil]
    assert f" All weights of {wide} that sum to 1, with {words}, also make the agent choose {foil} (proven). " in text


def inside(weights: np.ndarray, before: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """Which weights (N, 3) the user allows; of those that are sampled, the ones that nearly keep ore count as kept."""
    if "keep" in options:
        return np.abs(weights[:, 1] - before[1]) < 1e-3 * (len(weights) > 1) + 1e-12
    low, high = options.get("ranges", {}).get("ore", (0.0, 1.0))
    return (weights[:, 1] >= low) & (weights[:, 1] <= high)


def moved_little(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether all that gain, or all that lose, do so by no more than a tenth."""
    change = after - before
    return any(part.size and np.abs(part).max() <= 0.1 + 1e-12 for part in (change[change > 0], change[change < 0]))


def test_an_answer_about_preferences_is_read_back_as_it_was_written() -> None:
    for _, _, answer in answers({}):
        again = pf.Answer.from_json(answer.to_json())
        assert again.paragraph() == answer.paragraph()
        assert "may not be able to achieve" not in answer.paragraph()


def test_an_answer_without_optional_fields_is_read() -> None:
    _, _, answer = answers({})[0]
    values = answer.to_dict()
    for name in ("preferences", "values"):
        del values["question"][name]
    assert not pf.Answer.from_dict(values).question.preferences


def test_the_quoted_preferences_are_short_and_sum_to_1_even_if_one_that_stays_is_long() -> None:
    table = np.array([[[3.0, 0.0, 1.0]], [[0.0, 1.0, 1.0]]])
    weights = np.array([0.6, 0.4 - 1 / 7, 1 / 7])
    answer = pf.explain(
        pf.from_q_table(lambda state: table),
        state=[0.0],
        command=weights,
        foil=1,
        space=SPACE,
        options=pf.Options(keep=["time"], kappa=0.01),
    )
    assert answer.command[2] == weights[2]  # type: ignore[index]
    assert answer.command.sum() == pytest.approx(1.0, abs=1e-12)  # type: ignore[union-attr]
    assert min(len(repr(float(n))) for n in answer.command) <= 6  # type: ignore[union-attr]

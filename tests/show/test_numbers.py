"""Numbers in words: in few digits, in the user's sign, and rounded to the side on which they stay true."""

import math

import numpy as np
import pytest
from answers import FUEL, TIME, TREASURE
from phrases import BUDGET, DEATH, DIAMOND, FOOD, GOLD, ORE, STEPS

from paretofoil.core.command import Objective
from paretofoil.show.numbers import (
    beside,
    change,
    exact_quantity,
    inward,
    mean_quantity,
    number_of,
    percent,
    quantities,
    quantity,
    region,
    rounded_down,
    rounded_up,
    short,
    short_change,
    span,
    with_unit,
)


@pytest.mark.parametrize(
    ("objective", "number", "words"),
    [
        (TREASURE, 8.0, "8 treasure"),
        (TREASURE, 0.0, "0 treasure"),
        (TREASURE, -3.0, "-3 treasure"),
        (GOLD, 0.0, "no gold"),
        (GOLD, -3.0, "already 3 gold over target"),
        (TIME, -2.0, "2 steps"),
        (TIME, -1.0, "1 step"),
        (TIME, 3.0, "already 3 steps over budget"),
        (Objective("energy", cost=True), 1.5, "already 1.5 energy over budget"),
        (Objective("energy", cost=True), 0.0, "no energy"),
        (Objective("energy", cost=True, natural_high=4.0), 1.5, "-1.5 energy"),  # it can be gained, too
        (STEPS, -0.0, "no steps"),
        (STEPS, 1.0, "already 1 step over budget"),
        (ORE, 0.35, "0.35 of ore 0"),
        (ORE, 1e-12, "1e-12 of ore 0"),
        (FUEL, -0.96, "0.96 fuel"),
        (TREASURE, 123456.0, "123,456 treasure"),
        (TREASURE, 1234.5, "1,234 treasure"),
        (TREASURE, 8.0625, "8.06 treasure"),
        (Objective("speed", "m/s"), 1.0, "1 m/s of speed"),
        (Objective("energy", "kWh"), 1.0, "1 kWh of energy"),
        (Objective("current", "amperes"), 1.0, "1 ampere of current"),
        (Objective("time", "s", cost=True), -1.0, "1 s"),
        (Objective("horizon", "steps"), 4.0, "a horizon of 4 steps"),
        (Objective("CO2", "g", cost=True), -20.0, "20 g of CO2"),
        (Objective("current", natural_low=0.0), 2e-10, "2e-10 current"),
        (DEATH, -0.0968, "a 9.7 % risk of death"),
        (DEATH, -0.08, "an 8 % risk of death"),
        (DEATH, -0.118, "an 11.8 % risk of death"),
        (DEATH, -0.0, "no risk of death"),
        (DEATH, 0.1, "already a 10 % risk of death over budget"),
        (DEATH, -0.0002, "a 0.02 % risk of death"),
        (DIAMOND, 1.0, "a 100 % chance of diamond"),
        (DIAMOND, 0.9999, "a 99.99 % chance of diamond"),
    ],
)
def test_a_quantity_is_in_the_users_sign(objective: Objective, number: float, words: str) -> None:
    assert quantity(objective, number) == words


@pytest.mark.parametrize(
    ("objective", "old", "new", "words", "short_words"),
    [
        (STEPS, -8.0, -6.0, "2 fewer steps (6 instead of 8)", "6 steps instead of 8"),
        (STEPS, -1.0, -2.0, "1 more step (2 instead of 1)", "2 steps instead of 1"),
        (ORE, 0.42, 0.41, "0.01 less of ore 0 (0.41 instead of 0.42)", "0.41 of ore 0 instead of 0.42"),
        (ORE, 0.42, 0.0, "no ore 0 instead of 0.42", "no ore 0 instead of 0.42"),
        (BUDGET, 0.2, 0.1, "0.1 more fuel (0.1 over budget instead of 0.2 over budget)", None),
        (GOLD, -2.0, 1.0, "3 more gold (1 instead of 2 over target)", "1 gold instead of 2 over target"),
        (DEATH, -0.0968, -0.0, "no risk of death instead of 9.7 %", None),
        (DEATH, -0.09684, -0.0969, "a 9.69 % risk of death instead of 9.684 %", None),
        (FOOD[0], 1.1942933, 1.3, "0.11 more protein (1.3 instead of 1.19)", "1.3 protein instead of 1.19"),
        (Objective("speed", "m/s"), 3.5, 3.0, "0.5 m/s less speed (3 instead of 3.5)", None),
        (Objective("current", natural_low=0.0), 0.0, 2e-10, "2e-10 current instead of none", None),
        (TREASURE, 4000.0, 5200.5, "1,200.5 more treasure (5,200.5 instead of 4,000)", None),
        (FOOD[0], 3.59192, 3.5919, "0.00002 less protein (3.5919 instead of 3.59192)", None),
    ],
)
def test_a_change_has_more_or_less_and_both_numbers(
    objective: Objective, old: float, new: float, words: str, short_words: str | None
) -> None:
    assert change(objective, old, new) == words
    if short_words is not None:
        assert short_change(objective, old, new) == short_words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.8, 0.0, 0.0), "0.8 gold and nothing else"),
        ((0.0, 0.0, 0.0), "nothing"),
        ((0.8, 0.0, 1.0), "0.8 gold, no silver and 1 tin"),
    ],
)
def test_several_of_which_there_is_none_are_nothing_else(numbers: tuple[float, ...], words: str) -> None:
    metals = [Objective(name, natural_low=0.0) for name in ("gold", "silver", "tin")]
    assert quantities(metals, np.array(numbers)) == words


def test_where_something_is_spent_every_objective_is_named() -> None:
    assert quantities([GOLD, ORE, STEPS], np.array([0.0, 0.0, -2.0])) == "no gold and no ore 0 in 2 steps"


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.0, "0 %"),
        (0.0004, "under 0.1 %"),
        (0.0006, "0.1 %"),
        (0.476, "47.6 %"),
        (0.9994, "99.9 %"),
        (0.9995, "over 99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(probability: float, words: str) -> None:
    assert percent(probability) == words


@pytest.mark.parametrize("seed", range(50))
def test_a_range_is_rounded_inwards_and_holds_what_is_quoted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.normal(size=2) * 10.0 ** rng.integers(-3, 4))
    quoted = float(f"{rng.uniform(low, high):.6g}")
    lowest, highest = (float(text) for text in inward(low, high))
    assert low - 1e-9 <= lowest <= highest <= high + 1e-9
    lowest, highest = (float(text) for text in inward(low, high, quoted))
    assert low - 1e-9 <= lowest <= quoted <= highest <= high + 1e-9
    assert [float(text) for text in inward(low, high, high)][1] == pytest.approx(high, rel=1e-11)


@pytest.mark.parametrize(
    ("objective", "low", "high", "words"),
    [
        (GOLD, 0.0, 0.5, "at most 0.5 gold"),
        (TREASURE, 0.0, 0.5, "0 to 0.5 treasure"),
        (STEPS, -40.0, -1.0, "1 to 40 steps"),
        (DEATH, -0.326, 0.0, "at most 32 % risk of death"),
        (BUDGET, 2.0, 3.8, "2 to 3.8 fuel over budget"),
        (BUDGET, 0.0, 3.8, "at most 3.8 fuel over budget"),
        (BUDGET, -0.4, 0.6, "from 0.6 fuel over budget to 0.4 fuel"),
        (BUDGET, -0.00432, 13.2, "at most 13 fuel over budget"),
        (GOLD, -2.0, -1.0, "1 to 2 gold over target"),
        (DIAMOND, 0.7, 1.0, "70 to 100 % chance of diamond"),
        (ORE, 0.25, 0.5, "0.25 to 0.5 of ore 0"),
        (ORE, 0.25, 0.25, None),
    ],
)
def test_a_span_reads_word_for_word(objective: Objective, low: float, high: float, words: str | None) -> None:
    assert span(objective, low, high) == words


@pytest.mark.parametrize("seed", range(50))
def test_bounds_are_rounded_to_the_side_on_which_they_stay_true(seed: int) -> None:
    number = float(np.random.default_rng(seed).lognormal(sigma=3))
    assert number * (1 - 1e-2) <= float(rounded_down(number)) <= number
    assert number <= float(rounded_up(number, 2)) * (1 + 1e-11)
    assert float(rounded_up(number, 2)) <= 1.1 * number


def test_the_old_number_has_the_digits_that_show_the_change() -> None:
    assert beside(1.1942933, 1.3) == "1.19"
    assert beside(1.1942933, 1.1944) == "1.19429"
    assert math.isclose(float(beside(1.1942933, 1.194293301)), 1.1942933)


def test_a_mean_has_the_digits_of_its_standard_error() -> None:
    assert mean_quantity(TIME, -25.638, 0.723) == "25.6 ± 0.7 steps"
    assert mean_quantity(DEATH, -0.255, 0.0309) == "a 26 ± 3 % risk of death"
    assert mean_quantity(TREASURE, 1234.4, 56.0) == "1,234 ± 56 treasure"


def test_numbers_are_short() -> None:
    assert [short(number) for number in (-0.0, 1.0, 2.50, 0.123456, -1e-12)] == ["0", "1", "2.5", "0.123", "-1e-12"]
    assert [short(number) for number in (999.6, 12345.6, -1e7)] == ["1000", "12346", "-10000000"]


def test_a_probability_that_is_quoted_is_in_percent_on_both_sides_of_0() -> None:
    assert exact_quantity(DEATH, -0.10123) == "a 10.123 % risk of death"
    assert exact_quantity(DEATH, 0.1) == "a 10 % risk of death over budget"


def test_a_standard_error_of_rounding_is_none() -> None:
    assert mean_quantity(TREASURE, 0.7000000000000008, 6.3e-17) == "0.7 treasure"


def test_what_rounding_left_of_a_sum_is_nothing_but_a_small_number_is_one() -> None:
    gold = Objective("gold", natural_low=0.0)
    assert quantities([gold], np.array([0.3 - 0.1 - 0.2]), np.array([0.0]), np.array([1.0])) == "no gold"
    assert quantities([gold], np.array([2e-10]), np.array([0.0]), np.array([5e-10])) == "2e-10 gold"


def test_a_unit_without_a_plural_keeps_its_last_letter() -> None:
    for unit in ("m/s", "s", "ms", "glass", "kWh"):
        assert with_unit(Objective("it", unit), "1") == f"1 {unit}"
    assert with_unit(Objective("it", "bottles"), "1") == "1 bottle"


def test_a_search_region_holds_the_command_as_it_is_written() -> None:
    low, high, command = np.array([0.3477, -7.0]), np.array([1.849, -1.0]), np.array([1.849, -2.0])
    assert quantity(TREASURE, 1.849, 0.3477, 1.849) == "1.849 treasure"
    assert region([TREASURE, STEPS], low, high, command) == "0.35 to 1.849 treasure in 1 to 7 steps"
    assert region([TREASURE, STEPS], low, low, command) == ""
    fixed = region(
        [TREASURE, STEPS], np.array([1.0, -2.0]), np.array([2.0, -2.0]), np.array([1.0, -2.0]), " from here on"
    )
    assert fixed == "1 to 2 treasure from here on, with the rest unchanged"


@pytest.mark.parametrize(("count", "words"), [(0, "0 queries"), (1, "1 query"), (2000, "2,000 queries")])
def test_one_is_counted_as_one(count, words):
    assert number_of(count, "query", "queries") == words

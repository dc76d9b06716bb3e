"""Goal-conditioned agents: what each search solves, and what it costs."""

from paretofoil_paper.goals import GoalAnswer, goals_table


def answer(foil: int, search: str, status: str, distance: float | None, queries: int) -> GoalAnswer:
    found = None if distance is None else True
    return GoalAnswer("plane", 2, 99, 100, 0, 0, foil, search, status, distance, queries, 7, 0.1, found)


def test_rates_are_of_feasible_questions_and_distances_relative_to_the_optimum() -> None:
    rows = [
        answer(1, "exact", "proven closest", 0.5, 400),
        answer(2, "exact", "proven closest", 0.25, 400),
        answer(3, "exact", "proven infeasible", None, 400),
        answer(1, "cf-zoo", "found", 0.6, 20_000),
        answer(2, "cf-zoo", "not found", None, 30_000),
        answer(3, "cf-zoo", "not found", None, 30_000),
    ]
    exact, zoo = goals_table(rows).rows
    assert exact[:2] == ("plane, exact", 3)
    assert str(exact[2]).startswith("100.0")
    assert exact[3:] == (2, 1, 1.0, 400, 7, 0.1, "2 of 2")
    assert str(zoo[2]).startswith("50.0")
    assert zoo[3:7] == (None, None, 1.2, 30_000)

"""Measures that distinguish an agent whose training was stopped early from a fully trained one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paretofoil.agents import Agent, load_agent
from paretofoil.agents.store import shipped
from paretofoil.core.search import Search
from paretofoil.study import COMPARISON as SUBSET
from paretofoil.study import Row
from paretofoil.study.study import describe_search, fingerprint
from paretofoil.study.table import Table
from paretofoil_paper.claims.sparsity import count_changed
from paretofoil_paper.issued import AnswerRollouts, IssuedAnswer
from paretofoil_paper.measurements import mean_interval, measurements
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.statistics import Interval, cluster_interval, episodes_of

EARLY = {"deep-sea-treasure": "deep-sea-treasure-early", "minecart": "minecart-early"}
"""The shipped agents whose training was stopped early, by environment."""


@dataclass(frozen=True, eq=False)
class AgentResult:
    """An agent with its answers and their outcomes."""

    agent: Agent
    rows: Sequence[Row]
    """The answers of both searches."""
    issued: Sequence[IssuedAnswer]
    """The outcomes of the exact search's answers."""

    def measures(self) -> dict[str, tuple[float, Interval]]:
        """Return each measure as a mean in percent, with its cluster interval."""
        zoo, exact = ([row for row in self.rows if row.search == name] for name in ("cf-zoo", "exact"))
        solved = [row for row in exact if row.found]
        return {
            "success rate of CF-ZOO": _mean_of_rows(zoo, [row.found for row in zoo]),
            "a valid command exists (exact)": _mean_of_rows(exact, [row.found for row in exact]),
            "distance as share of the range (exact)": _mean_of_rows(
                solved, [row.closest_distance or 0.0 for row in solved]
            ),
            "share of entries that change": _mean_of_rows(solved, [self._changed_share(row) for row in solved]),
            "episode ends on the front (issued)": self._mean([one.reaches_front for one in self.issued]),
            "episode ends on the front (original)": self._mean([one.original_reaches_front for one in self.issued]),
            "step limit ends the episode (issued)": self._mean([one.truncated for one in self.issued]),
            "foil is still chosen under 1 % noise": self._mean([one.command_noise_large for one in self.issued]),
        }

    def _changed_share(self, row: Row) -> float:
        answer = row.full_answer()
        assert answer.closest is not None
        changed = count_changed(answer.closest.command, answer.question.command, self.agent.space.scale)
        return changed / self.agent.space.dim

    def _mean(self, values: Sequence[float]) -> tuple[float, Interval]:
        by_answer = dict(zip(map(id, self.issued), values, strict=True))
        mean = 100 * float(np.mean(values)) if len(values) else float("nan")
        return mean, mean_interval(self.issued, lambda one: by_answer[id(one)])


def _mean_of_rows(rows: Sequence[Row], values: Sequence[float]) -> tuple[float, Interval]:
    by_case = {row.case: float(value) for row, value in zip(rows, values, strict=True)}
    mean = 100 * float(np.mean(values)) if len(values) else float("nan")
    return mean, cluster_interval(episodes_of(rows, lambda row: by_case[row.case]))


AgentPairs = Mapping[str, tuple[AgentResult, AgentResult]]
"""By environment: the trained agent and the early one."""


def compare_agents(plan: Plan) -> dict[str, tuple[AgentResult, AgentResult]]:
    """Return the trained and the early agent of each environment, with the same rule for their cases."""
    names = [name for name in EARLY if name in plan.agents]
    if not names:
        return {}
    agents = {name: (plan.load(name), load_agent(shipped(EARLY[name]))) for name in names}
    searches: dict[str, Search] = {"cf-zoo": plan.budgets.stress, "exact": plan.budgets.exact}
    sources = [source for name in names for source in (plan.agents[name], shipped(EARLY[name]))]
    rows = plan.rows("claims-training", searches, SUBSET, agents=sources)
    issued = _issued_answers(plan, agents, rows)

    def result(agent: Agent) -> AgentResult:
        of_agent = [row for row in rows if row.case.agent == agent.name]
        return AgentResult(agent, of_agent, [one for one in issued if one.agent == agent.name])

    return {name: (result(trained), result(early)) for name, (trained, early) in agents.items()}


def _issued_answers(plan: Plan, agents: Mapping[str, tuple[Agent, Agent]], rows: Sequence[Row]) -> list[IssuedAnswer]:
    def measure() -> Iterator[IssuedAnswer]:
        for agent in (agent for pair in agents.values() for agent in pair):
            solved = [row for row in rows if row.case.agent == agent.name and row.search == "exact" and row.found]
            yield from AnswerRollouts(agent, solved, plan.seed).measure()

    early = {agent.name: fingerprint(agent) for _, agent in agents.values()}
    settings = {"early": early, "exact": describe_search(plan.seeded(plan.budgets.exact))}
    return measurements(plan, "claims-consequences", IssuedAnswer, measure, settings)


def undertrained_table(pairs: AgentPairs) -> Table:
    """Return each measure; two agents are distinguished if the intervals do not overlap."""
    lines: list[tuple[Any, ...]] = []
    rules: list[int] = []
    for name, pair in pairs.items():
        rules.append(len(lines))
        trained, early = (one.measures() for one in pair)
        for measure, (mean, interval) in trained.items():
            other, other_interval = early[measure]
            verdict = _distinguished(interval, other_interval)
            lines.append((ENVIRONMENTS[name], measure, mean, interval, other, other_interval, verdict))
    columns = ("environment", "measure (%)", "trained", "cluster [95 % CI]", "early", "early: [95 % CI]", "differs")
    counts = "; ".join(f"{ENVIRONMENTS[name]} {_counts(pair)}" for name, pair in pairs.items())
    note = (
        f"Points of the front that greedy episodes reach, trained and early: {counts}. Each agent is compared with its "
        "own front. Differs: the intervals do not overlap, which is stricter than a test; a dash means that there are "
        "too few episodes for an interval. There is one agent of each kind, so the result is about these agents only. "
        "The comparisons are not corrected for their number."
    )
    title = "A trained agent and one whose training was stopped early"
    return Table(title, columns, tuple(lines), note, tuple(rules[1:]))


def _counts(pair: tuple[AgentResult, AgentResult]) -> str:
    """Return, for example, "10 of 10 and 4 of 8"."""
    return " and ".join(f"{int(one.agent.reached().sum())} of {len(one.agent.front)}" for one in pair)


def _distinguished(one: Interval, other: Interval) -> str | None:
    if np.isnan([one.low, other.low]).any():
        return None
    return "yes" if one.high < other.low or other.high < one.low else "no"

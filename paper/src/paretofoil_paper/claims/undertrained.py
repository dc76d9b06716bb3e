"""An agent whose training was broken off against one that was trained: which measures tell them apart?"""

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
from paretofoil_paper.claims.sparsity import entries_changed
from paretofoil_paper.issued import Aftermath, Answered
from paretofoil_paper.measurements import mean_interval, measurements
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.statistics import Interval, cluster_interval, episodes_of

EARLY = {"deep-sea-treasure": "deep-sea-treasure-early", "minecart": "minecart-early"}
"""For each environment the agent whose training was broken off."""


@dataclass(frozen=True, eq=False)
class Questioned:
    """An agent, what it was asked, and what became of its answers."""

    agent: Agent
    rows: Sequence[Row]
    """Of both searches."""
    aftermaths: Sequence[Aftermath]
    """Of the exact search's answers."""

    def measures(self) -> dict[str, tuple[float, Interval]]:
        """Each a mean in percent, with its cluster interval."""
        zoo, exact = ([row for row in self.rows if row.search == name] for name in ("cf-zoo", "exact"))
        found = [row for row in exact if row.found]
        size = self.agent.space.dim
        entries = {row.case: entries_changed(row, self.agent.space.scale) / size for row in found}
        return {
            "flip rate of CF-ZOO": _of_rows(zoo, [row.found for row in zoo]),
            "a command exists (exact)": _of_rows(exact, [row.found for row in exact]),
            "distance, % of the range (exact)": _of_rows(found, [row.closest_distance or 0.0 for row in found]),
            "entries that change, % of all": _of_rows(found, [entries[row.case] for row in found]),
            "issued, it ends on the front": self._after([one.reaches_front for one in self.aftermaths]),
            "the original ends on the front": self._after([one.original_reaches_front for one in self.aftermaths]),
            "issued, the step limit ends it": self._after([one.stopped for one in self.aftermaths]),
            "noise of 1 % keeps the foil": self._after([one.command_large for one in self.aftermaths]),
        }

    def _after(self, values: Sequence[float]) -> tuple[float, Interval]:
        told = dict(zip(map(id, self.aftermaths), values, strict=True))
        mean = 100 * float(np.mean(values)) if len(values) else float("nan")
        return mean, mean_interval(self.aftermaths, lambda one: told[id(one)])


def _of_rows(rows: Sequence[Row], values: Sequence[float]) -> tuple[float, Interval]:
    told = {row.case: float(value) for row, value in zip(rows, values, strict=True)}
    mean = 100 * float(np.mean(values)) if len(values) else float("nan")
    return mean, cluster_interval(episodes_of(rows, lambda row: told[row.case]))


def question_both(plan: Plan) -> dict[str, tuple[Questioned, Questioned]]:
    """For each environment the trained agent and the early one, asked by the same rule."""
    names = [name for name in EARLY if name in plan.agents]
    if not names:
        return {}
    agents = {name: (plan.load(name), load_agent(shipped(EARLY[name]))) for name in names}
    searches: dict[str, Search] = {"cf-zoo": plan.budgets.stress, "exact": plan.budgets.exact}
    asked = [source for name in names for source in (plan.agents[name], shipped(EARLY[name]))]
    rows = plan.rows("claims-training", searches, SUBSET, agents=asked)
    after = _aftermaths(plan, agents, rows)

    def questioned(agent: Agent) -> Questioned:
        mine = [row for row in rows if row.case.agent == agent.name]
        return Questioned(agent, mine, [one for one in after if one.agent == agent.name])

    return {name: (questioned(trained), questioned(early)) for name, (trained, early) in agents.items()}


def _aftermaths(plan: Plan, agents: Mapping[str, tuple[Agent, Agent]], rows: Sequence[Row]) -> list[Aftermath]:
    def measure() -> Iterator[Aftermath]:
        for agent in (agent for pair in agents.values() for agent in pair):
            mine = [row for row in rows if row.case.agent == agent.name and row.search == "exact" and row.found]
            yield from Answered(agent, mine, plan.seed).measure()

    early = {agent.name: fingerprint(agent) for _, agent in agents.values()}
    settings = {"early": early, "exact": describe_search(plan.seeded(plan.budgets.exact))}
    return measurements(plan, "claims-consequences", Aftermath, measure, settings)


def early_table(asked: Mapping[str, tuple[Questioned, Questioned]]) -> Table:
    """Measure by measure; two agents are told apart where their intervals do not meet."""
    lines: list[tuple[Any, ...]] = []
    begins: list[int] = []
    for name, both in asked.items():
        begins.append(len(lines))
        trained, early = (one.measures() for one in both)
        for measure, (mean, interval) in trained.items():
            other, others = early[measure]
            lines.append((ENVIRONMENTS[name], measure, mean, interval, other, others, _apart(interval, others)))
    columns = ("environment", "measure (%)", "trained", "cluster [95 % CI]", "early", "early: [95 % CI]", "told apart")
    counts = "; ".join(f"{ENVIRONMENTS[name]} {_counts(both)}" for name, both in asked.items())
    note = (
        f"Points of the front, of which greedy episodes reach, trained and early: {counts}. Each agent is held against "
        "its own front. Told apart: the intervals do not meet, which asks for more than a test would; – where there "
        "are too few episodes for an interval. One agent of each kind: this is about these agents, not about all that "
        "are trained for as long; the comparisons are not corrected for their number."
    )
    return Table(
        "A trained agent and one whose training was broken off", columns, tuple(lines), note, tuple(begins[1:])
    )


def _counts(both: tuple[Questioned, Questioned]) -> str:
    """ "10 of 10 and 4 of 8"."""
    return " and ".join(f"{int(one.agent.reached().sum())} of {len(one.agent.front)}" for one in both)


def _apart(one: Interval, other: Interval) -> str | None:
    if np.isnan([one.low, other.low]).any():
        return None
    return "yes" if one.high < other.low or other.high < one.low else "no"


def early_in_words(asked: Mapping[str, tuple[Questioned, Questioned]]) -> str:
    """Which measures tell the two apart, by name."""
    told = []
    for name, both in asked.items():
        trained, early = (one.measures() for one in both)
        verdicts = {measure: _apart(trained[measure][1], early[measure][1]) for measure in trained}
        yes, no = (
            ", ".join(f"*{measure}*" for measure, verdict in verdicts.items() if verdict == kind) or "nothing"
            for kind in ("yes", "no")
        )
        told.append(f"On {ENVIRONMENTS[name]}, told apart by: {yes}; not told apart by: {no}.")
    rule = f"at most {SUBSET.commands} commands, {SUBSET.steps} moments and {SUBSET.foils} foils of each"
    first = (
        "No claim of the paper, but a question that it leaves to a study with people: can command counterfactuals tell "
        "a well-trained agent from a poorly trained one? Here is which measures can, for an agent whose training was "
        f"broken off. Both are asked by the comparison's rule ({rule}), in the box of what is reachable."
    )
    return " ".join([first, *told])

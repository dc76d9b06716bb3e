"""What all experiments share: which agents, where to write, how to run, what to tell."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from paretofoil.agents import Agent, load_agent
from paretofoil.agents.store import shipped
from paretofoil.core.constants import KAPPA
from paretofoil.core.errors import InvalidInput
from paretofoil.core.search import Search
from paretofoil.study import Case, CaseRule, Row, Run, StudyProgress, make_study, read_rows, read_runs, run_study
from paretofoil.study.parquet import read_parquet
from paretofoil.study.runner import EngineName, describe_machine
from paretofoil.study.study import check_same
from paretofoil_paper.budgets import Budgets
from paretofoil_paper.paper_tables import ENVIRONMENTS

REALISED = {
    "breakable-bottles": "breakable-bottles-realised",
    "resource-gathering": "resource-gathering-realised",
}
"""The shipped agents that learned from what episodes realised, as the authors' did, by their environments."""
LEARNED_FROM_LUCK = {agent: environment for environment, agent in REALISED.items()}
"""The same the other way round."""

Tell = Callable[[str], Callable[[StudyProgress], None] | None]
"""The name of a study -> what to call with its progress."""


def shipped_agents() -> dict[str, str]:
    """The shipped agent of each environment of the paper, also where a local one has its name."""
    return {name: shipped(name) for name in ENVIRONMENTS}


@dataclass(eq=False)
class Log:
    """The rows that an experiment has used so far; `Plan.rows` and `measured` add to it."""

    studies: dict[str, list[Run]] = field(default_factory=dict)
    """For each study: how it was computed."""
    measurements: set[str] = field(default_factory=set)
    """The measurements that were read from a file."""


@dataclass(frozen=True)
class Plan:
    """The settings of `paretofoil reproduce`."""

    out: Path
    """The folder of the reports, with `rows/`, `tables/` and `figures/` in it."""
    agents: Mapping[str, str] = field(default_factory=shipped_agents)
    """For each environment of the paper the agent (name or folder) to use."""
    seed: int = 0
    """Of every search, and of chance in the environments."""
    workers: int | None = None
    engine: EngineName = "local"
    address: str | None = None
    grid_dimension: int = 3
    """The audit's grid is evaluated for commands of at most so many objectives."""
    full_grid: bool = False
    """Evaluate the grid on proven cases as well, where it cannot find anything."""
    recorded: bool = False
    """Ask nothing: make the reports again from the rows that are kept as Parquet."""
    agent_seeds: tuple[int, ...] = (10, 11, 12, 13, 14)
    """Of the agents that the many-seed study trains: none on which any setting, of training or of a search, was chosen
    (those are 0 to 3)."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Settings of these trainings that differ from each environment's own; none, but to try things out."""
    tell: Tell = lambda name: None
    budgets: Budgets = field(default_factory=Budgets)
    log: Log = field(default_factory=Log, compare=False)
    """Grows while an experiment runs; give each experiment a plan with a new one."""

    def load(self, environment: str) -> Agent:
        """The agent that stands for an environment of the paper."""
        agent = load_agent(self.agents[environment])
        if agent.environment.name != environment:
            raise InvalidInput.expected(f"an agent of {environment}", f"{agent.name}, one of {agent.environment.name}")
        return agent

    @cached_property
    def names(self) -> dict[str, str]:
        """For each agent's own name the environment of the paper that it stands for."""
        return {self.load(environment).name: environment for environment in self.agents}

    @property
    def as_run(self) -> dict[str, str]:
        """The agents of the paper's own experiments: where chance plays a part those of realised returns, as theirs."""
        return {
            environment: shipped(REALISED[environment])
            if environment in REALISED and agent == shipped(environment)
            else agent
            for environment, agent in self.agents.items()
        }

    @property
    def both_kinds(self) -> list[str]:
        """Those, and the agents of expected returns beside them."""
        return list(dict.fromkeys([*self.as_run.values(), *self.agents.values()]))

    def environment_of(self, row: Row) -> str:
        return self.names.get(row.case.agent) or LEARNED_FROM_LUCK[row.case.agent]

    def seeded(self, search: Search) -> Search:
        """The same search with this plan's seed."""
        made: Search = replace(cast(Any, search), seed=self.seed)
        return made

    def rows(
        self,
        name: str,
        searches: Mapping[str, Search],
        rule: CaseRule,
        *,
        only: Iterable[Case] | None = None,
        alone: bool = False,
        kappa: float = KAPPA,
        agents: Sequence[str | Path] | None = None,
    ) -> list[Row]:
        """Run, or go on with, the study of that name over all agents, or those given; its file stays in the folder.

        `alone` asks one question at a time in this process, which is how time per question is measured.
        """
        seeded = {label: self.seeded(search) for label, search in searches.items()}
        asked = list(self.agents.values()) if agents is None else agents
        study = make_study(asked, seeded, rule, seed=self.seed, kappa=kappa, only=only)
        if self.recorded:
            return self.kept_rows(name, study.configuration())
        path, show = self.out / "rows" / f"{name}.sqlite", self.tell(name)
        if alone:
            run_study(study, path, workers=1, chunk=1, show=show)
        else:
            run_study(study, path, workers=self.workers, engine=self.engine, address=self.address, show=show)
        self.log.studies[name] = read_runs(path)
        return read_rows(path)

    def kept_rows(self, name: str, configuration: Mapping[str, Any]) -> list[Row]:
        """The rows that are kept of a study, if they were computed with this configuration, as far as it is told."""
        path = self.out / "rows" / f"{name}.parquet"
        if not path.is_file():
            made = f"`paretofoil study export {path.with_suffix('.sqlite')} --format parquet` writes it"
            raise InvalidInput.expected(f"the rows of a study at {path}", f"no such file; {made}")
        kept = read_parquet(path)
        told = {key: kept.configuration[key] for key in configuration}
        check_same(told, json.loads(json.dumps(configuration)), path)
        self.log.studies[name] = list(kept.runs)
        return list(kept.rows)


def provenance(experiment: str, plan: Plan, seconds: float) -> str:
    """How a report was made, as its last part; what earlier calls had answered already counts with its own time."""
    studies = [f"{name} {_told(runs)}" for name, runs in plan.log.studies.items()]
    alone = "Made again from its rows." if plan.log.measurements else f"It took {seconds:,.0f} s."
    took = f"Wall time of its studies: {', '.join(studies)}." if studies else alone
    standard = Plan(plan.out)
    options = [f" --grid-dimension {plan.grid_dimension}"] * (plan.grid_dimension != standard.grid_dimension)
    options += [" --full-grid"] * plan.full_grid
    options += [f" --agent {e}={a}" for e, a in plan.agents.items() if a != standard.agents[e]]
    options += [f" --only {','.join(plan.agents)}"] * (set(plan.agents) != set(standard.agents))
    seeds = ",".join(map(str, plan.agent_seeds))
    options += [f" --agent-seeds {seeds}"] * (plan.agent_seeds != standard.agent_seeds)
    command = f"paretofoil reproduce {experiment}{''.join(options)}"
    used = [dict(run.machine) for runs in plan.log.studies.values() for run in runs if run.asked] or [
        describe_machine()
    ]
    machines = [machine for i, machine in enumerate(used) if machine not in used[:i]]
    return f"Made by `{command}` with seed {plan.seed}. {took} {' '.join(map(_describe, machines))}"


def _describe(machine: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return f"Machine: {machine['cores']} cores ({machine['processor']}, {machine['system']}). Versions: {versions}."


def _told(runs: list[Run]) -> str:
    """ "521 s (4,180 answers, 2 workers)"."""
    runs = [run for run in runs if run.asked]
    answers, seconds = sum(run.asked for run in runs), sum(run.seconds for run in runs)
    counts = sorted({run.workers for run in runs if run.workers})
    workers = f", {' or '.join(map(str, counts))} worker{'s' if counts != [1] else ''}" if counts else ""
    engines = "".join(f", {name}" for name in sorted({run.engine for run in runs} - {"local"}))
    again = f", in {len(runs)} runs" if len(runs) > 1 else ""
    return f"{seconds:,.0f} s ({answers:,} answer{'s' if answers != 1 else ''}{workers}{engines}{again})"

"""The settings that all experiments share, and the rows of their studies."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from paretofoil.agents import Agent, load_agent
from paretofoil.agents.store import shipped
from paretofoil.core.errors import InvalidInput
from paretofoil.core.question import KAPPA
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
"""For each stochastic environment the shipped agent trained on realised returns, like the authors' agents."""
REALISED_ENVIRONMENTS = {agent: environment for environment, agent in REALISED.items()}
"""For each of these agents its environment."""

Tell = Callable[[str], Callable[[StudyProgress], None] | None]
"""Given the name of a study, returns the function to call with its progress, or None."""


def shipped_agents() -> dict[str, str]:
    """Return the shipped agent of each environment of the paper, even if a local agent has the same name."""
    return {name: shipped(name) for name in ENVIRONMENTS}


@dataclass(eq=False)
class Log:
    """The rows that an experiment has used so far; `Plan.rows` and `measurements` add to it."""

    studies: dict[str, list[Run]] = field(default_factory=dict)
    """For each study: how it was computed."""
    measurements: set[str] = field(default_factory=set)
    """The measurements that were read from a file."""


@dataclass(frozen=True)
class Plan:
    """The settings of `paretofoil reproduce`."""

    out: Path
    """The folder of the reports; it also contains `rows/`, `tables/` and `figures/`."""
    agents: Mapping[str, str] = field(default_factory=shipped_agents)
    """The agent (name or folder) for each environment of the paper."""
    seed: int = 0
    """Seed of every search and of the stochastic environments."""
    workers: int | None = None
    engine: EngineName = "local"
    address: str | None = None
    grid_dimension: int = 3
    """Largest number of objectives for which the audit evaluates its grid."""
    full_grid: bool = False
    """Evaluate the grid on all cases that are proven infeasible, not only on a sample."""
    recorded: bool = False
    """Run no study: write the reports from the recorded rows (Parquet files)."""
    agent_seeds: tuple[int, ...] = (10, 11, 12, 13, 14)
    """Training seeds of the experiment `seeds`. All settings were chosen on the seeds 0 to 3, so these are held out."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Training settings that replace the presets of the environments; only for short trials."""
    tell: Tell = lambda name: None
    budgets: Budgets = field(default_factory=Budgets)
    log: Log = field(default_factory=Log, compare=False)
    """Grows while an experiment runs; give each experiment a plan with a new one."""

    def load(self, environment: str) -> Agent:
        """Return the agent of an environment of the paper."""
        agent = load_agent(self.agents[environment])
        if agent.environment.name != environment:
            given = f"{agent.name}, an agent of {agent.environment.name}"
            raise InvalidInput.expected(f"an agent of {environment}", given)
        return agent

    @cached_property
    def names(self) -> dict[str, str]:
        """The environment of each agent, by the name of the agent."""
        return {self.load(environment).name: environment for environment in self.agents}

    @property
    def as_run(self) -> dict[str, str]:
        """The agents that repeat the paper's experiments: in stochastic environments trained on realised returns."""
        return {
            environment: shipped(REALISED[environment])
            if environment in REALISED and agent == shipped(environment)
            else agent
            for environment, agent in self.agents.items()
        }

    @property
    def all_agents(self) -> list[str]:
        """The agents of `as_run`, and the agents trained on expected returns."""
        return list(dict.fromkeys([*self.as_run.values(), *self.agents.values()]))

    def environment_of(self, row: Row) -> str:
        """Return the environment of a row's agent."""
        return self.names.get(row.case.agent) or REALISED_ENVIRONMENTS[row.case.agent]

    def seeded(self, search: Search) -> Search:
        """Return the search with the seed of this plan."""
        return cast(Search, replace(cast(Any, search), seed=self.seed))

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
        """Run or resume a study and return its rows; with `recorded`, read them.

        The study is stored in `rows/NAME.sqlite`. `alone` asks one question at a time in this process, to measure the
        time per question. `agents` are the sources of the agents; all agents of the plan if None.
        """
        seeded = {label: self.seeded(search) for label, search in searches.items()}
        sources = list(self.agents.values()) if agents is None else agents
        study = make_study(sources, seeded, rule, seed=self.seed, kappa=kappa, only=only)
        if self.recorded:
            return self.recorded_rows(name, study.configuration())
        path, show = self.out / "rows" / f"{name}.sqlite", self.tell(name)
        if alone:
            run_study(study, path, workers=1, chunk=1, show=show)
        else:
            run_study(study, path, workers=self.workers, engine=self.engine, address=self.address, show=show)
        self.log.studies[name] = read_runs(path)
        return read_rows(path)

    def recorded_rows(self, name: str, configuration: Mapping[str, Any]) -> list[Row]:
        """Return the recorded rows of a study; refuse rows whose configuration differs in one of the given keys."""
        path = self.out / "rows" / f"{name}.parquet"
        if not path.is_file():
            export = f"paretofoil study export {path.with_suffix('.sqlite')} --format parquet"
            raise InvalidInput.expected(f"the recorded rows in {path}", f"no such file; to write it, run `{export}`")
        recorded = read_parquet(path)
        stored = {key: recorded.configuration[key] for key in configuration}
        check_same(stored, json.loads(json.dumps(configuration)), path)
        self.log.studies[name] = list(recorded.runs)
        return list(recorded.rows)


def provenance(experiment: str, plan: Plan, seconds: float) -> str:
    """Return the last paragraph of a report: command, seed, time of its studies, machine and versions."""
    studies = [f"{name} {_describe_runs(runs)}" for name, runs in plan.log.studies.items()]
    alone = "Made from recorded rows." if plan.log.measurements else f"It took {seconds:,.0f} s."
    took = f"Wall time of the studies: {', '.join(studies)}." if studies else alone
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
    return f"Made by `{command}` with seed {plan.seed}. {took} {_describe_machines(used)}"


def _describe_machines(used: Sequence[Mapping[str, Any]]) -> str:
    """Return the machines and the versions, each once."""
    machines = dict.fromkeys(f"{m['cores']} cores ({m['processor']}, {m['system']})" for m in used)
    versions = dict.fromkeys(", ".join(f"{name} {n}" for name, n in m["versions"].items()) for m in used)
    return f"Machine: {' and '.join(machines)}. Versions: {'; '.join(versions)}."


def _describe_runs(runs: list[Run]) -> str:
    """Return, for example, "521 s (4,180 answers, 2 workers)"."""
    runs = [run for run in runs if run.asked]
    answers, seconds = sum(run.asked for run in runs), sum(run.seconds for run in runs)
    counts = sorted({run.workers for run in runs if run.workers})
    workers = f", {' or '.join(map(str, counts))} worker{'s' if counts != [1] else ''}" if counts else ""
    engines = "".join(f", {name}" for name in sorted({run.engine for run in runs} - {"local"}))
    again = f", in {len(runs)} runs" if len(runs) > 1 else ""
    return f"{seconds:,.0f} s ({answers:,} answer{'s' if answers != 1 else ''}{workers}{engines}{again})"

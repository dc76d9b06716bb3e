"""What all experiments share: which agents, where to write, how to run, what to tell."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from paretofoil.agents import Agent, load_agent
from paretofoil.reproduce.paper import ENVIRONMENTS
from paretofoil.search import Search
from paretofoil.study import Case, CaseRule, Progress, Row, make_study, read_rows, run_study
from paretofoil.study.engine import EngineName

Tell = Callable[[str], Callable[[Progress], None] | None]
"""The name of a study -> what to call with its progress."""


@dataclass(frozen=True)
class Setting:
    """How `paretofoil reproduce` was called."""

    out: Path
    """The folder of reports and rows."""
    agents: Mapping[str, str] = field(default_factory=lambda: {name: name for name in ENVIRONMENTS})
    """For each environment of the paper the agent (name or folder) to use."""
    seed: int = 0
    workers: int | None = None
    engine: EngineName = "local"
    address: str | None = None
    grid_dimension: int = 3
    """The audit's grid is evaluated for commands of at most so many objectives."""
    full_grid: bool = False
    """Evaluate the grid on proven cases as well, where it cannot find anything."""
    tell: Tell = lambda name: None

    def load(self, environment: str) -> Agent:
        return load_agent(self.agents[environment])

    @cached_property
    def names(self) -> dict[str, str]:
        """For each agent's own name the environment of the paper that it stands for."""
        return {self.load(environment).name: environment for environment in self.agents}

    def environment_of(self, row: Row) -> str:
        return self.names[row.case.agent]

    def rows(
        self,
        name: str,
        searches: Mapping[str, Search],
        rule: CaseRule,
        *,
        only: Iterable[Case] | None = None,
        alone: bool = False,
    ) -> list[Row]:
        """Run, or go on with, the study of that name over all agents; its file stays in the folder.

        `alone` asks one question at a time in this process, which is how time per question is measured.
        """
        study = make_study(list(self.agents.values()), searches, rule, seed=self.seed, only=only)
        path, show = self.out / f"{name}.sqlite", self.tell(name)
        if alone:
            run_study(study, path, workers=1, chunk=1, show=show)
        else:
            run_study(study, path, workers=self.workers, engine=self.engine, address=self.address, show=show)
        return read_rows(path)

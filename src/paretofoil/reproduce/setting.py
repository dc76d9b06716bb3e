"""What all experiments share: which agents, where to write, how to run, what to tell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paretofoil.agents import Agent, load_agent
from paretofoil.reproduce.paper import ENVIRONMENTS
from paretofoil.search import Search
from paretofoil.study import CaseRule, Progress, Row, make_study, read_rows, run_study
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
    tell: Tell = lambda name: None  # noqa: E731

    def load(self, environment: str) -> Agent:
        return load_agent(self.agents[environment])

    def rows(self, name: str, searches: Mapping[str, Search], rule: CaseRule) -> list[Row]:
        """Run, or go on with, the study of that name over all agents; its file stays in the folder."""
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / f"{name}.sqlite"
        study = make_study(list(self.agents.values()), searches, rule, seed=self.seed)
        run_study(study, path, workers=self.workers, engine=self.engine, address=self.address, show=self.tell(name))
        return read_rows(path)

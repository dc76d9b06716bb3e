"""The command `paretofoil reproduce`, which this package adds to the command line of `paretofoil`."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import console, print_table, say, study_bars
from paretofoil.cli.options import Address, AllowImport, Engine, Log, Quiet, Workers
from paretofoil.core.errors import MAX_SEED

if TYPE_CHECKING:
    from paretofoil_paper import Report


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PAGE",
            help="comparison, stress, audit, agents, claims, worth or all.",
        ),
    ] = "all",
    out: Annotated[Path, typer.Option(help="Folder for reports, tables, figures and rows.")] = Path("results"),
    agent: Annotated[
        list[str] | None, typer.Option(help="Agent in place of the shipped one, as ENVIRONMENT=AGENT. Repeatable.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Environments to run, separated by commas.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of searches and stochastic environments.")] = 0,
    agent_seeds: Annotated[
        str | None, typer.Option(help="Training seeds for `agents`, separated by commas; 10,11,12,13,14 if omitted.")
    ] = None,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    grid_dimension: Annotated[
        int, typer.Option(help="Largest number of objectives for the grid of `audit` (4 takes hours).")
    ] = 3,
    full_grid: Annotated[
        bool, typer.Option("--full-grid", help="Run the grid of `audit` on all proven infeasible cases, too.")
    ] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Run no study; write the reports from rows/*.parquet in the folder.")
    ] = False,
    allow_import: AllowImport = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Reproduce the paper's tables and figures with our agents. An interrupted run resumes when it is started again."""
    from paretofoil.core.errors import InvalidInput
    from paretofoil_paper import PAGES, SEPARATE, Plan, page
    from paretofoil_paper.pages.index import index
    from paretofoil_paper.plan import Log, provenance

    if name != "all" and name not in PAGES:
        raise InvalidInput.expected(f"a page among {', '.join(PAGES)}, all", repr(name))
    with study_bars(quiet, log, "Run the same command again to resume.") as tell:
        plan = Plan(
            out=out,
            agents=_agents(agent or [], only),
            seed=seed,
            workers=workers,
            engine=engine,  # type: ignore[arg-type]
            address=address,
            grid_dimension=grid_dimension,
            full_grid=full_grid,
            recorded=recorded,
            tell=tell,
            **_seeds(agent_seeds),
        )
        chosen = [key for key in PAGES if recorded or key not in SEPARATE] if name == "all" else [name]
        reports = {}
        for current in chosen:
            started, logged = time.perf_counter(), replace(plan, log=Log())
            reports[current] = report = page(current)(logged)
            report.say("---", provenance(current, logged, time.perf_counter() - started))
            file = report.write(out, current)
            _print(report)
            say((f"The report is in {file}.\n", "dim"))
        if set(reports) == set(PAGES):
            index(reports).write(out, "README")


def _print(report: "Report") -> None:
    from rich.markdown import Markdown

    from paretofoil.study.table import Table

    console.print(Markdown(f"# {report.title}"))
    for part in report.parts:
        if isinstance(part, str):
            console.print(Markdown(part))
        elif isinstance(part, Table):
            print_table(part)


def _seeds(text: str | None) -> dict[str, Any]:
    """Return the seeds as an argument of `Plan`; nothing if none were given."""
    from paretofoil.core.errors import InvalidInput

    if text is None:
        return {}
    parts = text.replace(" ", "").split(",")
    if not all(part.isdecimal() for part in parts) or len(set(parts)) != len(parts):
        raise InvalidInput.expected("--agent-seeds as different whole numbers separated by commas", repr(text))
    return {"agent_seeds": tuple(map(int, parts))}


def _agents(replacements: list[str], only: str | None) -> dict[str, str]:
    """Return the agent of each environment of the paper that is to be run."""
    from paretofoil.agents.store import hiding_folder
    from paretofoil.core.errors import InvalidInput
    from paretofoil_paper.plan import shipped_agents

    agents = shipped_agents()
    for item in replacements:
        environment, _, source = item.partition("=")
        if environment not in agents or not source:
            raise InvalidInput.expected(f"--agent ENVIRONMENT=AGENT with one of {', '.join(agents)}", repr(item))
        agents[environment] = str(hiding_folder(source) or source)  # a local agent hides a shipped one
    if only is None:
        return agents
    environments = only.replace(" ", "").split(",")
    for environment in environments:
        if environment not in agents:
            raise InvalidInput.expected(f"--only with environments among {', '.join(agents)}", repr(environment))
    return {environment: agents[environment] for environment in environments}

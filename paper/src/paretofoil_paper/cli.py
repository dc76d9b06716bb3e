"""paretofoil reproduce."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import console, print_table, say
from paretofoil.cli.options import Address, AllowImport, Engine, Log, Quiet, Workers
from paretofoil.cli.progress import stop_message, study_bars
from paretofoil.core.whole_number import MOST_SEED

if TYPE_CHECKING:
    from paretofoil_paper import Report


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="examples, stress, comparison, ablation, audit, runtime, front, landscapes, claims, "
            "consequences, influence, attainable, differences, authors, seeds or all."
        ),
    ] = "all",
    out: Annotated[Path, typer.Option(help="The folder for reports, figures and rows.")] = Path("results"),
    agent: Annotated[
        list[str] | None, typer.Option(help="ENVIRONMENT=AGENT: another agent than the shipped one; may be repeated.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only these environments, with commas between them.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The seed of searches and of chance.")] = 0,
    agent_seeds: Annotated[
        str | None, typer.Option(help="Seeds: those of the agents to train, with commas; 10,11,12,13,14 if left out.")
    ] = None,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    grid_dimension: Annotated[
        int, typer.Option(help="Audit: the grid for up to so many objectives (4 takes hours).")
    ] = 3,
    full_grid: Annotated[bool, typer.Option("--full-grid", help="Audit: the grid on proven cases as well.")] = False,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Ask no study again: write the reports from rows/*.parquet of that folder."),
    ] = False,
    allow_import: AllowImport = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Regenerate the paper's tables and figures on our agents. Stopped at any moment, it goes on when run again."""
    from paretofoil.core.errors import InvalidInput
    from paretofoil_paper import APART, EXPERIMENTS, Plan, experiment
    from paretofoil_paper.plan import Log, provenance

    if what != "all" and what not in EXPERIMENTS:
        raise InvalidInput.expected(f"an experiment among {', '.join(EXPERIMENTS)}, all", repr(what))
    with study_bars(quiet, log) as tell, stop_message("Run the same command again to go on."):
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
        for name in [name for name in EXPERIMENTS if name not in APART] if what == "all" else [what]:
            started, logged = time.perf_counter(), replace(plan, log=Log())
            report = experiment(name)(logged)
            report.say("---", provenance(name, logged, time.perf_counter() - started))
            page = report.write(out, name)
            _print(report)
            say((f"The report is in {page}.\n", "dim"))


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
    """What was typed as an argument of the plan; nothing leaves the plan its own."""
    from paretofoil.core.errors import InvalidInput

    if text is None:
        return {}
    parts = text.replace(" ", "").split(",")
    if not all(part.isdecimal() for part in parts) or len(set(parts)) != len(parts):
        raise InvalidInput.expected("--agent-seeds as different whole numbers with commas between them", repr(text))
    return {"agent_seeds": tuple(map(int, parts))}


def _agents(replaced: list[str], only: str | None) -> dict[str, str]:
    """The paper's environments with the agents to use."""
    from paretofoil.agents.store import hiding
    from paretofoil.core.errors import InvalidInput
    from paretofoil_paper.plan import shipped_agents

    agents = shipped_agents()
    for item in replaced:
        environment, _, name = item.partition("=")
        if environment not in agents or not name:
            raise InvalidInput.expected(f"--agent ENVIRONMENT=AGENT with one of {', '.join(agents)}", repr(item))
        agents[environment] = str(hiding(name) or name)  # a folder, where the name alone is that of a shipped one
    if only is None:
        return agents
    wanted = only.replace(" ", "").split(",")
    for name in wanted:
        if name not in agents:
            raise InvalidInput.expected(f"--only with environments among {', '.join(agents)}", repr(name))
    return {name: agents[name] for name in wanted}

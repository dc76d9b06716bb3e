"""paretofoil figure: the figures of the paper, for any agent."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import say
from paretofoil.cli.options import AgentName, AllowImport

app = typer.Typer(help="Draw figures.", no_args_is_help=True)


@app.callback()
def figures() -> None:
    """Draw figures."""


@app.command()
def front(
    agent: AgentName,
    out: Annotated[Path | None, typer.Option(help="The file to write; NAME-front.png if left out.")] = None,
    allow_import: AllowImport = None,
) -> None:
    """The front an agent learned, and what greedy rollouts achieve under each of its commands."""
    from paretofoil.cli.typed_agent import find_agent
    from paretofoil.show.front_figure import figure_front
    from paretofoil.show.palette import check_figure_path

    loaded = find_agent(agent)
    name = loaded.name.replace("/", "-").replace("\\", "-")  # here, and nowhere else, whatever an agent is called
    path = out or Path(f"{name}-front.png")
    check_figure_path(path)
    figure_front(loaded, path)
    say(f"Drew the front of {loaded.name} into {path}.")

"""The verb `paretofoil figure`."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import say
from paretofoil.cli.options import AgentName, AllowImport

app = typer.Typer(help="Draw figures of an agent.", no_args_is_help=True)


@app.command()
def front(
    agent: AgentName,
    out: Annotated[Path | None, typer.Option(help="File of the figure; NAME-front.png if omitted.")] = None,
    allow_import: AllowImport = None,
) -> None:
    """Draw the front that the agent learned, and what greedy rollouts of its commands achieve."""
    from paretofoil.cli.typed import find_agent
    from paretofoil.show.front_figure import figure_front

    loaded = find_agent(agent)
    name = loaded.name.replace("/", "-").replace("\\", "-")  # the file is written to the current folder
    path = out or Path(f"{name}-front.png")
    figure_front(loaded, path)
    say(f"Wrote the front of {loaded.name} to {path}.")

"""paretofoil figure: the figures of the paper, for any agent."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Draw figures.", no_args_is_help=True)


@app.callback()
def figures() -> None:
    """Draw figures."""


@app.command()
def front(
    agent: Annotated[str, typer.Argument(help="An agent's name or folder.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; NAME-front.png if left out.")] = None,
) -> None:
    """The front an agent learned, and what greedy rollouts achieve under each of its commands."""
    from paretofoil.agents import load_agent
    from paretofoil.cli.console import console
    from paretofoil.show.front_figure import figure_front

    loaded = load_agent(agent)
    path = out or Path(f"{loaded.name}-front.png")
    figure_front(loaded, path)
    console.print(f"Drew the front of {loaded.name} into {path}.", highlight=False)

"""paretofoil import."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import note, say
from paretofoil.cli.environment import Actions, MaxSteps, Objectives, find_environment
from paretofoil.cli.new_agent import Overwrite, check_free, make_folder, reached_points
from paretofoil.cli.options import AllowImport, complete_environment

_ENVIRONMENT = "Where it was trained: a name from `paretofoil envs`, or any Gymnasium id, as for `paretofoil train`."
_FRONT = (
    "A text file of the commands that it learned to reach, a row each, with commas between the numbers; what of the "
    "environment's own front it reaches if left out."
)
_RANGE = "What may be asked of an objective, as NAME=LOW:HIGH, with costs as positive sizes; may be repeated."


def import_agent(
    file: Annotated[Path, typer.Argument(help="A PCN as MORL-Baselines' PCN.save or the authors' code wrote it.")],
    environment: Annotated[
        str, typer.Option("--env", help=_ENVIRONMENT, autocompletion=complete_environment, show_default=False)
    ],
    front: Annotated[Path | None, typer.Option(help=_FRONT)] = None,
    ranges: Annotated[list[str] | None, typer.Option("--range", help=_RANGE)] = None,
    objectives: Objectives = None,
    actions: Actions = None,
    max_steps: MaxSteps = None,
    name: Annotated[str | None, typer.Option(help="The agent's name; that of the file if left out.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to put it in; agents/NAME if left out.")] = None,
    overwrite: Overwrite = False,
    allow_import: AllowImport = None,
) -> None:
    """Make an agent of a network that was trained elsewhere. Nothing in its file is executed."""
    import numpy as np

    from paretofoil import agents
    from paretofoil.agents.import_agent import import_agent as make_agent
    from paretofoil.agents.import_agent import with_horizon
    from paretofoil.agents.store import local_folder
    from paretofoil.cli.wish import read_box
    from paretofoil.core.command import CommandSpace

    folder = out or local_folder() / (name or file.stem)
    if not overwrite:
        check_free(folder)
    entry = find_environment(environment, objectives, actions, max_steps)
    names = with_horizon(entry.objectives)
    box = read_box(ranges or [], CommandSpace(np.zeros(len(names)), np.ones(len(names)), names))
    agent = make_agent(file, entry, front=front, ranges=box, name=name)
    make_folder(folder)
    agents.save_agent(agent, folder)
    stated = agent.provenance.get("returns as stated", "")
    if len(set(stated.split(" of "))) > 1:
        note(f"note: {stated} commands return here what {front} states. Is it another environment?")
    reached = reached_points(int(agent.reached().sum()), len(agent.front))
    say(f"Imported {agent.name}: {agent.provenance['imported']}; {reached}. It is in {folder}.")

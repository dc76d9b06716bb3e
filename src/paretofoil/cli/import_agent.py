"""The verb `paretofoil import`."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.agents import NewFolder, Overwrite, make_folder, new_folder, reached_points
from paretofoil.cli.console import note, say
from paretofoil.cli.envs import Actions, MaxSteps, Objectives, find_environment
from paretofoil.cli.options import AllowImport, complete_environment

_ENVIRONMENT = "Environment of the training: a name from `paretofoil envs`, or a Gymnasium id."
_FRONT = (
    "Text file of the commands that the agent can reach, one per line, with numbers separated by commas. "
    "If omitted, the points of the environment's own front that the agent reaches."
)
_RANGE = "Range of one objective in commands, as NAME=LOW:HIGH. Costs are positive. Repeatable."


def import_agent(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="PCN saved by MORL-Baselines (PCN.save) or by the paper's authors.")
    ],
    environment: Annotated[
        str, typer.Option("--env", help=_ENVIRONMENT, autocompletion=complete_environment, show_default=False)
    ],
    front: Annotated[Path | None, typer.Option(help=_FRONT)] = None,
    ranges: Annotated[list[str] | None, typer.Option("--range", help=_RANGE)] = None,
    objectives: Objectives = None,
    actions: Actions = None,
    max_steps: MaxSteps = None,
    name: Annotated[str | None, typer.Option(help="Name of the agent; the file's if omitted.")] = None,
    out: NewFolder = None,
    overwrite: Overwrite = False,
    allow_import: AllowImport = None,
) -> None:
    """Import a network that was trained elsewhere. No code in its file is executed."""
    import numpy as np

    from paretofoil import agents
    from paretofoil.agents.agent import HORIZON
    from paretofoil.agents.import_agent import import_agent as make_agent
    from paretofoil.cli.typed import read_ranges
    from paretofoil.core.command import CommandSpace

    folder = new_folder(name or file.stem, out, overwrite=overwrite)
    entry = find_environment(environment, objectives, actions, max_steps)
    names = (*entry.objectives, HORIZON)
    box = read_ranges(ranges or [], CommandSpace(np.zeros(len(names)), np.ones(len(names)), names))
    agent = make_agent(file, entry, front=front, ranges=box, name=name)
    make_folder(folder)
    agents.save_agent(agent, folder)
    confirmed = agent.provenance.get("returns as stated", "")
    if len(set(confirmed.split(" of "))) > 1:
        note(f"note: only {confirmed} commands have the return that {front} states. Is --env the right environment?")
    reached = reached_points(int(agent.reached().sum()), len(agent.front))
    say(f"Imported {agent.name}: {agent.provenance['imported']}; {reached}. Saved in {folder}.")

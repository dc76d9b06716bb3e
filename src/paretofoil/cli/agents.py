"""The verb `paretofoil agents`, and folders for new agents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import AllowImport, complete_agent
from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import CHECKPOINT

if TYPE_CHECKING:
    import numpy as np

    from paretofoil.agents import Agent

_NAME = "Name, folder, or my_module:agent of one agent; all agents if omitted."

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an agent or a stopped training in the folder.")]
NewFolder = Annotated[Path | None, typer.Option(help="Folder of the new agent; agents/NAME if omitted.")]


def agents(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help=_NAME, autocompletion=complete_agent)] = None,
    allow_import: AllowImport = None,
) -> None:
    """List the shipped and local agents, or show the front, commands and provenance of one."""
    from paretofoil.cli.typed import find_agent

    if name is None:
        _list()
    else:
        _show(find_agent(name))


def new_folder(name: str, out: Path | None, *, overwrite: bool) -> Path:
    """Return the folder for a new agent without creating it. Raise an error if its name cannot be used for a folder.

    Without `overwrite`, also raise an error if the folder contains an agent or a stopped training.
    """
    from paretofoil.agents.store import DESCRIPTION, local_folder

    if not name.isprintable() or name in (".", "..") or set(name) & {"/", "\\"}:
        raise InvalidInput.expected("a --name of printable characters without slashes", repr(name))
    folder = out or local_folder() / name
    if overwrite:
        return folder
    if (folder / CHECKPOINT).exists():
        expected = "--resume to continue a stopped training, or --overwrite to replace it"
        raise InvalidInput.expected(expected, f"{folder} with a checkpoint")
    if (folder / DESCRIPTION).exists():
        raise InvalidInput.expected("another --name or --out, or --overwrite", f"{folder}, which contains an agent")
    return folder


def make_folder(folder: Path) -> None:
    """Create a folder, or raise InvalidInput."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.expected("a folder that can be created", f"{folder} ({error.strerror or error})") from None


def reached_points(reached: int, points: int) -> str:
    """Return text such as "3 front points, 2 reached"."""
    from paretofoil.show.numbers import number_of

    return f"{number_of(points, 'front point')}, {reached} reached"


def _list() -> None:
    from paretofoil.agents import list_agents, load_agent
    from paretofoil.agents.store import shipped_folder

    rows, broken = [], {}
    for name, folder in list_agents().items():
        try:
            agent = load_agent(folder)
        except Exception as error:  # the other agents are still listed
            broken[name] = " ".join(str(error).split("\n"))
            continue
        reached = "-" if agent.achieved is None else f"{int(agent.reached().sum())}/{len(agent.front)}"
        origin = "shipped" if folder.parent == shipped_folder() else str(folder)
        steps = agent.provenance.get("steps")
        training = f"{steps:,}" if isinstance(steps, int) and steps else "-"
        rows.append([name, agent.environment.name, str(len(agent.front)), reached, training, origin])
    columns = ["agent", "environment", "front", "reached", "steps", "origin"]
    print_rows("Agents", columns, rows, right=[2, 3, 4])
    for name, reason in broken.items():
        say((name, "bold red"), f" cannot be loaded: {reason}")


def _show(agent: "Agent") -> None:
    from paretofoil.show.numbers import short

    def vector(values: "np.ndarray") -> str:
        return "(" + ", ".join(short(float(v), 4) for v in values) + ")"

    columns, rows = ["command"], [[vector(command)] for command in agent.front]
    if agent.achieved is not None:
        columns += ["achieved", "reached"]
        rows = [[*row, vector(agent.achieved[i]), _accuracy(agent, i)] for i, row in enumerate(rows)]
    say((agent.name, "bold"), f": {agent.environment.description}")
    print_rows(f"Front ({', '.join(agent.space.names)})", columns, rows)
    say("\n", ("Commands", "bold"), f" from {vector(agent.space.low)} to {vector(agent.space.high)}")
    for key, value in agent.provenance.items():
        say((key, "bold"), f": {value}")


def _accuracy(agent: "Agent", i: int) -> str:
    """Return text about how exactly the rollouts of a front command reach it: "exactly", "off by up to 0.2"."""
    import numpy as np

    from paretofoil.show.numbers import short

    if agent.error is not None and agent.error[i].any():
        return "± " + ", ".join(short(float(e)) for e in agent.error[i])
    if agent.reached()[i]:
        return "exactly" if agent.actor is None else "within 1 %"
    achieved = np.asarray(agent.achieved)
    gap = np.abs(achieved[i] - agent.front[i, : achieved.shape[1]])
    return f"off by up to {short(float(gap.max()))}"

"""paretofoil agents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import AllowImport, complete_agent

if TYPE_CHECKING:
    from paretofoil.agents import Agent


def agents(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One agent (name, folder, or my_module:agent); all of them if left out.", autocompletion=complete_agent
        ),
    ] = None,
    allow_import: AllowImport = None,
) -> None:
    """List the shipped and local agents, or show one: its front, what it achieves, its box and provenance."""
    from paretofoil.cli.typed_agent import find_agent

    if name is None:
        _list()
    else:
        _show(find_agent(name))


def _list() -> None:
    from paretofoil.agents import list_agents, load_agent

    rows, broken = [], {}
    for name, folder in list_agents().items():
        try:
            rows.append(_row(name, load_agent(folder), folder))
        except Exception as error:  # whatever is wrong with one of them, the others are to be seen
            broken[name] = " ".join(str(error).split("\n"))
    columns = ["agent", "environment", "front", "reached", "steps", "origin"]
    print_rows("Agents", columns, rows, right=[2, 3, 4])
    for name, reason in broken.items():
        say((name, "bold red"), f" cannot be loaded: {reason}")


def _row(name: str, agent: "Agent", folder: Path) -> list[str]:
    from paretofoil.agents.store import shipped_folder

    reached = "-" if agent.achieved is None else f"{int(agent.reached().sum())}/{len(agent.front)}"
    origin = "shipped" if folder.parent == shipped_folder() else str(folder)
    steps = agent.provenance.get("steps")
    told = f"{steps:,}" if isinstance(steps, int) and steps else "-"
    return [name, agent.environment.name, str(len(agent.front)), reached, told, origin]


def _show(agent: "Agent") -> None:
    import numpy as np

    from paretofoil.show.numbers import short

    def vector(values: np.ndarray) -> str:
        return "(" + ", ".join(short(float(v)) for v in values) + ")"

    rows = []
    for i, command in enumerate(agent.front):
        row = [vector(command)]
        if agent.achieved is not None:
            row += [vector(agent.achieved[i]), _reached(agent, i)]
        rows.append(row)
    names = ", ".join(agent.space.names)
    say((agent.name, "bold"), f": {agent.environment.description}")
    columns = ["commanded", "achieved", "reached"][: 1 if agent.achieved is None else 3]
    print_rows(f"Front ({names})", columns, rows)
    say("\n", ("Commands", "bold"), f" from {vector(agent.space.low)} to {vector(agent.space.high)}")
    for key, value in agent.provenance.items():
        say((key, "bold"), f": {value}")


def _reached(agent: "Agent", i: int) -> str:
    """How close the rollouts of a front point come to it."""
    import numpy as np

    from paretofoil.show.numbers import short

    if agent.error is not None and agent.error[i].any():
        return "± " + ", ".join(short(float(e)) for e in agent.error[i])
    if agent.reached()[i]:
        return "exactly"
    achieved = np.asarray(agent.achieved)
    gap = np.abs(achieved[i] - agent.front[i, : achieved.shape[1]])
    return f"off by up to {short(float(gap.max()))}"

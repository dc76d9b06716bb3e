"""paretofoil agents."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from paretofoil.agents import Agent


def agents(
    name: Annotated[str | None, typer.Argument(help="One agent (name or folder); all of them if left out.")] = None,
) -> None:
    """List the shipped and local agents, or show one: its front, what it achieves, its box and provenance."""
    from paretofoil.agents import load_agent

    if name is None:
        _list()
    else:
        _show(load_agent(name))


def _list() -> None:
    from paretofoil.agents import list_agents, load_agent
    from paretofoil.agents.shelf import shipped_folder
    from paretofoil.cli.console import console
    from paretofoil.show.terminal import table

    rows = []
    for name, folder in list_agents().items():
        agent = load_agent(folder)
        reached = "-" if agent.achieved is None else f"{int(agent.reached().sum())}/{len(agent.front)}"
        origin = "shipped" if folder.parent == shipped_folder() else str(folder)
        steps = agent.provenance.get("steps")
        rows.append(
            [name, agent.environment.name, str(len(agent.front)), reached, f"{steps:,}" if steps else "-", origin]
        )
    columns = ["agent", "environment", "front", "reached", "steps", "origin"]
    console.print(table("Agents", columns, rows, right=[2, 3, 4]))


def _show(agent: "Agent") -> None:
    import numpy as np

    from paretofoil.cli.console import console
    from paretofoil.show.quantity import short
    from paretofoil.show.terminal import table

    def vector(values: np.ndarray) -> str:
        return "(" + ", ".join(short(float(v)) for v in values) + ")"

    rows = []
    for i, command in enumerate(agent.front):
        row = [vector(command)]
        if agent.achieved is not None:
            row += [vector(agent.achieved[i]), _reached(agent, i)]
        rows.append(row)
    names = ", ".join(agent.space.names)
    console.print(f"[bold]{agent.name}[/]: {agent.environment.description}", highlight=False)
    console.print(table(f"Front ({names})", ["commanded", "achieved", "reached"][: len(rows[0])], rows))
    console.print(f"\n[bold]Commands[/] from {vector(agent.space.low)} to {vector(agent.space.high)}", highlight=False)
    for key, value in agent.provenance.items():
        console.print(f"[bold]{key}[/]: {value}", highlight=False)


def _reached(agent: "Agent", i: int) -> str:
    """How close the rollouts of a front point come to it."""
    import numpy as np

    from paretofoil.show.quantity import short

    if agent.error is not None and agent.error[i].any():
        return "± " + ", ".join(short(float(e)) for e in agent.error[i])
    if agent.reached()[i]:
        return "exactly"
    achieved = np.asarray(agent.achieved)
    gap = np.abs(achieved[i] - agent.front[i, : achieved.shape[1]])
    return f"off by up to {short(float(gap.max()))}"

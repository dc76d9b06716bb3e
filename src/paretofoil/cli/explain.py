"""paretofoil explain: what is typed becomes one call of the library, and its answers are printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import say
from paretofoil.cli.options import (
    AgentName,
    AllowImport,
    Box,
    Command,
    Foil,
    Kappa,
    Keep,
    Plot,
    Queries,
    Ranges,
    Search,
    Seconds,
    Seed,
)
from paretofoil.core.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from paretofoil.agents.agent import Agent
    from paretofoil.core.answer import Answer
    from paretofoil.core.decision import Decision

SCHEMA = "paretofoil/explanation/1"
JSON_HELP = "Print one JSON object: agent, environment, command, time, state, remaining, box, and the list of answers."


def explain(
    agent: AgentName,
    command: Command = None,
    at: Annotated[int | None, typer.Option(help="The moment of the episode; 0, the first, if left out.")] = None,
    foil: Foil = None,
    all_foils: Annotated[bool, typer.Option("--all-foils", help="Ask about every other valid action.")] = False,
    state: Annotated[str | None, typer.Option(help="A state of your own, instead of a moment of an episode.")] = None,
    remaining: Annotated[str | None, typer.Option(help="With --state: what is still to be met, as --command.")] = None,
    search: Search = "auto",
    seconds: Seconds = None,
    queries: Queries = None,
    box: Box = "reachable",
    keep: Keep = None,
    ranges: Ranges = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Change as few objectives as possible.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many different answers.")] = 1,
    min_change: Annotated[float, typer.Option(help="Undo changes below this share of an objective's range.")] = 0.0,
    kappa: Kappa = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
    plot: Plot = None,
    axes: Annotated[str | None, typer.Option(help="With --plot: the two objectives to draw, such as A,B.")] = None,
    allow_import: AllowImport = None,
) -> None:
    """Why this, and not that? The smallest change of the command that makes the agent choose the foil."""
    from paretofoil.cli.progress import bars
    from paretofoil.cli.typed_agent import find_agent
    from paretofoil.cli.wish import read_command, read_ranges
    from paretofoil.core.limit import Limits
    from paretofoil.explanation.explain import explain_decision

    _check_foils(foil, all_foils)
    _check_place(command, at, state, remaining)
    limits, loaded = Limits(seconds, queries), find_agent(agent)
    drawn = _check_drawing(plot, axes, loaded)
    issued = None if command is None else read_command(command, loaded.space, "--command")
    decision = _decide(loaded, issued, at or 0, seed, state, remaining)
    within = read_ranges(ranges or [], loaded.space, decision.command)
    with bars(as_json) as start:
        start(loaded.name)(0, told="searching")
        answers = explain_decision(
            loaded,
            decision,
            foils=None if foil is None else [foil],
            search=search,
            limits=limits,
            seed=seed,
            box=box,  # type: ignore[arg-type]  # checked there
            keep=keep or (),
            ranges=within,
            sparse=sparse,
            k=k,
            min_change=min_change,
            kappa=kappa,
        )
    if as_json:
        print(_document(loaded, issued, decision, answers, box))
    else:
        _tell(answers, box)
    if plot is not None:
        _draw(answers, plot, drawn, quiet=as_json)


def _check_foils(foil: str | None, all_foils: bool) -> None:
    if all_foils == (foil is not None):
        raise InvalidInput.expected("either --foil or --all-foils", "both" if all_foils else "neither")


def _check_place(command: str | None, at: int | None, state: str | None, remaining: str | None) -> None:
    """A moment of an episode has --command (and --at), a state of one's own --state and --remaining."""
    if command is None and state is None:
        alone = "--remaining alone" if remaining is not None else "neither"
        raise InvalidInput.expected("--command (what to ask for), or --state with --remaining", alone)
    if command is not None and state is not None:
        raise InvalidInput.expected(
            "either --command (a moment of an episode) or --state (a state of your own)", "both"
        )
    if state is not None and at is not None:
        raise InvalidInput.expected(
            "--at with --command only, since a state of your own is no moment", "--at with --state"
        )
    if (state is None) != (remaining is None):
        got = "--state alone" if remaining is None else "--remaining without it"
        raise InvalidInput.expected("--state together with --remaining (the command that is still to be met)", got)


def _check_drawing(plot: Path | None, axes: str | None, agent: "Agent") -> tuple[str, str] | None:
    """ "A,B" -> ("A", "B"), before anything is searched for."""
    from paretofoil.show.palette import check_figure_path

    if plot is not None:
        check_figure_path(plot)
    if axes is None:
        return None
    if plot is None:
        raise InvalidInput.expected("--plot with --axes", "--axes alone")
    names = [name.strip() for name in axes.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput.expected("--axes with two objectives, such as A,B", repr(axes))
    first, second = (agent.space.names[agent.space.index(name)] for name in names)
    return first, second


def _decide(
    agent: "Agent", issued: "np.ndarray | None", at: int, seed: int, state: str | None, remaining: str | None
) -> "Decision":
    from paretofoil.agents.rollout import decision_in
    from paretofoil.cli.wish import numbers, read_command

    if issued is not None:
        return decision_in(agent, issued, at, seed=seed)
    wanted = read_command(str(remaining), agent.space, "--remaining")
    return agent.decision_at(numbers(str(state), "--state"), wanted)


def _document(
    agent: "Agent", issued: "np.ndarray | None", decision: "Decision", answers: "list[Answer]", box: str
) -> str:
    """What was asked, of whom and where, and the answers: one shape for one foil and for several."""
    from paretofoil.core.document import plain, write_document

    values = {
        "schema": SCHEMA,
        "agent": agent.name,
        "environment": agent.environment.name,
        "command": issued,  # None, as is the time, if the state was one of the user's own
        "time": None if issued is None else decision.step,
        "state": decision.state,
        "remaining": decision.command,
        "box": box,
        "answers": answers,
    }
    return write_document(plain(values), indent=1)


def _tell(answers: "list[Answer]", box: str) -> None:
    from paretofoil.show.sentences import advice

    where = ", in the paper's box" if box == "paper" else ""
    for number, found in enumerate(answers):
        if number:
            say()
        say(found.paragraph())
        for other in found.alternatives:
            say(f"Or: {other} {advice(other)}".rstrip())
        spent = f"{found.total_queries:,} queries, {found.seconds:.2f} s"
        stopped = f" {found.stop.sentence}" if found.stop.early else ""
        say((f"{found.status.value} by {found.search}{where}, {spent}.{stopped}", "dim"))


def _draw(answers: "list[Answer]", path: Path, axes: tuple[str, str] | None, *, quiet: bool) -> None:
    """The first answer, as a figure."""
    first, *others = answers
    first.plot(path, axes=axes)
    if not quiet:
        which = f" of {first.actions[first.foil]}, the first foil," if others else ""
        say((f"The picture{which} is in {path}.", "dim"))

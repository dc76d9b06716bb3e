"""paretofoil explain, paretofoil episode: what is typed becomes one call of the library, and its answer is printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.options import AgentName, Json, Queries, Search, Seconds, Seed
from paretofoil.core.constants import KAPPA

if TYPE_CHECKING:
    from paretofoil.core.answer import Answer

Plot = Annotated[Path | None, typer.Option(help="Draw it into this file.")]


def explain(
    agent: AgentName,
    command: Annotated[str | None, typer.Option(help="What to ask for at the start, such as 8,-8.")] = None,
    at: Annotated[int, typer.Option(help="The moment of the episode to explain, counted from 0.")] = 0,
    foil: Annotated[str | None, typer.Option(help="The action that was not chosen.")] = None,
    all_foils: Annotated[bool, typer.Option("--all-foils", help="Ask about every other valid action.")] = False,
    state: Annotated[str | None, typer.Option(help="A state of your own, instead of a moment of an episode.")] = None,
    remaining: Annotated[str | None, typer.Option(help="With --state: the command that is still to be met.")] = None,
    search: Search = "auto",
    seconds: Seconds = None,
    queries: Queries = None,
    keep: Annotated[list[str] | None, typer.Option(help="An objective that must not change; may be repeated.")] = None,
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="What may be asked for, as NAME=LOW:HIGH; may be repeated.")
    ] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Change as few objectives as possible.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many different answers.")] = 1,
    min_change: Annotated[float, typer.Option(help="Undo changes below this share of an objective's range.")] = 0.0,
    kappa: Annotated[float, typer.Option(help="By how much the foil must win.")] = KAPPA,
    seed: Seed = 0,
    as_json: Json = False,
    plot: Plot = None,
    axes: Annotated[str | None, typer.Option(help="With --plot: the two objectives to draw, such as A,B.")] = None,
) -> None:
    """Why this, and not that? The smallest change of the command that makes the agent choose the foil."""
    from paretofoil.agents.rollout import decision_in
    from paretofoil.agents.shelf import load_agent
    from paretofoil.cli.console import numbers
    from paretofoil.core.errors import InvalidInput
    from paretofoil.core.limit import Limits
    from paretofoil.explanation.explain import explain_decision

    if all_foils == (foil is not None):
        raise InvalidInput.expected("either --foil or --all-foils", "both" if all_foils else "neither")
    loaded = load_agent(agent)
    if state is not None:
        if remaining is None:
            raise InvalidInput.expected("--remaining (the command that is still to be met) with --state", "none")
        decision = loaded.decision_at(numbers(state, "--state"), numbers(remaining, "--remaining"))
    elif command is not None:
        decision = decision_in(loaded, numbers(command, "--command"), at, seed=seed)
    else:
        raise InvalidInput.expected("--command (what to ask for), or --state with --remaining", "neither")
    answers = explain_decision(
        loaded,
        decision,
        foils=None if foil is None else [foil],
        search=search,
        limits=Limits(seconds, queries),
        seed=seed,
        keep=keep or (),
        ranges=_ranges(ranges or []),
        sparse=sparse,
        k=k,
        min_change=min_change,
        kappa=kappa,
    )
    _print(answers, as_json)
    if plot is not None:
        answers[0].plot(plot, axes=_axes(axes))
        _told(plot, quiet=as_json)


def _print(answers: "list[Answer]", as_json: bool) -> None:
    from paretofoil.cli.console import console

    if as_json:
        texts = [answer.to_json(indent=1) for answer in answers]
        print(texts[0] if len(texts) == 1 else "[" + ",\n".join(texts) + "]")
        return
    for number, found in enumerate(answers):
        if number:
            console.print()
        console.print(found.paragraph(), highlight=False)
        for other in found.alternatives:
            console.print(f"Or: {other}", highlight=False)
        spent = f"{found.total_queries:,} queries, {found.seconds:.2f} s"
        stopped = f" {found.stop.sentence}" if found.stop.early else ""
        console.print(f"[dim]{found.outcome.value} by {found.search}, {spent}.{stopped}[/]", highlight=False)


def _ranges(texts: list[str]) -> dict[str, tuple[float, float]]:
    """["treasure=5:10"] -> {"treasure": (5.0, 10.0)}."""
    from paretofoil.core.errors import InvalidInput

    ranges = {}
    for text in texts:
        name, _, ends = text.partition("=")
        low, _, high = ends.partition(":")
        try:
            ranges[name] = (float(low), float(high))
        except ValueError:
            raise InvalidInput.expected("--range as NAME=LOW:HIGH, such as treasure=5:10", repr(text)) from None
    return ranges


def _axes(text: str | None) -> tuple[str, str] | None:
    """ "A,B" -> ("A", "B")."""
    from paretofoil.core.errors import InvalidInput

    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput.expected("--axes with two objectives, such as A,B", repr(text))
    return names[0], names[1]


def _told(path: Path, *, quiet: bool) -> None:
    from paretofoil.cli.console import console

    if not quiet:
        console.print(f"[dim]The picture is in {path}.[/]", highlight=False)


def episode(
    agent: AgentName,
    command: Annotated[str, typer.Option(help="What to ask for at the start, such as 8,-8.")],
    search: Search = "auto",
    seconds: Seconds = None,
    queries: Queries = None,
    seed: Seed = 0,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Every decision of an episode and every foil: when could the agent be steered, and how easily?"""
    from paretofoil.agents.shelf import load_agent
    from paretofoil.cli.console import console, numbers
    from paretofoil.core.limit import Limits
    from paretofoil.explanation.explain import explain_episode
    from paretofoil.show.flip_map_table import flip_map_table, summary

    loaded, limits = load_agent(agent), Limits(seconds, queries)
    flips = explain_episode(loaded, numbers(command, "--command"), search=search, limits=limits, seed=seed)
    if as_json:
        print(flips.to_json(indent=1))
    else:
        console.print(flip_map_table(flips))
        console.print(summary(flips), highlight=False)
    if plot is not None:
        flips.plot(plot)
        _told(plot, quiet=as_json)

"""paretofoil explain, paretofoil episode."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from paretofoil.agents import Agent
    from paretofoil.counterfactual import Counterfactual
    from paretofoil.decision import Decision

AgentName = Annotated[str, typer.Argument(help="An agent's name (see `paretofoil agents`) or folder.")]
Command = Annotated[str, typer.Option(help="What to ask for at the start, such as 8,-8.")]
SearchName = Annotated[
    str,
    typer.Option(help="auto, exact, boundary, cf-zoo, cf-zoo:comparison, cf-zoo:thorough, local-zoo, nearest-front."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed of the search and of chance in the environment.")]


def explain(
    agent: AgentName,
    command: Annotated[str | None, typer.Option(help="What to ask for at the start, such as 8,-8.")] = None,
    at: Annotated[int, typer.Option(help="The moment of the episode to explain, counted from 0.")] = 0,
    foil: Annotated[str | None, typer.Option(help="The action that was not chosen.")] = None,
    all_foils: Annotated[bool, typer.Option("--all-foils", help="Ask about every other valid action.")] = False,
    state: Annotated[str | None, typer.Option(help="A state of your own, instead of a moment of an episode.")] = None,
    remaining: Annotated[str | None, typer.Option(help="With --state: the command that is still to be met.")] = None,
    search: SearchName = "auto",
    seconds: Annotated[float | None, typer.Option(help="Stop the search after this time with the best so far.")] = None,
    queries: Annotated[int | None, typer.Option(help="The budget of queries of a black-box search.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="An objective that must not change; may be repeated.")] = None,
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="What may be asked for, as NAME=LOW:HIGH; may be repeated.")
    ] = None,
    sparse: Annotated[bool, typer.Option("--sparse", help="Change as few objectives as possible.")] = False,
    k: Annotated[int, typer.Option("-k", help="How many different answers.")] = 1,
    min_change: Annotated[float, typer.Option(help="Undo changes below this share of an objective's range.")] = 0.0,
    kappa: Annotated[float, typer.Option(help="By how much the foil must win.")] = 0.05,
    seed: Seed = 0,
    as_json: Json = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the landscape of the decision into this file.")] = None,
    axes: Annotated[str | None, typer.Option(help="With --plot: the two objectives to draw, such as A,B.")] = None,
) -> None:
    """Why this, and not that? The smallest change of the command that makes the agent choose the foil."""
    from paretofoil.agents import load_agent
    from paretofoil.cli.words import numbers
    from paretofoil.episode import rollout
    from paretofoil.errors import InvalidInput
    from paretofoil.explanation import explain as explain_one
    from paretofoil.explanation import find_action
    from paretofoil.search import choose_search, limit_search

    loaded = load_agent(agent)
    if state is not None:
        decision = _own_decision(loaded, state, remaining)
    elif command is not None:
        episode = rollout(loaded, numbers(command, "--command"), seed=seed)
        if not 0 <= at < len(episode):
            raise InvalidInput.expected(f"--at from 0 to {len(episode) - 1}, the moments of this episode", at)
        decision = episode[at]
    else:
        raise InvalidInput.expected("--command (what to ask for), or --state with --remaining", "neither")
    if all_foils == (foil is not None):
        raise InvalidInput.expected("either --foil or --all-foils", "both" if all_foils else "neither")
    foils = [find_action(foil, loaded.actions)] if foil is not None else _others(decision)
    chosen = limit_search(choose_search(search, loaded.policy, seed), seconds=seconds, queries=queries)
    answers = [
        explain_one(
            loaded,
            decision,
            foil=f,
            search=chosen,
            keep=keep or (),
            ranges=_ranges(ranges or []),
            sparse=sparse,
            k=k,
            min_change=min_change,
            kappa=kappa,
        )
        for f in foils
    ]
    _print(answers, as_json)
    if plot is not None:
        _plot(loaded, decision, answers[0], plot, axes, quiet=as_json)


def _own_decision(agent: "Agent", state: str, remaining: str | None) -> "Decision":
    from paretofoil.cli.words import numbers
    from paretofoil.errors import InvalidInput

    if remaining is None:
        raise InvalidInput.expected("--remaining (the command that is still to be met) with --state", "none")
    return agent.decision_at(numbers(state, "--state"), numbers(remaining, "--remaining"))


def _others(decision: "Decision") -> list[int]:
    from paretofoil.errors import InvalidInput

    others = [a for a in decision.valid_actions if a != decision.action]
    if not others:
        raise InvalidInput.expected("a moment with at least two valid actions", "one with a single valid action")
    return others


def _print(answers: "list[Counterfactual]", as_json: bool) -> None:
    from paretofoil.cli.words import console

    if as_json:
        text = (
            answers[0].to_json(indent=1)
            if len(answers) == 1
            else "[" + ",\n".join(a.to_json(indent=1) for a in answers) + "]"
        )
        print(text)
        return
    for number, found in enumerate(answers):
        if number:
            console.print()
        console.print(found.paragraph(), highlight=False)
        for other in found.alternatives:
            console.print(f"Or: {other}", highlight=False)
        console.print(
            f"[dim]{found.outcome.value} by {found.search}, {found.total_queries:,} queries, {found.seconds:.2f} s[/]",
            highlight=False,
        )


def _ranges(texts: list[str]) -> dict[str, tuple[float, float]]:
    """["treasure=5:10"] -> {"treasure": (5.0, 10.0)}."""
    from paretofoil.errors import InvalidInput

    ranges = {}
    for text in texts:
        name, _, ends = text.partition("=")
        low, _, high = ends.partition(":")
        try:
            ranges[name] = (float(low), float(high))
        except ValueError:
            raise InvalidInput.expected("--range as NAME=LOW:HIGH, such as treasure=5:10", repr(text)) from None
    return ranges


def _plot(
    agent: "Agent", decision: "Decision", found: "Counterfactual", path: Path, axes: str | None, *, quiet: bool
) -> None:
    from paretofoil.cli.words import console
    from paretofoil.errors import InvalidInput
    from paretofoil.show.decision_figure import draw_decision

    chosen = None
    if axes is not None:
        names = [name.strip() for name in axes.split(",")]
        if len(set(names)) != 2:
            raise InvalidInput.expected("--axes with two objectives, such as A,B", repr(axes))
        chosen = (agent.space.index(names[0]), agent.space.index(names[1]))
    draw_decision(agent, decision, [found], path, axes=chosen)
    if not quiet:
        console.print(f"[dim]The picture is in {path}.[/]", highlight=False)


def episode(
    agent: AgentName,
    command: Command,
    search: SearchName = "auto",
    seed: Seed = 0,
    as_json: Json = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the flip map into this file.")] = None,
) -> None:
    """Every decision of an episode and every foil: when could the agent be steered, and how easily?"""
    from paretofoil.agents import load_agent
    from paretofoil.cli.words import console, numbers
    from paretofoil.explanation import explain_episode
    from paretofoil.search import choose_search
    from paretofoil.show.flip_map_table import flip_map_table, summary

    loaded = load_agent(agent)
    chosen = choose_search(search, loaded.policy, seed)
    flips = explain_episode(loaded, numbers(command, "--command"), search=chosen, seed=seed)
    if as_json:
        print(flips.to_json(indent=1))
    else:
        console.print(flip_map_table(flips))
        console.print(summary(flips), highlight=False)
    if plot is not None:
        from paretofoil.show.flip_map_figure import draw_flip_map

        draw_flip_map(flips, path=plot)
        if not as_json:
            console.print(f"[dim]The picture is in {plot}.[/]", highlight=False)

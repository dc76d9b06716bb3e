"""The verb `paretofoil explain`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli import options as shared
from paretofoil.cli.console import bars, print_json, say, say_written
from paretofoil.core.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np

    from paretofoil.agents.agent import Agent
    from paretofoil.core.answer import Answer
    from paretofoil.core.decision import Decision
    from paretofoil.core.options import Options

SCHEMA = "paretofoil/explanation/2"
_JSON = "Print one JSON object: agent, environment, command, step, state, remaining, options and answers."

_OUTCOME = (
    'Outcome of the episode as foil, such as "treasure >= 50, time <= 10" (costs are positive). Other clauses: '
    '"dominates treasure=8 time=8", "steps <= 10", "ends", "takes down", "never takes down", "visits (3, 4)".'
)


@shared.with_options()
def explain(
    agent: shared.AgentName,
    command: shared.Command = None,
    at: Annotated[int | None, typer.Option(metavar="STEP", help="Step of the episode; 0 if omitted.")] = None,
    foil: shared.Foil = None,
    outcome: Annotated[str | None, typer.Option(metavar="OUTCOME", help=_OUTCOME)] = None,
    all_foils: Annotated[bool, typer.Option("--all-foils", help="Ask about every other valid action.")] = False,
    state: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="State of the decision, instead of --command and --at.")
    ] = None,
    remaining: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Command in the state of --state, written like --command.")
    ] = None,
    search: shared.Search = "auto",
    seconds: shared.Seconds = None,
    queries: shared.Queries = None,
    seed: shared.Seed = 0,
    options: dict[str, Any] = {},  # noqa: B006 (replaced by with_options)
    as_json: Annotated[bool, typer.Option("--json", help=_JSON)] = False,
    plot: shared.Plot = None,
    axes: Annotated[str | None, typer.Option(help="The two objectives that --plot draws, such as A,B.")] = None,
    allow_import: shared.AllowImport = None,
) -> None:
    """Find the smallest change of the command that makes the agent choose another action, the foil.

    The foil may also be an outcome of the whole episode.
    """
    from paretofoil.agents.agent import decision_in
    from paretofoil.cli.typed import find_agent, read_command, read_numbers, read_options
    from paretofoil.core.options import Limits
    from paretofoil.explanation.explain import explain_decision
    from paretofoil.explanation.outcome import outcome as make_outcome

    foils = [name for name, value in (("--foil", foil), ("--outcome", outcome), ("--all-foils", all_foils)) if value]
    if len(foils) != 1:
        raise InvalidInput.expected("one of --foil, --outcome and --all-foils", " and ".join(foils) or "none of them")
    _check_place(command, at, state, remaining)
    limits, loaded = Limits(seconds, queries), find_agent(agent)
    plotted_axes = _read_axes(plot, axes, loaded)
    issued = None if command is None else read_command(command, loaded.space, "--command")
    if issued is not None:
        decision = decision_in(loaded, issued, at or 0, seed=seed)
    else:
        asked_for = read_command(str(remaining), loaded.space, "--remaining")
        decision = loaded.decision_at(read_numbers(str(state), "--state"), asked_for)
    settings = read_options(options, loaded.space, decision.command)
    with bars(as_json) as start:
        start(loaded.name)(0, text="searching")
        answers = explain_decision(
            loaded,
            decision,
            foils=None if all_foils else [foil] if foil else [make_outcome(str(outcome))],
            search=search,
            limits=limits,
            seed=seed,
            options=settings,
        )
    if as_json:
        print_json(_values(loaded, issued, decision, answers, settings))
    else:
        _print(answers, settings)
    if plot is not None:
        first, *others = answers
        first.plot(plot, axes=plotted_axes)
        which = f" of {first.question.foil_name}, the first foil," if others else ""
        say_written(f"the figure{which}", plot, quiet=as_json)


def _check_place(command: str | None, at: int | None, state: str | None, remaining: str | None) -> None:
    """Check that either a step of an episode (--command, --at) or a state (--state, --remaining) is given."""
    options = {"--command": command, "--at": at, "--state": state, "--remaining": remaining}
    names = [name for name, value in options.items() if value is not None]
    if names not in (["--command"], ["--command", "--at"], ["--state", "--remaining"]):
        expected = "--command (and --at) for a step of an episode, or --state and --remaining for any state"
        raise InvalidInput.expected(expected, ", ".join(names) or "none of them")


def _read_axes(plot: Path | None, axes: str | None, agent: "Agent") -> tuple[str, str] | None:
    """Return the two objectives of --axes; "A,B" gives ("A", "B")."""
    if axes is None:
        return None
    if plot is None:
        raise InvalidInput.expected("--plot with --axes", f"--axes {axes} alone")
    names = [name.strip() for name in axes.split(",")]
    if len(names) != 2 or names[0] == names[1]:
        raise InvalidInput.expected("--axes with two objectives, such as A,B", repr(axes))
    first, second = (agent.space.names[agent.space.index(name)] for name in names)
    return first, second


def _values(
    agent: "Agent", issued: "np.ndarray | None", decision: "Decision", answers: "list[Answer]", options: "Options"
) -> dict[str, Any]:
    """Return the JSON values of the decision and its answers."""
    return {
        "schema": SCHEMA,
        "agent": agent.name,
        "environment": agent.environment.name,
        "command": issued,  # None, as is the step, for a state given by --state
        "step": None if issued is None else decision.step,
        "state": decision.state,
        "remaining": decision.command,
        "options": options,
        "answers": answers,
    }


def _print(answers: "list[Answer]", options: "Options") -> None:
    from paretofoil.show.sentences import advice, sections

    where = ", in the paper's box" if options.box == "paper" else ""
    for number, answer in enumerate(answers):
        if number:
            say()
        for topic, text in sections(answer).items():
            say(*([(f"{topic}: ", "bold"), text] if topic else [text]))
        for other in answer.alternatives:
            say(f"Or: {other} {advice(other)}".rstrip())
        spent = f"{answer.total_queries:,} queries, {answer.search.seconds:.2f} s"
        stopped = f" {answer.search.stop.sentence}" if answer.search.stop.early else ""
        say((f"{answer.status.value} by {answer.search.name}{where}, {spent}.{stopped}", "dim"))

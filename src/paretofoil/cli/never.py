"""The verb `paretofoil never`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import bars, print_json, say
from paretofoil.cli.options import AgentName, AllowImport, Quiet, Seed

if TYPE_CHECKING:
    from paretofoil.explanation.never import Never

SCHEMA = "paretofoil/never/1"
_ACTION = (
    'Action, or an amount such as "release >= 80". '
    "If omitted, every action; for continuous actions, several intervals of their range."
)
_WIDTH = "Width of a box around each state, as a share of the range of states, such as 0.01; 0 for the state alone."


def never(
    agent: AgentName,
    action: Annotated[str | None, typer.Argument(metavar="ACTION", help=_ACTION)] = None,
    width: Annotated[float, typer.Option(help=_WIDTH)] = 0.0,
    seconds: Annotated[
        float, typer.Option(help="Time limit per state. A state without a result by then is reported as undecided.")
    ] = 10.0,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all counterexamples.")] = False,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Prove that no command makes the agent choose an action in the states it visits, or print a counterexample."""
    from paretofoil.cli.typed import find_agent
    from paretofoil.explanation.never import all_actions
    from paretofoil.explanation.never import never as prove_never
    from paretofoil.show.numbers import quantities, short

    loaded = find_agent(agent)
    names = all_actions(loaded) if action is None else (action,)
    with bars(quiet) as start:
        results = [
            prove_never(loaded, name, width=width, seconds=seconds, seed=seed, progress=start(name)) for name in names
        ]
    if as_json:
        print_json({"schema": SCHEMA, "agent": loaded.name, "actions": list(map(_values, results))})
        return
    for result in results:
        say((f"{result.action}: ", "bold"), result.sentence())
        example = next((example for example in result.counterexamples if example is not None), None)
        if example is not None and action is not None:
            state = ", ".join(f"{x + 0.0:.6g}" for x in example.state)
            command = quantities(loaded.space.command_objectives, example.command)
            choice, space = result.action, loaded.environment.action_space
            if example.amounts is not None and space is not None:
                rows = zip(example.amounts, space.units, space.names, strict=True)
                choice = " and ".join(f"{short(x)} {unit}".rstrip() + f" of {name}" for x, unit, name in rows)
            say((f"For example, in the state ({state}) under the command {command}, it chooses {choice}.", "dim"))


def _values(result: "Never") -> dict[str, Any]:
    """Return the JSON values of a result, with a verdict for each state."""
    values = {name: getattr(result, name) for name in ("action", "width", "visited", "low", "high", "seconds")}
    states = [
        {
            "state": state,
            "verdict": "never" if proven else "sometimes" if example else "open",
            "counterexample": example,
        }
        for state, proven, example in zip(result.states, result.proven, result.counterexamples, strict=True)
    ]
    return {**values, "states": states}

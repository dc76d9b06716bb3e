"""`paretofoil never`: what an agent never does, whatever it is asked for."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import say
from paretofoil.cli.options import AgentName, AllowImport, Quiet, Seed

if TYPE_CHECKING:
    from paretofoil.explanation.never import Never

SCHEMA = "paretofoil/never/1"


def never(
    agent: AgentName,
    action: Annotated[str | None, typer.Argument(help="The action; each of them if left out.")] = None,
    width: Annotated[
        float, typer.Option(help="Prove it for boxes of states, so wide as a share of the range (0.01); 0: the states.")
    ] = 0.0,
    seconds: Annotated[float, typer.Option(help="Leave a state open after this time.")] = 10.0,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every counterexample.")] = False,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """In the states that the agent visits: is there any command that makes it choose the action? A proof, or one."""
    from paretofoil.cli.progress import bars
    from paretofoil.cli.typed_agent import find_agent
    from paretofoil.core.document import plain, write_document
    from paretofoil.explanation.never import never as prove_never
    from paretofoil.show.numbers import values

    loaded = find_agent(agent)
    names = loaded.actions if action is None else (action,)
    found: list[Never] = []
    with bars(quiet) as start:
        for name in names:
            bar = start(name)
            found.append(prove_never(loaded, name, width=width, seconds=seconds, seed=seed, progress=bar))
    if as_json:
        print(
            write_document(
                plain({"schema": SCHEMA, "agent": loaded.name, "actions": list(map(_values, found))}), indent=1
            )
        )
        return
    for one in found:
        say((f"{one.action}: ", "bold"), one.sentence())
        example = next((example for example in one.counterexamples if example is not None), None)
        if example is not None and action is not None:
            told = values(loaded.space.asked_for, example.command)
            say(
                (f"For example in the state ({', '.join(f'{x:.6g}' for x in example.state)}), asked for {told}.", "dim")
            )


def _values(found: "Never") -> dict[str, Any]:
    """Everything that was settled, state by state."""
    verdicts = [
        "never" if p else "sometimes" if r else "open" for p, r in zip(found.proven, found.refuted, strict=True)
    ]
    return {
        "action": found.action,
        "width": found.width,
        "visited": found.visited,
        "low": found.low,
        "high": found.high,
        "seconds": found.seconds,
        "states": [
            {
                "state": state,
                "verdict": verdict,
                "counterexample": example and {"state": example.state, "command": example.command},
            }
            for state, verdict, example in zip(found.states, verdicts, found.counterexamples, strict=True)
        ],
    }

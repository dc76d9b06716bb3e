"""The verb `paretofoil compare`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.atlas import shares
from paretofoil.cli.console import bars, print_json, print_rows, say, write_figure
from paretofoil.cli.options import (
    AgentName,
    AllowImport,
    Command,
    Plot,
    ProofSeconds,
    Quiet,
    Samples,
    Seed,
    Undecided,
    complete_agent,
)

if TYPE_CHECKING:
    from paretofoil.explanation.compare import Comparison

SCHEMA = "paretofoil/comparison/1"
_OTHER = "Name or folder of another agent in the same environment."


def compare(
    agent: AgentName,
    other: Annotated[str, typer.Argument(metavar="OTHER", help=_OTHER, autocompletion=complete_agent)],
    command: Command = None,
    undecided: Undecided = 0.01,
    seconds: ProofSeconds = 60.0,
    samples: Samples = 10_000,
    plot: Plot = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Compare two agents: prove for which share of the commands their episodes end differently.

    The proof needs at most four objectives, a deterministic environment with finitely many states, and white-box
    policies. Otherwise both agents are rolled out under the same sampled commands. The printed example is a command
    under which the episodes end differently: the one closest to --command, if given.
    """
    from paretofoil.cli.typed import find_agent, read_command
    from paretofoil.explanation.compare import compare as make_comparison
    from paretofoil.show.compare import share_rows

    first, second = find_agent(agent), find_agent(other)
    start_command = None if command is None else read_command(command, first.space, "--command")
    with bars(quiet) as start:
        result = make_comparison(
            first,
            second,
            command=start_command,
            undecided=undecided,
            seconds=seconds,
            samples=samples,
            seed=seed,
            progress=start(f"{first.name}, {second.name}"),
        )
    if as_json:
        print_json(comparison_values(result))
    else:
        say(result.sentence())
        print_rows("", ("share of the commands", *result.agents), share_rows(result), right=(1, 2))
    write_figure(result, plot, quiet=as_json)


def comparison_values(result: "Comparison") -> dict[str, Any]:
    """Return the JSON values of a comparison, without its cells."""
    names = ("agents", "differ", "sampled", "samples", "assumed", "front", "achieved", "reached", "example", "seconds")
    return {
        "schema": SCHEMA,
        **{name: getattr(result, name) for name in names},
        "shares": list(map(shares, result.atlases)),
    }

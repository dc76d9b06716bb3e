"""The verb `paretofoil atlas`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import bars, print_json, print_rows, say, write_figure
from paretofoil.cli.options import AgentName, AllowImport, Command, Plot, ProofSeconds, Quiet, Samples, Seed, Undecided

if TYPE_CHECKING:
    from paretofoil.explanation.atlas import Atlas

SCHEMA = "paretofoil/atlas/1"


def atlas(
    agent: AgentName,
    vary: Annotated[
        str | None,
        typer.Option(help="Two objectives to map, separated by a comma; the others keep their values in --command."),
    ] = None,
    command: Command = None,
    undecided: Undecided = 0.01,
    seconds: ProofSeconds = 60.0,
    samples: Samples = 10_000,
    plot: Plot = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all outcomes.")] = False,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Prove the outcome of every command: list the outcomes, and the share of commands that lead to each.

    The proof needs a deterministic environment with finitely many states, a white-box policy, and at most four
    objectives. Otherwise commands are sampled and rolled out.
    """
    from paretofoil.cli.typed import find_agent, read_command
    from paretofoil.explanation.atlas import atlas as make_atlas
    from paretofoil.show.atlas import LISTED, outcome_text, share_span

    loaded = find_agent(agent)
    fixed = None if command is None else read_command(command, loaded.space, "--command")
    with bars(quiet) as start:
        result = make_atlas(
            loaded,
            vary=None if vary is None else [name.strip() for name in vary.split(",")],
            command=fixed,
            undecided=undecided,
            seconds=seconds,
            samples=samples,
            seed=seed,
            progress=start(loaded.name),
        )
    if as_json:
        print_json(_values(result))
    else:
        say(result.sentence())
        rows = [
            (outcome_text(result, o), share_span(result, o.share), "yes" if o.on_front else "")
            for o in result.outcomes[:LISTED]
        ]
        print_rows("", ("outcome", "commands", "on the front"), rows, right=(1,))
        if len(result.outcomes) > LISTED:
            say((f"{len(result.outcomes) - LISTED:,} other outcomes have smaller shares; --json prints all.", "dim"))
    write_figure(result, plot, quiet=as_json)


def shares(atlas: "Atlas") -> dict[str, tuple[float, float]]:
    """Return the bounds of the shares of commands that end on the front, deliver, and run into the step limit."""
    return {name: atlas.interval(getattr(atlas, name)) for name in ("on_front", "delivers", "unfinished")}


def _values(result: "Atlas") -> dict[str, Any]:
    """Return the JSON values of an atlas, without its cells."""
    sampled = None if result.sampled is None else _values(result.sampled)
    outcomes = [
        {"achieved": o.achieved, "finished": o.finished, "on_front": o.on_front, "share": result.interval(o.share)}
        for o in result.outcomes
    ]
    names = ("agent", "low", "high", "undecided", "samples", "stop", "seconds", "assumed")
    values = {name: getattr(result, name) for name in names}
    return {"schema": SCHEMA, **values, **shares(result), "outcomes": outcomes, "sampled": sampled}

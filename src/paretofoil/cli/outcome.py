"""paretofoil outcome."""

from typing import Annotated

import typer

from paretofoil.cli.console import say
from paretofoil.cli.options import AgentName, AllowImport

_GOAL = 'Wanted outcome, such as "treasure >= 50, time <= 10"; costs are positive.'
SCHEMA = "paretofoil/outcome/1"


def outcome(
    agent: AgentName,
    goal: Annotated[str, typer.Argument(metavar="GOAL", help=_GOAL)],
    command: Annotated[str, typer.Option(help="Original command, such as 8,-8 or treasure=8,time=8.")],
    seconds: Annotated[float, typer.Option(help="Time limit.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    allow_import: AllowImport = None,
) -> None:
    """Find the closest command whose episode meets a goal, and prove that no closer one does."""
    from dataclasses import asdict

    from paretofoil.cli.typed import find_agent, read_command
    from paretofoil.core.json import plain, write_document
    from paretofoil.explanation.outcome import explain_outcome

    loaded = find_agent(agent)
    answer = explain_outcome(loaded, read_command(command, loaded.space, "--command"), goal, seconds=seconds)
    if as_json:
        print(write_document(plain({"schema": SCHEMA, **asdict(answer)}), indent=1))
        return
    say(answer.sentence())

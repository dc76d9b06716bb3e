"""The verb `paretofoil report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import bars, print_rows, say, say_written
from paretofoil.cli.options import AgentName, AllowImport, Quiet, Seed, complete_agent

if TYPE_CHECKING:
    from paretofoil.explanation.report import Report

_WITH = "Name or folder of another agent in the same environment, for a comparison."


def report(
    agent: AgentName,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML file for the report as a page.")] = None,
    other: Annotated[
        str | None, typer.Option("--with", metavar="OTHER", help=_WITH, autocompletion=complete_agent)
    ] = None,
    seconds: Annotated[float, typer.Option(help="Time limit of all proofs together.")] = 60.0,
    seed: Seed = 0,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Write a report card: does the agent do what it is told, and what is proven about it?

    With --html, the report is a page without scripts that loads no other files. Otherwise it is printed as text.
    """
    from paretofoil.cli.typed import find_agent
    from paretofoil.core.files import check_file, write_atomically
    from paretofoil.explanation.report import examine
    from paretofoil.show.report import report_html

    if html is not None:
        check_file(html, "a report's file")
    loaded, second = find_agent(agent), None if other is None else find_agent(other)
    with bars(quiet) as start:
        result = examine(loaded, second, seconds=seconds, seed=seed, bars=start)
    if html is None:
        _print(result)
        return
    write_atomically(html, report_html(result).encode())
    say_written("the report", html, quiet=False)


def _print(result: "Report") -> None:
    from paretofoil.show.report import measures, parts, verdict

    headline = verdict(result)
    say((f"{result.agent.name}. {headline.headline}", "bold"))
    for sentence in headline.sentences:
        say(sentence)
    rows = [(measure.name, measure.shown, measure.how) for measure in measures(result)]
    print_rows("", ("share", "", ""), rows, right=(1,))
    for part in parts(result):
        say()
        say((part.title, "bold"))
        for sentence in filter(None, part.sentences):
            say(sentence)
        if part.rows:
            print_rows("", part.columns, part.rows)

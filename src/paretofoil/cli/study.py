"""The verb `paretofoil study`."""

from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli import options as shared
from paretofoil.cli.console import print_table, say, study_bars, write_or_print
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paretofoil.study import Run, StudyProgress
    from paretofoil.study.statistics import Summary

    Summaries = dict[tuple[str, str], Summary]

app = typer.Typer(help="Run many questions as a resumable study.", no_args_is_help=True)
SUMMARIES = ("markdown", "html", "latex")
FORMATS = ("csv", "parquet", "json", *SUMMARIES)
_SEARCH = f"Searches, separated by commas: auto (here without its time limit), {shared.SEARCHES}."

File = Annotated[Path, typer.Argument(metavar="FILE", help="File of the study.")]


@app.command(cls=shared.VerbCommand)
def run(
    agents: Annotated[
        list[str],
        typer.Argument(metavar="AGENTS", help="Names or folders of agents.", autocompletion=shared.complete_agent),
    ],
    search: Annotated[
        str, typer.Option(metavar="SEARCHES", help=_SEARCH, autocompletion=shared.complete_search)
    ] = "cf-zoo,boundary,exact",
    out: Annotated[Path, typer.Option(help="File of the study; an existing study is continued.")] = Path(
        "study.sqlite"
    ),
    commands: Annotated[int | None, typer.Option(help="Maximum number of commands per front; all if omitted.")] = None,
    steps: Annotated[int | None, typer.Option(help="Maximum number of steps per episode; all if omitted.")] = None,
    foils: Annotated[
        int | None, typer.Option(help="Maximum number of foils per decision, most probable first; all if omitted.")
    ] = None,
    outcome: Annotated[
        list[str] | None, typer.Option(help='Outcome as foil instead of actions, such as "treasure >= 50". Repeatable.')
    ] = None,
    box: shared.Box = DEFAULTS.box,
    kappa: shared.Kappa = None,
    seed: shared.Seed = 0,
    workers: shared.Workers = None,
    chunk: shared.Chunk = None,
    engine: shared.Engine = "local",
    address: shared.Address = None,
    allow_import: shared.AllowImport = None,
    log: shared.Log = None,
    quiet: shared.Quiet = False,
) -> None:
    """Ask about every valid foil at every step of the greedy rollout of every front command.

    With --outcome, ask about outcomes of the episode instead. This needs --search exact.
    """
    from paretofoil.cli.typed import note_hidden
    from paretofoil.study import CaseRule, make_study, run_study

    labels = [label for label in search.replace(" ", "").split(",") if label]
    rule = CaseRule(commands, steps, foils, box=box, outcomes=tuple(outcome or ()))  # type: ignore[arg-type]  # checked there
    for name in agents:
        note_hidden(name)
    study = make_study(agents, labels, rule, seed=seed, kappa=kappa)
    settings: dict[str, Any] = {"workers": workers, "chunk": chunk, "engine": engine, "address": address}
    _run(out, partial(run_study, study, out, **settings), log, quiet)


@app.command()
def resume(
    file: File,
    workers: shared.Workers = None,
    chunk: shared.Chunk = None,
    engine: shared.Engine = "local",
    address: shared.Address = None,
    allow_import: shared.AllowImport = None,
    log: shared.Log = None,
    quiet: shared.Quiet = False,
) -> None:
    """Continue a study that was stopped or killed."""
    from paretofoil.study import resume_study

    settings: dict[str, Any] = {"workers": workers, "chunk": chunk, "engine": engine, "address": address}
    _run(file, partial(resume_study, file, **settings), log, quiet)


def _run(path: Path, ask: "Callable[..., StudyProgress]", log: Path | None, quiet: bool) -> None:
    """Run a study with a progress bar, and print its results."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study.table import summary_table

    with study_bars(quiet, log, f"Continue with `paretofoil study resume {path}`.") as bar:
        done = ask(show=bar(path.stem))
    print_table(summary_table(path.name, _summaries(path)))
    say((f"{number_of(done.asked, 'question')} in {done.seconds:.1f} s; the rows are in {path}.", "dim"))


@app.command()
def status(file: File) -> None:
    """Show the progress and the results of a study. This works while the study runs."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_about, read_runs
    from paretofoil.study.table import summary_table

    configuration, runs = read_about(file)["configuration"], read_runs(file)
    summaries = _summaries(file, configuration["searches"])
    print_table(summary_table(file.name, summaries))
    runs_with_questions = [run for run in runs if run.asked]
    seconds = sum(run.seconds for run in runs_with_questions)
    say(f"{_share_answered(summaries, runs)}; {number_of(len(runs_with_questions), 'run')}, {seconds:,.0f} s.")
    limits = {name: count for name, count in configuration["rule"].items() if isinstance(count, int)}
    rule = [f"at most {number_of(count, name.removesuffix('s'))}" for name, count in limits.items()]
    rule += [f'outcome "{text}"' for text in configuration["rule"].get("outcomes", ())]
    cases = f"agents {', '.join(configuration['agents'])}; cases: {', '.join(rule) or 'all'}"
    only = "" if configuration["only"] is None else f" of {len(configuration['only']):,} chosen ones"
    say((f"{cases}{only}; search region {configuration['rule']['box']}; seed {configuration['seed']}.", "dim"))


def _share_answered(summaries: "Summaries", runs: "list[Run]") -> str:
    """Return text such as "463 of 616 questions answered (75%)"."""
    answered = sum(summary.success.cases for summary in summaries.values())
    total = runs[-1].total if runs else answered
    return f"{answered:,} of {total:,} questions answered ({answered / max(total, 1):.0%})"


@app.command()
def export(
    file: File,
    form: Annotated[
        str, typer.Option("--format", help="csv, parquet or json for the rows; markdown, html or latex for a summary.")
    ] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="File to write. If omitted, standard output; for Parquet, beside the study.")
    ] = None,
    answers: Annotated[bool, typer.Option(help="Parquet: include the whole answers.")] = True,
) -> None:
    """Write the rows of a study, or a summary of them."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_rows, read_runs
    from paretofoil.study.parquet import export_parquet
    from paretofoil.study.table import rows_table, summary_table

    if form not in FORMATS:
        raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
    if form == "parquet":
        path = out or file.with_suffix(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"Wrote {number_of(export_parquet(file, path, answers=answers), 'row')} to {path}.")
        return
    if form in SUMMARIES:
        summaries = _summaries(file)
        table = summary_table(file.name, summaries, _share_answered(summaries, read_runs(file)))
        what = f"a summary of {number_of(sum(summary.success.cases for summary in summaries.values()), 'row')}"
    else:
        table = rows_table(file.stem, read_rows(file), parsed=form == "json")
        what = number_of(len(table.rows), "row")
    write_or_print(table.to(form), out, what)


def _summaries(file: Path, searches: "Iterable[str]" = ()) -> "Summaries":
    """Return a summary per agent and search, and an empty one for each of `searches` that has no rows yet."""
    from paretofoil.study.statistics import summarise
    from paretofoil.study.store import each_row

    groups = groupby(each_row(file), key=lambda row: (row.case.agent, row.search))
    summaries = {key: summarise(rows) for key, rows in groups}
    with_rows = {search for _, search in summaries}
    return summaries | {("–", search): summarise(()) for search in searches if search not in with_rows}

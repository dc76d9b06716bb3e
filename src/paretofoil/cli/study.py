"""paretofoil study."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli import options as shared
from paretofoil.cli.console import print_table, say, write_or_print
from paretofoil.cli.progress import study_bars
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import DEFAULTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paretofoil.study import Row, Run, StudyProgress
    from paretofoil.study.table import Table

app = typer.Typer(help="Run many questions as a resumable study.", no_args_is_help=True)
SUMMARIES = ("markdown", "html", "latex")
FORMATS = ("csv", "parquet", "json", *SUMMARIES)
_SEARCH = f"Searches, separated by commas: auto (here without its time limit), {shared.SEARCHES}."

File = Annotated[Path, typer.Argument(help="File of the study.")]


@app.command(cls=shared.VerbCommand)
def run(
    agents: Annotated[
        list[str], typer.Argument(help="Names or folders of agents.", autocompletion=shared.complete_agent)
    ],
    search: Annotated[
        str, typer.Option(metavar="SEARCHES", help=_SEARCH, autocompletion=shared.complete_search)
    ] = "cf-zoo,boundary,exact",
    out: Annotated[Path, typer.Option(help="File of the study; an existing one is continued.")] = Path("study.sqlite"),
    commands: Annotated[int | None, typer.Option(help="Maximum number of commands per front; all if omitted.")] = None,
    steps: Annotated[int | None, typer.Option(help="Maximum number of steps per episode; all if omitted.")] = None,
    foils: Annotated[
        int | None, typer.Option(help="Maximum number of foils per decision, most probable first; all if omitted.")
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
    """Ask about every valid foil at every step of the greedy rollout of every front command."""
    from paretofoil.cli.typed import note_hidden
    from paretofoil.study import CaseRule, make_study, run_study

    labels = [label for label in search.replace(" ", "").split(",") if label]
    rule = CaseRule(commands, steps, foils, box=box)  # type: ignore[arg-type]  # checked there
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
    """Ask the questions of a study with a progress bar, and print its results."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_rows

    with study_bars(quiet, log, f"Continue with `paretofoil study resume {path}`.") as bar:
        done = ask(show=bar(path.stem))
    print_table(_summary(path.name, read_rows(path)))
    say((f"{number_of(done.asked, 'question')} in {done.seconds:.1f} s; the rows are in {path}.", "dim"))


@app.command()
def status(file: File) -> None:
    """Show the progress and the results of a study. This works while the study runs."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_about, read_rows, read_runs

    configuration, runs, rows = read_about(file)["configuration"], read_runs(file), read_rows(file)
    print_table(_summary(file.name, rows, list(configuration["searches"])))
    finished = [run for run in runs if run.asked]
    seconds = sum(run.seconds for run in finished)
    say(f"{_share_answered(rows, runs)}; {number_of(len(finished), 'run')}, {seconds:,.0f} s.")
    limits = {name: count for name, count in configuration["rule"].items() if isinstance(count, int)}
    rule = [f"at most {number_of(count, name.removesuffix('s'))}" for name, count in limits.items()]
    cases = f"agents {', '.join(configuration['agents'])}; cases: {', '.join(rule) or 'all'}"
    only = "" if configuration["only"] is None else f" of {len(configuration['only']):,} chosen ones"
    say((f"{cases}{only}; search region {configuration['rule']['box']}; seed {configuration['seed']}.", "dim"))


def _share_answered(rows: "list[Row]", runs: "list[Run]") -> str:
    """Return text such as "463 of 616 questions answered (75%)"."""
    total = runs[-1].total if runs else len(rows)
    return f"{len(rows):,} of {total:,} questions answered ({len(rows) / max(total, 1):.0%})"


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
    from paretofoil.study.table import rows_table

    if form not in FORMATS:
        raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
    if form == "parquet":
        path = out or file.with_suffix(".parquet")
        path.parent.mkdir(parents=True, exist_ok=True)
        say(f"Wrote {number_of(export_parquet(file, path, answers=answers), 'row')} to {path}.")
        return
    rows, runs = read_rows(file), read_runs(file)
    if form in SUMMARIES:
        table = _summary(file.name, rows, note=_share_answered(rows, runs))
    else:
        table = rows_table(file.stem, rows, parsed=form == "json")
    what = "a summary of " if form in SUMMARIES else ""
    write_or_print(table.to(form), out, f"{what}{number_of(len(rows), 'row')}")


def _summary(title: str, rows: "list[Row]", searches: "Sequence[str]" = (), note: str = "") -> "Table":
    """Return one line per agent and search, and one for each of `searches` without any row."""
    from paretofoil.study.statistics import summarise
    from paretofoil.study.table import summary_table

    keys = dict.fromkeys((row.case.agent, row.search) for row in rows)
    begun = {search for _, search in keys}
    keys |= dict.fromkeys(("–", search) for search in searches if search not in begun)
    groups = {key: summarise(r for r in rows if (r.case.agent, r.search) == key) for key in keys}
    return summary_table(title, groups, note)

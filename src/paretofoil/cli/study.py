"""paretofoil study: a study of one's own, on any agents, with any searches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_table, say
from paretofoil.cli.options import (
    Address,
    AllowImport,
    Box,
    Engine,
    Kappa,
    Log,
    Quiet,
    Searches,
    Workers,
    complete_agent,
)
from paretofoil.cli.progress import progress_of, stopped_in_peace
from paretofoil.core.whole_number import MOST_SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paretofoil.study import Row, Run, StudyProgress
    from paretofoil.study.table import Table

app = typer.Typer(help="Ask many questions; survive a crash; go on where it was.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="The study's file.")]
SUMMARIES = ("markdown", "html", "latex")
FORMATS = ("csv", "parquet", "json", *SUMMARIES)


@app.command()
def run(
    agents: Annotated[list[str], typer.Argument(help="Agents, by name or folder.", autocompletion=complete_agent)],
    search: Searches = "cf-zoo,boundary,exact",
    out: Annotated[Path, typer.Option(help="The study's file; one that exists is gone on with.")] = Path(
        "study.sqlite"
    ),
    commands: Annotated[int | None, typer.Option(help="At most so many commands of each front.")] = None,
    steps: Annotated[int | None, typer.Option(help="Only the first so many steps of each episode.")] = None,
    foils: Annotated[
        int | None, typer.Option(help="At most so many foils for each decision, the most probable.")
    ] = None,
    box: Box = "reachable",
    kappa: Kappa = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="The seed of searches and of chance.")] = 0,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    allow_import: AllowImport = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Every front command x every moment of its greedy rollout x every valid foil, or as many as you say."""
    from paretofoil.cli.typed_agent import tell_hiding
    from paretofoil.study import CaseRule, make_study, run_study

    labels = [label for label in search.replace(" ", "").split(",") if label]
    rule = CaseRule(commands, steps, foils, box=box)  # type: ignore[arg-type]  # checked there
    for name in agents:
        tell_hiding(name)
    study = make_study(agents, labels, rule, seed=seed, kappa=kappa)
    with progress_of(quiet, log) as tell, stopped_in_peace(f"Go on with `paretofoil study resume {out}`."):
        done = run_study(study, out, workers=workers, engine=engine, address=address, show=tell(out.stem))  # type: ignore[arg-type]
    _finish(out, done)


@app.command()
def resume(
    file: File,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    allow_import: AllowImport = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Go on with a study that was stopped or killed."""
    from paretofoil.study import resume_study

    with progress_of(quiet, log) as tell, stopped_in_peace(f"Go on with `paretofoil study resume {file}`."):
        done = resume_study(file, workers=workers, engine=engine, address=address, show=tell(file.stem))
    _finish(file, done)


@app.command()
def status(file: File) -> None:
    """How far a study is, and what it has found; also while it runs."""
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_about, read_rows, read_runs

    configuration, runs, rows = read_about(file)["configuration"], read_runs(file), read_rows(file)
    print_table(_summary(file.name, rows, list(configuration["searches"])))
    spent = [run for run in runs if run.asked]
    took = f"{number_of(len(spent), 'run')}, {sum(run.seconds for run in spent):,.0f} s"
    say(f"{_how_far(rows, runs)}; {took}.")
    limits = {name: count for name, count in configuration["rule"].items() if isinstance(count, int)}
    rule = [f"at most {number_of(count, name.removesuffix('s'))}" for name, count in limits.items()]
    asked = f"agents {', '.join(configuration['agents'])}; cases: {', '.join(rule) or 'all'}"
    only = "" if configuration["only"] is None else f" of {len(configuration['only']):,} chosen ones"
    say((f"{asked}{only}; {configuration['rule']['box']} box; seed {configuration['seed']}.", "dim"))


def _how_far(rows: "list[Row]", runs: "list[Run]") -> str:
    """ "463 of 616 questions answered (75%)"."""
    total = runs[-1].total if runs else len(rows)
    return f"{len(rows):,} of {total:,} questions answered ({len(rows) / max(total, 1):.0%})"


@app.command()
def export(
    file: File,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)} (the last three: the summary).")] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="The file to write; the screen if left out (Parquet: beside the study).")
    ] = None,
    answers: Annotated[
        bool, typer.Option(help="Parquet: with the whole answers, not only outcome, distance and queries.")
    ] = True,
) -> None:
    """The rows as CSV, Parquet or JSON; the summary as Markdown, HTML or LaTeX."""
    from paretofoil.core.atomic import write_whole
    from paretofoil.core.errors import InvalidInput
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_rows, read_runs
    from paretofoil.study.parquet import export_parquet
    from paretofoil.study.table import rows_table

    if form not in FORMATS:
        raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        path = out or file.with_suffix(".parquet")
        say(f"Wrote {number_of(export_parquet(file, path, answers=answers), 'row')} into {path}.")
        return
    rows, runs = read_rows(file), read_runs(file)
    flat = rows_table(file.stem, rows, parsed=form == "json")
    table = _summary(file.name, rows, note=_how_far(rows, runs)) if form in SUMMARIES else flat
    if out is None:
        print(table.to(form), end="")
        return
    write_whole(out, table.to(form).encode())
    what = f"the summary of {number_of(len(rows), 'row')}" if form in SUMMARIES else number_of(len(rows), "row")
    say(f"Wrote {what} into {out}.")


def _finish(path: Path, done: "StudyProgress") -> None:
    from paretofoil.show.numbers import number_of
    from paretofoil.study import read_rows

    print_table(_summary(path.name, read_rows(path)))
    say((f"{number_of(done.asked, 'question')} in {done.seconds:.1f} s; the rows are in {path}.", "dim"))


def _summary(title: str, rows: "list[Row]", searches: "Sequence[str]" = (), note: str = "") -> "Table":
    """By agent and search; a search of `searches` that has not begun has a line as well."""
    from paretofoil.study.statistics import summarise
    from paretofoil.study.table import summary_table

    keys = dict.fromkeys((row.case.agent, row.search) for row in rows)
    begun = {search for _, search in keys}
    keys |= dict.fromkeys(("–", search) for search in searches if search not in begun)
    groups = {key: summarise(r for r in rows if (r.case.agent, r.search) == key) for key in keys}
    return summary_table(title, groups, note)

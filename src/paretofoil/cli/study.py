"""paretofoil study: a study of one's own, on any agents, with any searches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.progress import Log, Quiet, progress_of
from paretofoil.cli.reproduce import Address, Engine, Workers

if TYPE_CHECKING:
    from paretofoil.study import Progress, Row
    from paretofoil.study.table import Table

app = typer.Typer(help="Ask many questions; survive a crash; go on where it was.", no_args_is_help=True)
File = Annotated[Path, typer.Argument(help="The study's file.")]
FORMATS = ("csv", "parquet", "json", "markdown", "latex")


@app.command()
def run(
    agents: Annotated[list[str], typer.Argument(help="Agents, by name or folder.")],
    search: Annotated[str, typer.Option(help="Searches, with commas between them.")] = "cf-zoo,boundary,exact",
    out: Annotated[Path, typer.Option(help="The study's file; one that exists is gone on with.")] = Path(
        "study.sqlite"
    ),
    commands: Annotated[int | None, typer.Option(help="At most so many commands of each front.")] = None,
    times: Annotated[int | None, typer.Option(help="Only the first so many moments of each episode.")] = None,
    foils: Annotated[int | None, typer.Option(help="At most so many foils for each decision.")] = None,
    kappa: Annotated[float, typer.Option(help="By how much the foil must win.")] = 0.05,
    seed: Annotated[int, typer.Option(help="The seed of searches and of chance.")] = 0,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Every front command x every moment of its greedy rollout x every valid foil, or as many as you say."""
    from paretofoil.study import CaseRule, make_study, run_study

    labels = [label for label in search.replace(" ", "").split(",") if label]
    study = make_study(agents, labels, CaseRule(commands, times, foils), seed=seed, kappa=kappa)
    with progress_of(quiet, log) as tell, _Safely(out):
        done = run_study(study, out, workers=workers, engine=engine, address=address, show=tell(out.stem))  # type: ignore[arg-type]
    _finish(out, done)


@app.command()
def resume(
    file: File,
    workers: Workers = None,
    engine: Engine = "local",
    address: Address = None,
    log: Log = None,
    quiet: Quiet = False,
) -> None:
    """Go on with a study that was stopped or killed."""
    from paretofoil.study import resume_study

    with progress_of(quiet, log) as tell, _Safely(file):
        done = resume_study(file, workers=workers, engine=engine, address=address, show=tell(file.stem))
    _finish(file, done)


@app.command()
def status(file: File) -> None:
    """How far a study is, and what it has found; also while it runs."""
    from paretofoil.cli.words import console
    from paretofoil.study import read_about, read_rows, read_runs

    configuration, runs = read_about(file)["configuration"], read_runs(file)
    rows = read_rows(file)
    _print(_summary(file.name, rows))
    asked = f"agents {', '.join(configuration['agents'])}; searches {', '.join(configuration['searches'])}"
    part = f" of {runs[-1].total:,} ({len(rows) / runs[-1].total:.0%})" if runs else ""
    took = f"{len(runs)} run{'s' if len(runs) != 1 else ''}, {sum(run.seconds for run in runs):,.0f} s"
    console.print(f"{len(rows):,}{part} answers; {took}.", highlight=False)
    console.print(f"[dim]{asked}; rule {configuration['rule']}.[/]", highlight=False)


@app.command()
def export(
    file: File,
    form: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)} (the last two: the summary).")] = "csv",
    out: Annotated[Path | None, typer.Option(help="The file to write; the screen if left out.")] = None,
) -> None:
    """The rows as CSV, Parquet or JSON; the summary as Markdown or LaTeX."""
    from dataclasses import asdict

    from paretofoil.errors import InvalidInput
    from paretofoil.study import read_about, read_rows, read_runs
    from paretofoil.study.table import rows_table

    if form not in FORMATS:
        raise InvalidInput.expected(f"a format among {', '.join(FORMATS)}", repr(form))
    rows = read_rows(file)
    if form == "parquet":
        about = {"about": read_about(file), "runs": [asdict(run) for run in read_runs(file)]}
        _export_parquet(rows_table(file.stem, rows), about, out or file.with_suffix(".parquet"))
        return
    table = _summary(file.name, rows) if form in ("markdown", "latex") else rows_table(file.stem, rows)
    if out is None:
        print(table.to(form), end="")
    else:
        out.write_text(table.to(form), encoding="utf-8")


def _export_parquet(table: "Table", about: dict[str, Any], path: Path) -> None:
    """The rows, and in the file's metadata what they were computed with."""
    import json

    from paretofoil.cli.words import console
    from paretofoil.errors import InvalidInput

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InvalidInput.expected(
            "pyarrow to be installed (pip install 'paretofoil[parquet]')", "a Python without it"
        ) from None
    columns = {name: [row[i] for row in table.rows] for i, name in enumerate(table.columns)}
    made = pyarrow.table(columns).replace_schema_metadata({"paretofoil": json.dumps(about)})
    parquet.write_table(made, path, compression="zstd", compression_level=9)
    console.print(f"Wrote {len(table.rows):,} rows into {path}.", highlight=False)


class _Safely:
    """Ctrl-C ends a study in peace: every finished chunk is in the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, *_: object) -> None:
        from paretofoil.cli.words import console

        if kind is KeyboardInterrupt:
            console.print(f"Stopped. Go on with `paretofoil study resume {self.path}`.", highlight=False)
            raise typer.Exit(130)


def _finish(path: Path, done: "Progress") -> None:
    from paretofoil.cli.words import console
    from paretofoil.study import read_rows

    _print(_summary(path.name, read_rows(path)))
    console.print(f"[dim]{done.asked:,} questions in {done.seconds:.1f} s; the rows are in {path}.[/]", highlight=False)


def _summary(title: str, rows: "list[Row]") -> "Table":
    from paretofoil.study.statistics import summarise
    from paretofoil.study.table import summary_table

    keys = dict.fromkeys((row.case.agent, row.search) for row in rows)
    groups = {key: summarise(r for r in rows if (r.case.agent, r.search) == key) for key in keys}
    return summary_table(title, groups)


def _print(made: "Table") -> None:
    from paretofoil.cli.words import console
    from paretofoil.show.terminal import table
    from paretofoil.study.table import text

    cells = [[text(cell) for cell in row] for row in made.rows]
    console.print(table(made.title, made.columns, cells, right=range(2, len(made.columns))))

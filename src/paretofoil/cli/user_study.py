"""paretofoil user-study: what a user study's file holds, and what people replied (`serve --study` runs it)."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import check_web

app = typer.Typer(help="A user study on the page: check its file, export its replies.", no_args_is_help=True)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="The study's file (JSON).")]) -> None:
    """Read a study's file, try every task on its agents, and show what is right in each condition."""
    check_web()
    from paretofoil.agents.store import load_agent
    from paretofoil.web.user_study.plan import read_user_study
    from paretofoil.web.user_study.tasks import prepare_tasks

    study = read_user_study(file)
    prepared = prepare_tasks(study, load_agent)
    rows = [
        [condition, name, task.task.kind, ", ".join(episode.agent for episode in task.episodes), task.truth]
        for (condition, name), task in prepared.items()
    ]
    print_rows(study.title, ("Condition", "Task", "Kind", "Agents", "Right"), rows)
    say(f"{len(study.conditions)} conditions, {len(study.tasks)} tasks, {len(study.ratings)} ratings: ready to serve.")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="The file of replies (SQLite).")],
    out: Annotated[Path | None, typer.Option(help="The file to write; the screen if left out.")] = None,
) -> None:
    """The replies as CSV, one line for each step; also while the study runs."""
    check_web()
    from paretofoil.core.atomic import write_whole
    from paretofoil.web.user_study.replies import replies_csv

    told = replies_csv(file)
    if out is None:
        print(told, end="")
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, told.encode())
    say(f"Wrote {told.count(chr(10)) - 1:,} replies into {out}.")

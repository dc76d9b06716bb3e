"""paretofoil user-study; `paretofoil serve --study` runs the study."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import print_rows, say, write_or_print
from paretofoil.cli.options import check_web

app = typer.Typer(help="Check the file of a user study, or export its replies.", no_args_is_help=True)


@app.command()
def check(file: Annotated[Path, typer.Argument(help="File of the user study (JSON).")]) -> None:
    """Check the file of a user study, try its tasks on its agents, and show the right reply per condition."""
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
    print_rows(study.title, ("Condition", "Task", "Kind", "Agents", "Right reply"), rows)
    say(f"{len(study.conditions)} conditions, {len(study.tasks)} tasks, {len(study.ratings)} ratings: ready to serve.")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="File of the replies (SQLite).")],
    out: Annotated[Path | None, typer.Option(help="File to write; standard output if omitted.")] = None,
) -> None:
    """Write the replies as CSV, one line per screen. This works while the study runs."""
    check_web()
    from paretofoil.web.user_study.replies import replies_csv

    replies = replies_csv(file)
    write_or_print(replies, out, f"{replies.count(chr(10)) - 1:,} replies")

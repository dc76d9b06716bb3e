"""The verb `paretofoil user-study`; `paretofoil serve --study` runs the study."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.cli.console import print_rows, say, say_written, write_or_print
from paretofoil.cli.options import check_web

app = typer.Typer(help="Plan a user study, check its file, and export or evaluate its replies.", no_args_is_help=True)


@app.command()
def check(file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the user study (JSON).")]) -> None:
    """Check the file of a user study, try its tasks on its agents, and show the right reply in each condition."""
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
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the user study (JSON).")],
    effect: Annotated[float, typer.Option(help="Difference in accuracy to detect, from 0 to 1.")] = 0.15,
    base: Annotated[float, typer.Option(help="Accuracy in the baseline condition, from 0 to 1.")] = 0.5,
    spread: Annotated[float, typer.Option(help="Standard deviation of the accuracy between people.")] = 0.15,
    power: Annotated[float, typer.Option(help="Probability of detecting the effect.")] = 0.8,
    preregistration: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File for the text of a preregistration (Markdown).")
    ] = None,
) -> None:
    """Print how many participants a user study needs for a stated effect, and write its preregistration."""
    check_web()
    from paretofoil.core.files import write_atomically
    from paretofoil.web.user_study import design
    from paretofoil.web.user_study.plan import read_user_study

    study = read_user_study(file)
    needed = design.plan_study(study, design.Effect(base, effect, spread), power)
    first, *others = design.plan_sentences(study, needed)
    say((first, "bold"))
    for sentence in others:
        say(sentence)
    if preregistration is not None:
        write_atomically(preregistration, design.preregistration(study, needed).encode())
        say_written("the preregistration", preregistration, quiet=False)


@app.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the replies (SQLite).")],
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="File for the figure.")] = None,
) -> None:
    """Print exclusions, accuracy, times and ratings by condition, with tests. This works while the study runs."""
    check_web()
    from paretofoil.web.user_study.analysis import evaluate
    from paretofoil.web.user_study.replies import read_replies
    from paretofoil.web.user_study.report import figure_user_study, finding, means, tasks

    evaluation = evaluate(*read_replies(file))
    first, *others = finding(evaluation)
    say((first, "bold"))
    for sentence in others:
        say(sentence)
    columns = (
        "Measure",
        "Condition",
        "Participants",
        "Mean (95 % interval)",
        "Minus baseline (95 % interval)",
        "Corrected p",
    )
    print_rows("", columns, means(evaluation), right=(2,))
    print_rows("Correct replies", ("Task", *(c.name for c in evaluation.study.conditions)), tasks(evaluation))
    if plot is not None:
        figure_user_study(evaluation, plot)
        say_written("the figure", plot, quiet=False)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File of the replies (SQLite).")],
    out: Annotated[Path | None, typer.Option(help="File to write; standard output if omitted.")] = None,
) -> None:
    """Write the replies as CSV, with one line per screen. This works while the study runs."""
    check_web()
    from paretofoil.web.user_study.replies import replies_csv

    replies = replies_csv(file)
    write_or_print(replies, out, f"{replies.count(chr(10)) - 1:,} replies")

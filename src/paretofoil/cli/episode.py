"""The verb `paretofoil episode`."""

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli import options as shared
from paretofoil.cli.console import bars, note, say, say_written, terminal_width, write_figure

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent
    from paretofoil.core.answer import Answer
    from paretofoil.core.decision import Episode


_OUTCOME = "Outcome such as 'treasure >= 50'. The --html page shows a command that leads to it. Repeatable."


@shared.with_options(without=["attainable"])
def episode(
    agent: shared.AgentName,
    command: shared.StartCommand,
    steps: Annotated[str | None, typer.Option(help="Only these steps, such as 0-5 or 0,3,7.")] = None,
    search: shared.Search = "auto",
    seconds: shared.Seconds = None,
    queries: shared.Queries = None,
    seed: shared.Seed = 0,
    options: dict[str, Any] = {},  # noqa: B006 (replaced by with_options)
    as_json: Annotated[bool, typer.Option("--json", help="Print the flip map as JSON.")] = False,
    plot: shared.Plot = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML file for a page without a server.")] = None,
    outcome: Annotated[list[str] | None, typer.Option(help=_OUTCOME)] = None,
    allow_import: shared.AllowImport = None,
    quiet: shared.Quiet = False,
) -> None:
    """Find the smallest change of the command for every step of an episode and every foil."""
    from paretofoil.agents.agent import rollout
    from paretofoil.cli.typed import find_agent, read_command, read_options, read_steps
    from paretofoil.core.errors import InvalidInput
    from paretofoil.core.options import DEFAULTS, Limits
    from paretofoil.explanation.explain import explain_episode, steps_of
    from paretofoil.explanation.outcome import check_outcome
    from paretofoil.explanation.outcome import outcome as make_outcome
    from paretofoil.explanation.questions import foils_of
    from paretofoil.show.flip_map import summary
    from paretofoil.show.numbers import number_of

    if outcome and html is None:
        raise InvalidInput.expected("--html with --outcome (or use `paretofoil explain --outcome`)", "no --html")
    limits, step_numbers = Limits(seconds, queries), None if steps is None else read_steps(steps)
    if html is not None:
        shared.check_web()
    loaded = find_agent(agent)
    settings = read_options(options, loaded.space)
    decisions = rollout(loaded, read_command(command, loaded.space, "--command"), seed=seed)
    if html is not None:
        from paretofoil.web.standalone import check_page, save_page

        for text in outcome or ():
            check_outcome(loaded, make_outcome(text), "auto", DEFAULTS, decisions[0])
        check_page(html, sum(bool(foils_of(loaded, decision)) for decision in steps_of(decisions, step_numbers)))
    lines = None if as_json else _stream(loaded, decisions, step_numbers, settings.box)
    with bars(quiet) as start:
        bar = start(loaded.name)

        def show(answers: "Sequence[Answer]", total: int) -> None:
            if not answers and not quiet:
                note((f"{number_of(total, 'question')} to answer.", "dim"))
            bar(len(answers), total)
            if lines is not None:
                lines(answers)

        flips = explain_episode(
            loaded,
            decisions,
            steps=step_numbers,
            search=search,
            limits=limits,
            seed=seed,
            progress=show,
            options=settings,
        )
    if as_json:
        print(flips.to_json(indent=1))
    else:
        say(summary(flips))
    write_figure(flips, plot, quiet=as_json)
    if html is not None:
        with bars(quiet) as start:
            report = start("saving")
            save_page(
                html,
                agent,
                flips,
                seed=seed,
                search=search,
                limits=limits,
                options=settings,
                outcomes=outcome or (),
                report=report,
            )
        say_written("the page", html, quiet=as_json)


def _stream(
    agent: "Agent", episode: "Episode", steps: Sequence[int] | None, box: str
) -> Callable[[Sequence["Answer"]], None]:
    """Return a function that takes the answers so far, and prints the line of each step whose foils are answered."""
    from paretofoil.core.amounts import direction_names
    from paretofoil.explanation.questions import foils_of
    from paretofoil.show.flip_map import FlipMapLines

    waiting = deque(range(len(episode)) if steps is None else sorted(set(steps)))
    actions = agent.actions if agent.actor is None else direction_names(agent.actions)
    lines = FlipMapLines(actions, len(episode), terminal_width())

    def show(answers: "Sequence[Answer]") -> None:
        if not answers:
            where = " in the paper's box" if box == "paper" else ""
            say((f"{agent.name}: scaled change for each foil{where}\n{lines.head}", "bold"))
        while waiting:
            decision = episode[waiting[0]]
            of_step = [a for a in answers if a.question.step == decision.step]
            if len(of_step) < len(foils_of(agent, decision)):
                break
            choice = decision.action if decision.amounts is None else decision.amounts.tolist()
            say(lines.line(waiting.popleft(), choice, of_step))

    return show

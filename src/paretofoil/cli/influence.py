"""paretofoil influence."""

from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import AgentName, AllowImport, Box, Plot, Quiet, Seed, StartCommand

if TYPE_CHECKING:
    from paretofoil.core.influence import Influence, InfluenceProfile


def influence(
    agent: AgentName,
    command: StartCommand,
    at: Annotated[int | None, typer.Option(metavar="STEP", help="Only this step of the episode.")] = None,
    seconds: Annotated[float, typer.Option(help="Time limit per step; the rest is reported as undecided.")] = 1.0,
    samples: Annotated[int, typer.Option(help="Number of random commands to query the policy with.")] = 10_000,
    box: Box = "reachable",
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Plot = None,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Show how much the command matters: the proven share of all commands that lead to each action."""
    from paretofoil.agents.rollout import rollout
    from paretofoil.cli.progress import bars
    from paretofoil.cli.typed import find_agent, read_command
    from paretofoil.explanation.influence import influence_episode

    loaded = find_agent(agent)
    episode = rollout(loaded, read_command(command, loaded.space, "--command"), seed=seed)
    with bars(quiet) as start:
        profile = influence_episode(
            loaded,
            episode,
            steps=None if at is None else [at],
            seconds=seconds,
            samples=samples,
            seed=seed,
            box=box,  # type: ignore[arg-type]  # checked there
            progress=start(loaded.name),
        )
    if as_json:
        print((profile.steps[0] if at is not None else profile).to_json(indent=1))
    elif at is not None:
        say(str(profile.steps[0]))
    else:
        _print_profile(profile)
        say(str(profile))
    if plot is not None:
        profile.plot(plot)
        if not as_json:
            say((f"Wrote the figure to {plot}.", "dim"))


def _print_profile(profile: "InfluenceProfile") -> None:
    """Print one line per step: the chosen action, and the share of all commands that lead to each action."""
    columns = ["t", "chosen", *(f"{name} (%)" for name in profile.actions), "command", "authors' KL, flip"]
    rows = [_row(moment) for moment in profile.steps]
    title = f"{profile.agent}: proven share of all commands that lead to each action (~: sampled)"
    print_rows(title, columns, rows, right=[0, *range(2, 2 + len(profile.actions))])


def _row(moment: "Influence") -> list[str]:
    valid = {share.action for share in moment.shares}
    cells = [_cell(moment, action) if action in valid else "·" for action in range(len(moment.actions))]
    scores = f"{moment.scores.kl:.3f}, {moment.scores.flip:.2f}"
    return [str(moment.step), moment.actions[moment.chosen], *cells, moment.verdict, scores]


def _cell(moment: "Influence", action: int) -> str:
    """Return percent such as "6.2-6.9", rounded outwards; "~ 41" if the proven range is too wide."""
    from paretofoil.show.influence import WIDE, tenths

    share = moment.share_of(action)
    if share.upper - share.lower > WIDE:
        return f"~ {100 * share.sampled / moment.samples:.0f}"
    low, high = tenths(share.lower, share.upper)
    return low if low == high else f"{low}-{high}"

"""paretofoil influence: does the wish matter, at one moment or along an episode?"""

from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import AgentName, AllowImport, Box, Plot, Quiet, Seed, StartCommand

if TYPE_CHECKING:
    from paretofoil.core.influence import Influence, InfluenceProfile


def influence(
    agent: AgentName,
    command: StartCommand,
    at: Annotated[int | None, typer.Option(help="Only this moment; every moment of the episode if left out.")] = None,
    seconds: Annotated[float, typer.Option(help="Leave open what is not proven of a moment after this time.")] = 1.0,
    samples: Annotated[int, typer.Option(help="How many random commands to ask the policy about.")] = 10_000,
    box: Box = "reachable",
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
    plot: Plot = None,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Does the wish matter? For each action the share of all commands that make the agent choose it, proven."""
    from paretofoil.agents.rollout import rollout
    from paretofoil.cli.progress import bars
    from paretofoil.cli.typed_agent import find_agent
    from paretofoil.cli.wish import read_command
    from paretofoil.explanation.influence import influence_episode
    from paretofoil.show.palette import check_figure_path

    if plot is not None:
        check_figure_path(plot)
    loaded = find_agent(agent)
    episode = rollout(loaded, read_command(command, loaded.space, "--command"), seed=seed)
    with bars(quiet) as start:
        profile = influence_episode(
            loaded,
            episode,
            times=None if at is None else [at],
            seconds=seconds,
            samples=samples,
            seed=seed,
            box=box,  # type: ignore[arg-type]  # checked there
            progress=start(loaded.name),
        )
    if as_json:
        print((profile.moments[0] if at is not None else profile).to_json(indent=1))
    elif at is not None:
        say(str(profile.moments[0]))
    else:
        _print_profile(profile)
        say(str(profile))
    if plot is not None:
        profile.plot(plot)
        if not as_json:
            say((f"The picture is in {plot}.", "dim"))


def _print_profile(profile: "InfluenceProfile") -> None:
    """One line for each moment: what was chosen, and which share of all commands chooses each action."""
    columns = ["t", "chosen", *(f"{name} (%)" for name in profile.actions), "wish", "the authors' KL, flip"]
    rows = [_row(moment) for moment in profile.moments]
    title = f"{profile.agent}: share of all commands that choose each action, proven; ~ is sampled"
    print_rows(title, columns, rows, right=[0, *range(2, 2 + len(profile.actions))])


def _row(moment: "Influence") -> list[str]:
    cells = {share.action: share for share in moment.shares}
    told = [_cell(moment, action) if action in cells else "·" for action in range(len(moment.actions))]
    scores = f"{moment.scores.kl:.3f}, {moment.scores.flip:.2f}"
    return [str(moment.time), moment.actions[moment.chosen], *told, moment.verdict, scores]


def _cell(moment: "Influence", action: int) -> str:
    """ "6.2-6.9", rounded outwards; "~ 41" where that would be too wide to say much."""
    from paretofoil.show.influence import WIDE, tenths

    share = moment.share_of(action)
    if share.upper - share.lower > WIDE:
        return f"~ {100 * share.sampled / moment.samples:.0f}"
    low, high = tenths(share.lower, share.upper)
    return low if low == high else f"{low}-{high}"

"""The verb `paretofoil influence`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.console import bars, print_rows, say, write_figure
from paretofoil.cli.options import AgentName, AllowImport, Box, Plot, Quiet, Seed, StartCommand, Workers
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import DEFAULTS

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent
    from paretofoil.core.decision import Episode
    from paretofoil.core.influence import InfluenceProfile


def influence(
    agent: AgentName,
    command: StartCommand,
    at: Annotated[int | None, typer.Option(metavar="STEP", help="Only this step of the episode.")] = None,
    seconds: Annotated[float, typer.Option(help="Time limit per step; the rest is reported as undecided.")] = 1.0,
    samples: Annotated[int, typer.Option(help="Number of random commands to query the policy with.")] = 10_000,
    box: Box = DEFAULTS.box,
    seed: Seed = 0,
    workers: Workers = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plot: Plot = None,
    quiet: Quiet = False,
    allow_import: AllowImport = None,
) -> None:
    """Show how much the command matters: the share of the search region in which each action is chosen."""
    from paretofoil.agents.agent import rollout
    from paretofoil.cli.typed import find_agent, read_command
    from paretofoil.explanation.influence import influence_episode

    loaded = find_agent(agent)
    episode = rollout(loaded, read_command(command, loaded.space, "--command"), seed=seed)
    if loaded.actor is not None:
        effort = {"seconds": seconds, "samples": samples, "seed": seed, "box": box}
        _print_amounts(loaded, episode, at, effort, as_json=as_json, plot=plot)
        return
    with bars(quiet) as start:
        profile = influence_episode(
            loaded,
            episode,
            steps=None if at is None else [at],
            seconds=seconds,
            samples=samples,
            seed=seed,
            box=box,  # type: ignore[arg-type]  # checked there
            workers=workers,
            progress=start(loaded.name),
        )
    if as_json:
        print((profile.steps[0] if at is not None else profile).to_json(indent=1))
    elif at is not None:
        say(str(profile.steps[0]))
    else:
        _print_profile(profile)
        say(str(profile))
    write_figure(profile, plot, quiet=as_json)


def _print_amounts(
    agent: "Agent", episode: "Episode", at: int | None, effort: dict[str, Any], *, as_json: bool, plot: Path | None
) -> None:
    """Print the smallest and the largest amounts of continuous actions, at one step or in a table of all steps."""
    from paretofoil.core.json import write_document
    from paretofoil.explanation.explain import steps_of
    from paretofoil.explanation.influence import influence as influence_at
    from paretofoil.show.numbers import short

    if plot is not None:
        raise InvalidInput.expected("discrete actions with --plot", f"{agent.name} with continuous ones")
    decisions = steps_of(episode, None if at is None else [at])
    influences: list[Any] = [influence_at(agent, decision, **effort) for decision in decisions]
    if as_json:
        print(
            influences[0].to_json(indent=1)
            if at is not None
            else write_document({"steps": [one.to_dict() for one in influences]})
        )
    elif at is not None:
        say(str(influences[0]))
    else:
        rows = [
            [str(decision.step), each.name, *map(short, (each.chosen, each.least, each.most)), proven]
            for decision, one in zip(decisions, influences, strict=True)
            for each, proven in ((each, "proven" if one.proven else "sampled") for each in one.ranges)
        ]
        title = f"{agent.name}: amounts that commands lead to"
        print_rows(title, ["t", "action", "chosen", "smallest", "largest", ""], rows, right=[0, 2, 3, 4])


def _print_profile(profile: "InfluenceProfile") -> None:
    """Print one line per step: the chosen action, and the share of the search region in which each is chosen."""
    from paretofoil.show.influence import share_text

    columns = ["t", "chosen", *profile.actions, "command", "authors' KL, flip"]
    rows = []
    for step in profile.steps:
        shares = {share.action: share_text(share, step.samples) for share in step.shares}
        cells = [shares.get(action, "·") for action in range(len(step.actions))]
        scores = f"{step.scores.kl:.3f}, {step.scores.flip:.2f}"
        rows.append([str(step.step), step.actions[step.chosen], *cells, step.verdict, scores])
    title = f"{profile.agent}: share of the search region in which each action is chosen"
    print_rows(title, columns, rows, right=[0, *range(2, 2 + len(profile.actions))])

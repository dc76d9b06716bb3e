"""The verb `paretofoil train`."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec
import typer

from paretofoil.cli.agents import NewFolder, Overwrite, make_folder, new_folder, reached_points
from paretofoil.cli.console import bars, note, print_rows, say
from paretofoil.cli.envs import Actions, Description, EnvironmentName, MaxSteps, Objectives, find_environment
from paretofoil.cli.options import AllowImport, Quiet, Seed
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.files import CHECKPOINT

if TYPE_CHECKING:
    from paretofoil.envs import CatalogueEntry
    from paretofoil.pcn.checkpoint import TrainProgress
    from paretofoil.pcn.config import TrainConfig
    from paretofoil.pcn.train import Trainer, TrainResult

_STEPS = "Number of environment steps for exploration. Measuring the front may need as many steps again."
_EXPLORE = "Exploration: plans (repeat good episodes with edited actions), or plain (sampling only, as in the paper)."
_RETURNS = (
    "Returns to learn in stochastic environments: expected, or realised (as in the paper). "
    "If omitted, expected for --explore plans, and realised for --explore plain."
)


def train(
    environment: EnvironmentName,
    seed: Seed = 0,
    steps: Annotated[int | None, typer.Option(help=_STEPS)] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time limit in minutes. The last fifth is for learning without exploration.")
    ] = None,
    horizon: Annotated[
        bool, typer.Option("--horizon", help="Also give the policy the remaining steps, like the original PCN.")
    ] = False,
    explore: Annotated[str, typer.Option(help=_EXPLORE)] = "plans",
    returns: Annotated[str | None, typer.Option(help=_RETURNS)] = None,
    objectives: Objectives = None,
    actions: Actions = None,
    max_steps: MaxSteps = None,
    description: Description = None,
    name: Annotated[str | None, typer.Option(help="Name of the agent; the environment's if omitted.")] = None,
    out: NewFolder = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in the folder.")] = False,
    overwrite: Overwrite = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as NAME=VALUE. Repeatable.")
    ] = None,
    show_settings: Annotated[bool, typer.Option("--settings", help="List all settings and exit.")] = False,
    tensorboard: Annotated[Path | None, typer.Option(help="Folder for TensorBoard logs.")] = None,
    allow_import: AllowImport = None,
    quiet: Quiet = False,
) -> None:
    """Train an agent. Ctrl-C and SIGTERM save a checkpoint; --resume continues from it.

    Ctrl-C also saves the agent as it is. SIGTERM ends the training at once.
    """
    from paretofoil.agents.store import save_agent
    from paretofoil.agents.training import make_agent, make_trainer, preset, resume_trainer

    entry = find_environment(environment, objectives, actions, max_steps, description)
    start = preset(entry, explore, returns)  # type: ignore[arg-type]  # checked there
    config = _configure(start, seed, steps, minutes, horizon, settings or [])
    if show_settings:
        rows = [[field.name, str(getattr(config, field.name))] for field in fields(config)]
        print_rows("Settings", ["name", "value"], rows)
        return
    suffixes = ["plain" if explore == "plain" else "", returns or "", "horizon" if horizon else ""]
    agent_name = name or "-".join([entry.name.split(":")[-1].replace("/", "-"), *filter(None, suffixes)])
    folder = new_folder(agent_name, out, overwrite=resume or overwrite)
    checkpoint = folder / CHECKPOINT
    if resume and not checkpoint.exists():
        raise InvalidInput.expected(f"a checkpoint at {checkpoint} to resume from", "no such file")
    trainer = resume_trainer(entry, checkpoint) if resume else make_trainer(entry, config)
    if trainer.config != config:
        say(("Continuing with the settings of the checkpoint.", "dim"))
    make_folder(folder)
    _note_limits(entry, environment)
    longest = trainer.config.warmup * trainer.env.max_steps
    if trainer.iteration == 0 and longest > trainer.config.steps:  # episodes of the warm-up are never cut
        note(
            f"note: the warm-up of {trainer.config.warmup:,} episodes of at most {trainer.env.max_steps:,} steps may "
            f"take {longest:,} steps, more than --steps {trainer.config.steps:,}; shorten it with --set warmup=N."
        )
    result = _run(trainer, checkpoint, tensorboard, quiet)
    agent = make_agent(agent_name, entry, result)
    save_agent(agent, folder)
    if result.finished:
        checkpoint.unlink(missing_ok=True)
    points = reached_points(int(result.reached.sum()), len(result.front))
    state = "Trained" if result.finished else "Stopped early (continue with --resume);"
    say(
        f"{state} {agent.name}: {points}, hypervolume {result.hypervolume:.4g}, {result.steps:,} steps, "
        f"{result.seconds:.1f} s. Saved in {folder}."
    )
    if trainer.stopped_by is not None:
        raise typer.Exit(128 + trainer.stopped_by)


def _note_limits(entry: "CatalogueEntry", environment: str) -> None:
    """Print a note if the catalogue has the environment in a faster form, or if answers will have no rollouts."""
    from paretofoil.envs.batch import is_copyable, is_replayable
    from paretofoil.envs.catalogue import fast_form, is_catalogued

    faster = None if is_catalogued(entry) else fast_form(environment)
    if faster is not None:
        what = "names and masks" if faster.start_seed is None else "names and one start"
        note(f"note: the catalogue has {environment} in a faster form, with {what}: paretofoil train {faster.name}")
    if not is_copyable(entry) and not is_replayable(entry):
        what = f"{entry.name} can neither be copied nor replayed"
        note(f"note: {what}, so answers about its agents will have no rollouts.")


def _configure(
    config: "TrainConfig", seed: int, steps: int | None, minutes: float | None, horizon: bool, settings: list[str]
) -> "TrainConfig":
    changes: dict[str, Any] = {"seed": seed, "horizon": horizon}
    changes |= {key: value for key, value in (("steps", steps), ("minutes", minutes)) if value is not None}
    types = get_type_hints(type(config))
    for setting in settings:
        key, _, text = setting.partition("=")
        if key not in types:
            raise InvalidInput.expected(f"a setting among {', '.join(types)}", did_you_mean(key, types))
        try:
            changes[key] = msgspec.convert("null" if text.lower() == "none" else text, types[key], strict=False)
        except msgspec.ValidationError:
            example = getattr(config, key)
            raise InvalidInput.expected(f"a value of {key} such as {example}", repr(text)) from None
    return replace(config, **changes)


def _run(trainer: "Trainer", checkpoint: Path, tensorboard: Path | None, quiet: bool) -> "TrainResult":
    from paretofoil.pcn.train import Terminated

    writer = None
    if tensorboard is not None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise InvalidInput.missing("TensorBoard", "tensorboard") from None
        writer = SummaryWriter(str(tensorboard))
    totals = {"explore": trainer.config.steps, "polish": trainer.config.polish_rounds}
    with bars(quiet) as start:
        moves = {phase: start(phase) for phase in totals}

        def show(line: "TrainProgress") -> None:
            text = (
                f"front {line.front_size}  hypervolume {line.hypervolume:.4g}  "
                f"reached {line.fidelity:.0%}  {line.steps_per_second:,.0f} steps/s"
            )
            done = line.steps if line.phase == "explore" else line.iteration
            moves[line.phase](done, totals[line.phase], text)
            if writer is not None:
                for key in ("front_size", "hypervolume", "fidelity", "loss"):
                    writer.add_scalar(key, getattr(line, key), line.steps)

        try:
            result = trainer.run(show, checkpoint)
        except Terminated:
            say(f"Stopped (continue with --resume). Saved a checkpoint in {checkpoint.parent}.")
            raise
    if writer is not None:
        writer.close()
    return result

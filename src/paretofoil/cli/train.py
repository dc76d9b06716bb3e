"""paretofoil train."""

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from paretofoil.envs import CatalogueEntry
    from paretofoil.pcn.config import TrainConfig
    from paretofoil.pcn.train import Progress, Trainer, TrainResult

CHECKPOINT = "checkpoint.safetensors"


def train(
    environment: Annotated[str, typer.Argument(help="A name from `paretofoil envs`, or any Gymnasium id.")],
    seed: Annotated[int, typer.Option(min=0, help="One seed gives one agent.")] = 0,
    steps: Annotated[int | None, typer.Option(help="Environment steps of exploration.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop exploring after so many minutes.")] = None,
    horizon: Annotated[
        bool, typer.Option("--horizon", help="Condition on the steps left as well (original PCN).")
    ] = False,
    name: Annotated[str | None, typer.Option(help="The agent's name; that of the environment if left out.")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to put it in; agents/NAME if left out.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in that folder.")] = False,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as name=value; may be repeated.")
    ] = None,
    show_settings: Annotated[bool, typer.Option("--settings", help="List all settings and stop.")] = False,
    tensorboard: Annotated[Path | None, typer.Option(help="Write TensorBoard logs into this folder.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress display.")] = False,
) -> None:
    """Train an agent. Ctrl-C saves; --resume goes on as if nothing had happened."""
    from paretofoil.agents.shelf import local_folder
    from paretofoil.agents.storage import save_agent
    from paretofoil.agents.training import make_agent, make_trainer, preset, resume_trainer
    from paretofoil.cli.console import console
    from paretofoil.core.errors import InvalidInput

    entry = _entry(environment)
    config = _configure(preset(entry), seed, steps, minutes, horizon, settings or [])
    if show_settings:
        _list_settings(config)
        return
    plain = entry.name.split(":")[-1].replace("/", "-")
    called = name or (f"{plain}-horizon" if horizon else plain)
    folder = out or local_folder() / called
    checkpoint = folder / CHECKPOINT
    if resume and not checkpoint.exists():
        raise InvalidInput.expected(f"a checkpoint at {checkpoint} to resume from", "none")
    trainer = resume_trainer(entry, checkpoint) if resume else make_trainer(entry, config)
    if trainer.config != config:
        console.print("[dim]Going on with the settings of the checkpoint.[/]")
    folder.mkdir(parents=True, exist_ok=True)
    result = _run(trainer, checkpoint, tensorboard, quiet)
    agent = make_agent(called, entry, result)
    save_agent(agent, folder)
    if result.finished:
        checkpoint.unlink(missing_ok=True)
    _report(agent.name, result, folder)


def _entry(environment: str) -> "CatalogueEntry":
    """A catalogued environment, or any that Gymnasium knows; "module:id" imports that module first."""
    from paretofoil import envs

    if environment in envs.names():
        return envs.entry(environment)
    import gymnasium
    import mo_gymnasium  # noqa: F401 (registers its environments)

    if ":" in environment or environment in gymnasium.registry:
        return envs.describe(environment)
    return envs.entry(environment)  # which says what is known


def _configure(
    config: "TrainConfig", seed: int, steps: int | None, minutes: float | None, horizon: bool, settings: list[str]
) -> "TrainConfig":
    from paretofoil.core.errors import InvalidInput

    changes: dict[str, Any] = {"seed": seed, "horizon": horizon}
    changes |= {key: value for key, value in (("steps", steps), ("minutes", minutes)) if value is not None}
    known = {entry.name: getattr(config, entry.name) for entry in fields(config)}
    for setting in settings:
        key, _, text = setting.partition("=")
        if key not in known:
            raise InvalidInput.expected(f"a setting among {', '.join(known)}", repr(key))
        changes[key] = _read(key, text, known[key])
    return replace(config, **changes)


def _read(key: str, text: str, default: Any) -> Any:
    """A setting's text as the type of its default."""
    from paretofoil.core.errors import InvalidInput

    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if default is None:
            return None if text.lower() == "none" else float(text) if key == "minutes" else int(text)
        return type(default)(text)
    except (KeyError, ValueError):
        kind = "true or false" if isinstance(default, bool) else f"a value like {default}"
        raise InvalidInput.expected(f"{key} to be {kind}", repr(text)) from None


def _list_settings(config: "TrainConfig") -> None:
    from paretofoil.cli.console import console
    from paretofoil.show.terminal import table

    rows = [[entry.name, str(getattr(config, entry.name))] for entry in fields(config)]
    console.print(table("Settings", ["name", "value"], rows))


def _run(trainer: "Trainer", checkpoint: Path, tensorboard: Path | None, quiet: bool) -> "TrainResult":
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Display

    from paretofoil.cli.console import console

    writer = _writer(tensorboard)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Display(*columns, console=console, disable=quiet, transient=True) as display:
        exploring = display.add_task("explore", total=trainer.config.steps, told="")
        polishing = display.add_task("polish", total=trainer.config.polish_rounds, told="", start=False)

        def show(line: "Progress") -> None:
            told = (
                f"front {line.front_size}  hypervolume {line.hypervolume:.4g}  "
                f"reached {line.fidelity:.0%}  {line.steps_per_second:,.0f} steps/s"
            )
            if line.phase == "explore":
                display.update(exploring, completed=line.steps, told=told)
            else:
                display.start_task(polishing)
                display.update(polishing, completed=line.iteration, told=told)
            if writer is not None:
                for key in ("front_size", "hypervolume", "fidelity", "loss"):
                    writer.add_scalar(key, getattr(line, key), line.steps)

        result = trainer.run(show, checkpoint)
    if writer is not None:
        writer.close()
    return result


def _writer(folder: Path | None) -> Any:
    from paretofoil.core.errors import InvalidInput

    if folder is None:
        return None
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InvalidInput.expected("TensorBoard (pip install tensorboard)", "a Python without it") from None
    return SummaryWriter(str(folder))


def _report(name: str, result: "TrainResult", folder: Path) -> None:
    from paretofoil.cli.console import console

    state = "Trained" if result.finished else "Stopped early (go on with --resume);"
    console.print(
        f"{state} {name}: {len(result.front)} front points, {int(result.reached.sum())} of them reached, hypervolume "
        f"{result.hypervolume:.4g}, {result.steps:,} steps, {result.seconds:.1f} s. It is in {folder}.",
        highlight=False,
    )

"""The verb `paretofoil envs`, and a function to find environments of the catalogue and of Gymnasium."""

import sys
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import allow_typed, complete_environment
from paretofoil.core.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paretofoil.envs import CatalogueEntry

_ENVIRONMENT = "Name from `paretofoil envs`, Gymnasium id, or my_module:my-env-v0 of a module to import."
_OBJECTIVES = (
    "Names of the objectives of an environment that is not in the catalogue. Costs have a minus sign, and units are in "
    "brackets: 'ore (kg),-fuel'. If omitted, the environment's attribute objective_names, or numbers."
)
_ACTIONS = (
    "Names of the actions of an environment that is not in the catalogue, each with a past participle for sentences: "
    "'dig=dug,left=gone left'. If omitted, the environment's attribute action_names, or numbers."
)
_DESCRIPTION = (
    "Description of an environment that is not in the catalogue, in one sentence. "
    "If omitted, the environment's attribute description."
)
_MAX_STEPS = (
    "Step limit of the episodes of an environment that is not in the catalogue. "
    "If omitted, the limit with which the environment is registered."
)

EnvironmentName = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help=_ENVIRONMENT, autocompletion=complete_environment)
]
Objectives = Annotated[str | None, typer.Option(help=_OBJECTIVES)]
Actions = Annotated[str | None, typer.Option(help=_ACTIONS)]
Description = Annotated[str | None, typer.Option(help=_DESCRIPTION)]
MaxSteps = Annotated[int | None, typer.Option(min=1, help=_MAX_STEPS)]


def envs(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Environment to show. If omitted, all are listed.", autocompletion=complete_environment
        ),
    ] = None,
    render: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PNG file for a picture of the environment's first state.")
    ] = None,
) -> None:
    """List the environments of the catalogue, or show one."""
    from paretofoil import envs as catalogue
    from paretofoil.core.files import check_file, write_atomically

    if name is None:
        if render is not None:
            raise InvalidInput.expected("the name of the environment to draw", f"--render {render} without a name")
        _list()
        return
    entry = catalogue.entry(name)
    if render is None:
        _show(entry)
        return
    check_file(render, "a picture's file")
    if render.suffix.lower() != ".png":
        raise InvalidInput.expected("a picture's file that ends in .png", repr(str(render)))
    _show(entry)
    from PIL import Image

    from paretofoil.envs.pictures import picture_of

    picture = BytesIO()
    Image.fromarray(picture_of(entry)).save(picture, format="PNG")
    write_atomically(render, picture.getvalue())
    say(f"Wrote a picture of {entry.name} to {render}.")


def _list() -> None:
    from paretofoil import envs as catalogue
    from paretofoil.envs.front import known_front

    rows = []
    for entry in map(catalogue.entry, catalogue.names()):
        front = known_front(entry)
        objectives, actions = ", ".join(o.name for o in entry.objectives), ", ".join(entry.actions)
        size = "-" if front is None else str(len(front))
        note = f"needs paretofoil[{entry.requires}]" if entry.requires else "stochastic" if entry.stochastic else ""
        rows.append([entry.name, objectives, actions, size, note])
    print_rows("Environments", ["name", "objectives", "actions", "front", ""], rows, right=[3])


def _point(numbers: "Sequence[float] | None") -> str:
    return "none" if numbers is None else "(" + ", ".join(f"{x:g}" for x in numbers) + ")"


def _show(entry: "CatalogueEntry") -> None:
    from paretofoil.envs.front import known_front
    from paretofoil.show.numbers import number_of

    front = known_front(entry)
    rows = [
        ["Gymnasium id", entry.gym_id.split(":")[-1]],
        ["objectives", ", ".join(f"{o.name} ({o.unit})" if o.unit else o.name for o in entry.objectives)],
        ["actions", ", ".join(entry.actions)],
        ["step limit", str(entry.max_steps)],
        ["reference point", _point(entry.reference)],
        ["paper's box", " to ".join(map(_point, entry.paper_box)) if entry.paper_box else _point(None)],
        ["Pareto front", "unknown" if front is None else number_of(len(front), "point")],
    ]
    if entry.requires:
        rows.append(["installed by", f'pip install "paretofoil[{entry.requires}]"'])
    say((entry.name, "bold"), f": {entry.description}")
    print_rows("", ["", ""], rows)


def find_environment(
    environment: str,
    objectives: str | None = None,
    actions: str | None = None,
    max_steps: int | None = None,
    description: str | None = None,
) -> "CatalogueEntry":
    """Return an environment of the catalogue or of Gymnasium's registry; "module:id" imports the module first."""
    from paretofoil import envs as catalogue
    from paretofoil.envs.catalogue import with_names

    if environment in catalogue.names():
        options = {"objectives": objectives, "actions": actions, "max-steps": max_steps, "description": description}
        if given := [f"--{option} {value!r}" for option, value in options.items() if value is not None]:
            what = "--objectives, --actions, --max-steps and --description only for environments not in the catalogue"
            raise InvalidInput.expected(what, f"{given[0]} for {environment}, which is in the catalogue")
        return catalogue.entry(environment)
    _check_registered(environment, max_steps)
    entry = catalogue.describe(environment, max_steps=max_steps)
    objective_names, action_names = (names.split(",") if names is not None else None for names in (objectives, actions))
    return with_names(entry, objective_names, action_names, description)


def _check_registered(environment: str, max_steps: int | None) -> None:
    """Raise an error if the environment is not registered with Gymnasium, or has no step limit."""
    import gymnasium

    from paretofoil import envs as catalogue

    with suppress(ImportError):
        import_module("mo_gymnasium")  # registers its environments
    module, _, gym_id = environment.rpartition(":")
    if module:
        allow_typed([module])
        try:
            import_module(module)
        except ImportError as error:
            raise InvalidInput.expected(f"a module {module} that can be imported", error) from None
    if gym_id not in gymnasium.registry:
        hint = "" if module else f" (if your module registers it, type my_module:{gym_id})"
        if not module and "mo_gymnasium" not in sys.modules:
            hint += ' (for MO-Gymnasium, pip install "paretofoil[mo-gymnasium]")'
        what = f"an environment of `paretofoil envs`, or an id that is registered with Gymnasium{hint}"
        raise InvalidInput.expected(what, did_you_mean(gym_id, catalogue.names()))
    if max_steps is None and gymnasium.registry[gym_id].max_episode_steps is None:
        raise InvalidInput.expected(f"--max-steps, because {environment} is registered without a step limit", "none")

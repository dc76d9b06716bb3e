"""paretofoil envs: the catalogue of environments."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import print_rows, say
from paretofoil.cli.options import complete_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paretofoil.envs import CatalogueEntry


def envs(
    name: Annotated[
        str | None,
        typer.Argument(help="One environment; all of them if left out.", autocompletion=complete_environment),
    ] = None,
    render: Annotated[Path | None, typer.Option(help="Draw the environment at its start into this PNG file.")] = None,
) -> None:
    """List the environments, or show and draw one."""
    from paretofoil import envs as catalogue
    from paretofoil.core.atomic import check_file
    from paretofoil.core.errors import InvalidInput

    if name is None:
        if render is not None:
            raise InvalidInput.expected("the name of the environment to draw", "none")
        _list()
        return
    entry = catalogue.entry(name)
    if render is not None:
        check_file(render, "a picture's file")
        if render.suffix.lower() != ".png":
            raise InvalidInput.expected("a picture's file that ends in .png", repr(str(render)))
    _show(entry)
    if render is not None:
        from PIL import Image

        from paretofoil.envs.pictures import picture_of

        Image.fromarray(picture_of(entry)).save(render, format="PNG")
        say(f"Drew {entry.name} into {render}.")


def _list() -> None:
    from paretofoil import envs as catalogue
    from paretofoil.envs.front import known_front

    rows = []
    for entry in map(catalogue.entry, catalogue.names()):
        front = known_front(entry)
        rows.append(
            [
                entry.name,
                ", ".join(o.name for o in entry.objectives),
                ", ".join(entry.actions),
                "-" if front is None else str(len(front)),
                "chance" if entry.stochastic else "",
            ]
        )
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
        ["reference", _point(entry.reference)],
        ["paper's box", " to ".join(map(_point, entry.paper_box)) if entry.paper_box else _point(None)],
        ["known front", "not known" if front is None else number_of(len(front), "point")],
    ]
    say((entry.name, "bold"), f": {entry.description}")
    print_rows("", ["", ""], rows)

"""Where verbs that make an agent put it: nothing that is there is lost without a word."""

from pathlib import Path
from typing import Annotated

import typer

from paretofoil.core.constants import CHECKPOINT
from paretofoil.core.errors import InvalidInput

Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the agent, or the stopped training, that is in that folder.")
]


def check_free(folder: Path) -> None:
    """Refuse a folder in which something would be lost, before any work is done."""
    from paretofoil.agents.storage import DESCRIPTION

    if (folder / CHECKPOINT).exists():
        raise InvalidInput.expected(
            f"--resume to go on with the stopped training in {folder}, or --overwrite", "neither"
        )
    if (folder / DESCRIPTION).exists():
        raise InvalidInput.expected(f"another --name or --out than {folder}, or --overwrite", "an agent that is there")


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput.expected(f"{folder} to be a folder that can be made", error.strerror or error) from None


def reached_points(reached: int, points: int) -> str:
    """ "3 front points, 2 of them reached", "1 front point, which is reached"."""
    if points == 1:
        return f"1 front point, which is {'' if reached else 'not '}reached"
    return f"{points} front points, {reached or 'none'} of them reached"

"""Options that several verbs have, and kinds of values that they read."""

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo

from paretofoil.search.registry import methods


class SearchOption(OptionInfo):
    """An option whose help lists the searches that are registered when it is read, not when this file is."""

    def __init__(self, before: str, *, many: bool) -> None:
        super().__init__(default=..., help=before, autocompletion=_complete)
        self.metavar = "SEARCHES" if many else "SEARCH"

    @property
    def help(self) -> str:
        return f"{self._help} {', '.join(method.name for method in methods())}."

    @help.setter
    def help(self, text: str) -> None:
        self._help = text


def _complete(incomplete: str) -> list[tuple[str, str]]:
    return [(method.name, method.summary) for method in methods() if method.name.startswith(incomplete)]


AgentName = Annotated[str, typer.Argument(help="An agent's name (see `paretofoil agents`) or folder.")]
Search = Annotated[str, SearchOption("How to look for the answer: auto (proves where it can), or", many=False)]
Searches = Annotated[str, SearchOption("Searches, with commas between them:", many=True)]
Seconds = Annotated[
    float | None, typer.Option(help="Stop the search of a question after this time, with the best so far.")
]
Queries = Annotated[int | None, typer.Option(help="How often the policy may be asked about a question at most.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed of the search and of chance in the environment.")]
Engine = Annotated[str, typer.Option(help="Where to compute: local, dask or ray.")]
Workers = Annotated[int | None, typer.Option(help="Local processes; one per core if left out.")]
Address = Annotated[str | None, typer.Option(help="The address of a Dask or Ray cluster; a local one if left out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
Log = Annotated[Path | None, typer.Option(help="A file to append a line to for each chunk of answers.")]

"""The command line. Each verb is a function in a module of its own, which is imported when the verb is used.

Other packages add verbs by entry points of the group `paretofoil.commands`: functions annotated for typer, or apps.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from io import TextIOWrapper
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from paretofoil.core import __version__
from paretofoil.core.errors import InvalidInput

VERBS = {
    "explain": "explain:explain",
    "episode": "episode:episode",
    "influence": "influence:influence",
    "never": "never:never",
    "atlas": "atlas:atlas",
    "compare": "compare:compare",
    "report": "report:report",
    "agents": "agents:agents",
    "searches": "searches:searches",
    "train": "train:train",
    "import": "import_agent:import_agent",
    "envs": "envs:envs",
    "figure": "figure:app",
    "study": "study:app",
    "serve": "serve:serve",
    "user-study": "user_study:app",
}
"""Built-in verbs in the order of `--help`: "module:object" within this package."""


class Verbs(Mapping[str, Any]):
    """The verbs of this package and of other packages, each imported when it is looked up."""

    def __init__(self) -> None:
        plugins = {plugin.name: plugin for plugin in entry_points(group="paretofoil.commands")}
        # Built-in verbs come first, and a package cannot replace them.
        self._targets: dict[str, str | EntryPoint] = {**VERBS, **plugins, **VERBS}

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets)

    def __len__(self) -> int:
        return len(self._targets)

    def __getitem__(self, verb: str) -> Any:
        target = self._targets[verb]
        if isinstance(target, str):
            module, _, name = target.partition(":")
            return _command(verb, getattr(import_module(f"{__name__}.{module}"), name))
        try:
            return _command(verb, target.load())
        except Exception as error:  # the error is shown when the verb is used
            message = f"expected {target.value} to be importable, got {type(error).__name__}: {error}"

        def broken() -> None:
            raise InvalidInput(message)

        broken.__doc__ = f"Not available: {message}"
        return _command(verb, broken)


class VerbGroup(TyperGroup):
    """A group of commands that imports a command when it is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": Verbs()})


def _command(verb: str, target: Any) -> Any:
    """Return the command of a function or of a typer app."""
    from paretofoil.cli.options import VerbCommand

    if isinstance(target, typer.Typer):
        command: Any = typer.main.get_group(target)
    else:
        single = typer.Typer(add_completion=False)
        single.command(verb, cls=VerbCommand)(target)
        command = typer.main.get_command(single)
    command.name = verb
    return command


app = typer.Typer(
    cls=VerbGroup,
    help="Why this action, and not that one? Explanations for command-conditioned reinforcement-learning agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"paretofoil {__version__}")
        raise typer.Exit


@app.callback()
def _global(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of all verbs."""


def main() -> None:
    """Run the command line. For invalid input, print one line to standard error and exit with code 2."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before NumPy is imported, because matrices are small

    from paretofoil.cli.console import note

    for stream in (sys.stdout, sys.stderr):  # print codes in place of characters that the terminal cannot show
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        for option, value in pairwise(sys.argv):
            if value == "" and option.startswith("--"):
                raise InvalidInput.expected(f"a value for {option}", "''")
        app(prog_name="paretofoil")
    except (InvalidInput, OSError, MemoryError) as error:
        if "--debug" in sys.argv:
            raise
        message = f"out of memory ({error})" if isinstance(error, MemoryError) else str(error)
        note(("error:", "bold red"), " ", " ".join(message.split("\n")))
        sys.exit(2)

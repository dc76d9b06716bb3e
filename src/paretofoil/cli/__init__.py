"""The command line. Each verb is a function in a module of its own, imported when the verb is used.

Other packages add verbs by entry points of the group `paretofoil.commands`: a function annotated for typer, or an app.
"""

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
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
    """The verbs of this package and of installed packages, each imported when it is looked up."""

    def __iter__(self) -> Iterator[str]:
        return iter([*VERBS, *(plugin.name for plugin in _plugins())])

    def __len__(self) -> int:
        return len(VERBS) + len(_plugins())

    def __getitem__(self, verb: str) -> Any:
        if verb in VERBS:
            module, _, name = VERBS[verb].partition(":")
            return _command(verb, getattr(import_module(f"{__name__}.{module}"), name))
        for plugin in _plugins():
            if plugin.name == verb:
                return _plugin_command(plugin)
        raise KeyError(verb)


class VerbGroup(TyperGroup):
    """A group of commands that imports a command when it is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": Verbs()})


def _plugins() -> list[EntryPoint]:
    return [plugin for plugin in entry_points(group="paretofoil.commands") if plugin.name not in VERBS]


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


def _plugin_command(plugin: EntryPoint) -> Any:
    """Return the command of another package; one that cannot be imported says why when it is used."""
    try:
        return _command(plugin.name, plugin.load())
    except Exception as error:
        message = f"expected {plugin.value} to be importable, got {type(error).__name__}: {error}"

    def broken() -> None:
        raise InvalidInput(message)

    broken.__doc__ = f"Not available: {message}"
    return _command(plugin.name, broken)


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
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of all verbs."""


def main() -> None:
    """Run the command line. Invalid input prints one line to standard error and exits with code 2."""
    from paretofoil.cli.console import note

    try:
        app(prog_name="paretofoil")
    except (InvalidInput, OSError) as error:
        if "--debug" in sys.argv:
            raise
        note(("error:", "bold red"), " ", " ".join(str(error).split("\n")))
        sys.exit(2)

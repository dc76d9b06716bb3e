"""Options that several verbs share, and shell completion."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import describe_options

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent


SEARCHES = "{searches}"
"""In a help text, stands for the names of all installed searches."""


class VerbCommand(TyperCommand):
    """A command whose help lists the installed searches. They are loaded only when help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from paretofoil.search.registry import methods

        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            if SEARCHES in text:
                parameter.help = text.replace(SEARCHES, ", ".join(method.name for method in methods()))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


def complete_search(incomplete: str) -> list[tuple[str, str]]:
    from paretofoil.search.registry import methods

    return [(method.name, method.summary) for method in methods() if method.name.startswith(incomplete)]


def complete_agent(incomplete: str) -> list[str]:
    from paretofoil.agents.store import list_agents

    return [name for name in list_agents() if name.startswith(incomplete)]


def complete_environment(incomplete: str) -> list[tuple[str, str]]:
    from paretofoil import envs

    entries = map(envs.entry, envs.names())
    return [(entry.name, entry.description) for entry in entries if entry.name.startswith(incomplete)]


def complete_foil(incomplete: str) -> list[str]:
    return [name for agent in _typed_agent() for name in agent.actions if name.startswith(incomplete)]


def complete_objective(incomplete: str) -> list[str]:
    return [name for agent in _typed_agent() for name in agent.space.names if name.startswith(incomplete)]


def _typed_agent() -> "list[Agent]":
    """Return a list with the agent on the line that the shell completes; empty if there is none.

    The line is read from an environment variable, because typer does not parse a line whose last option has no value.
    """
    from paretofoil.agents.store import list_agents, load_agent

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return [load_agent(word) for word in line.split() if word in list_agents()][:1]
    except (InvalidInput, OSError):  # the shell cannot show errors
        return []


def allow_typed(modules: list[str] | None) -> list[str] | None:
    """Allow the import of the given modules, also from the current folder."""
    if modules:
        from paretofoil.envs.catalogue import allow

        for module in modules:
            allow(module)
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.append(os.getcwd())
    return modules


def check_plot(path: Path | None) -> Path | None:
    """Return the path of a figure; raise an error, before anything is computed, if it cannot be written."""
    if path is not None:
        from paretofoil.show.palette import check_figure

        check_figure(path)
    return path


def check_web() -> None:
    """Raise an error, before anything is computed, if a package that the page needs is not installed."""
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise InvalidInput.missing(package, "web")


_TYPES: dict[str, Any] = {"choice": str, "flag": bool, "whole": int, "number": float}
_METAVARS = {"whole": "N", "number": "NUMBER", "objectives": "OBJECTIVE", "ranges": "NAME=LOW:HIGH"}
_NOTES = {"objectives": " Repeatable.", "ranges": " Costs are positive. Repeatable."}


def typed_option(name: str) -> Any:
    """Return the typer option of a field of `Options`."""
    [info] = [info for info in describe_options() if info.name == name]
    several = info.kind not in _TYPES
    word = (name.removesuffix("s") if several else name).replace("_", "-")
    flag = f"-{word}" if len(word) == 1 else f"--{word}"
    return typer.Option(
        f"{flag}/--no-{word}" if info.default is True else flag,
        metavar="|".join(info.choices) or _METAVARS.get(info.kind),
        help=info.help + _NOTES.get(info.kind, ""),
        autocompletion=complete_objective if several else None,
    )


def with_options(*, without: Sequence[str] = ()) -> Callable[[Callable], Callable]:
    """Return a decorator that replaces the parameter `options` of a verb by one parameter per field of `Options`.

    The verb receives the values as a dictionary, from which `typed.read_options` makes `Options`.
    """
    infos = [info for info in describe_options() if info.name not in without]

    def decorate(verb: Callable) -> Callable:
        @wraps(verb)
        def with_typed(**arguments: Any) -> None:
            typed = {info.name: arguments.pop(info.name) for info in infos}
            verb(**arguments, options=typed)

        parameters: list[Parameter] = []
        for parameter in signature(verb).parameters.values():
            if parameter.name != "options":
                parameters.append(parameter)
                continue
            for info in infos:
                default, kind = info.default, _TYPES.get(info.kind)
                if kind is None:
                    default, kind = None, list[str] | None
                annotation = Annotated[kind | None if info.optional else kind, typed_option(info.name)]  # type: ignore[valid-type]
                parameters.append(parameter.replace(name=info.name, default=default, annotation=annotation))
        with_typed.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        with_typed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_typed

    return decorate


_COMMAND = "Command at the start: returns such as 8,-8, or named values such as treasure=8,time=8 (costs are positive)."
_AGENT = "Name (see `paretofoil agents`) or folder of the agent, or my_module:agent of a module to import."
_SEARCH = f"Search method: auto (exact for white-box policies, boundary for black-box policies), {SEARCHES}."
_SECONDS = "Time limit per question. If omitted, 10 seconds for auto, none for other searches."
_QUERIES = "Maximum number of policy queries per question, not counting those that check the answer."

AgentName = Annotated[str, typer.Argument(metavar="AGENT", help=_AGENT, autocompletion=complete_agent)]
StartCommand = Annotated[str, typer.Option(metavar="COMMAND", help=_COMMAND)]
Command = Annotated[str | None, typer.Option(metavar="COMMAND", help=_COMMAND)]
Foil = Annotated[
    str | None,
    typer.Option(
        metavar="ACTION",
        help='Action that was not chosen, or an amount such as "release >= 80".',
        autocompletion=complete_foil,
    ),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE", callback=check_plot, help="File for a figure (PNG, PDF or SVG).")
]
Search = Annotated[str, typer.Option(metavar="SEARCH", help=_SEARCH, autocompletion=complete_search)]
Seconds = Annotated[float | None, typer.Option(metavar="SECONDS", help=_SECONDS)]
Queries = Annotated[int | None, typer.Option(metavar="N", help=_QUERIES)]
AllowImport = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE",
        callback=allow_typed,
        help="Module that the agent's environment may import, and thereby execute. Repeatable.",
    ),
]
Box = Annotated[str, typed_option("box")]
Kappa = Annotated[float | None, typed_option("kappa")]
Undecided = Annotated[float, typer.Option(help="The proofs stop when at most this share of the commands is undecided.")]
ProofSeconds = Annotated[float, typer.Option(help="Time limit of the proofs.")]
Samples = Annotated[
    int, typer.Option(help="Number of commands to roll out if there is no proof, or if it leaves too many undecided.")
]
Chunk = Annotated[
    int | None, typer.Option(metavar="N", help="Questions per chunk. A stopped run loses only unfinished chunks.")
]
Seed = Annotated[int, typer.Option(metavar="SEED", help="Random seed, at least 0.")]
Engine = Annotated[str, typer.Option(metavar="ENGINE", help="Where to compute: local, dask or ray.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Number of local processes; one per core if omitted.")]
Address = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask or Ray cluster; a new local one if omitted.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Hide the progress display.")]
Log = Annotated[Path | None, typer.Option(metavar="FILE", help="File for a log, with one line per chunk of answers.")]

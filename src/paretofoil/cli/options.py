"""Options that several verbs have, and what the shell can complete."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from paretofoil.core.errors import InvalidInput
from paretofoil.core.whole_number import MOST_SEED
from paretofoil.search.registry import methods

if TYPE_CHECKING:
    from paretofoil.agents.agent import Agent


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


def complete_agent(incomplete: str) -> list[str]:
    from paretofoil.agents.store import list_agents

    return [name for name in list_agents() if name.startswith(incomplete)]


def complete_environment(incomplete: str) -> list[tuple[str, str]]:
    from paretofoil import envs

    entries = map(envs.entry, envs.names())
    return [(entry.name, entry.description) for entry in entries if entry.name.startswith(incomplete)]


def complete_foil(incomplete: str) -> list[str]:
    agent = _typed_agent()
    return [] if agent is None else [name for name in agent.actions if name.startswith(incomplete)]


def complete_objective(incomplete: str) -> list[str]:
    agent = _typed_agent()
    return [] if agent is None else [name for name in agent.space.names if name.startswith(incomplete)]


def _typed_agent() -> "Agent | None":
    """The agent on the line that is completed.

    It is read from what the shell handed over, because the arguments of a line that ends in an option without its
    value are not parsed.
    """
    from paretofoil.agents.store import list_agents, load_agent

    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    named = [word for word in line.split() if word in list_agents()]
    try:
        return load_agent(named[0]) if named else None
    except (InvalidInput, OSError):  # whoever presses Tab wants names, not errors
        return None


def allow_typed(modules: list[str] | None) -> list[str] | None:
    """Whoever types the name of a module allows it, and expects it to be found in the folder where they stand."""
    if modules:
        from paretofoil.envs.catalogue import allow

        for module in modules:
            allow(module)
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.append(os.getcwd())
    return modules


def check_web() -> None:
    """Refuse, before anything is computed, what needs packages that are not installed."""
    for package in ("fastapi", "uvicorn"):
        if find_spec(package) is None:
            raise InvalidInput.expected('what the page needs (pip install "paretofoil[web]")', f"no {package}")


_COMMAND = (
    "What to ask for at the start: returns, such as 8,-8, or by name and with costs as positive sizes, "
    "such as treasure=8,time=8."
)
_RANGE = "What may be asked for, as NAME=LOW:HIGH, with costs as positive sizes; may be repeated."
_KEEP = "An objective that must not change; may be repeated."

_AGENT = "An agent's name (see `paretofoil agents`) or folder; or my_module:agent, of a module that is then imported."

AgentName = Annotated[str, typer.Argument(help=_AGENT, autocompletion=complete_agent)]
StartCommand = Annotated[str, typer.Option(help=_COMMAND)]
Command = Annotated[str | None, typer.Option(help=_COMMAND)]
Foil = Annotated[str | None, typer.Option(help="The action that was not chosen.", autocompletion=complete_foil)]
Keep = Annotated[list[str] | None, typer.Option(help=_KEEP, autocompletion=complete_objective)]
Ranges = Annotated[list[str] | None, typer.Option("--range", help=_RANGE)]
Plot = Annotated[Path | None, typer.Option(help="Draw it into this file.")]
Search = Annotated[str, SearchOption("How to look for the answer: auto (proves where it can), or", many=False)]
Searches = Annotated[
    str, SearchOption("Searches, with commas between them: auto (here without its limit of time), or", many=True)
]
Seconds = Annotated[
    float | None,
    typer.Option(help="Stop the search of a question after so long, with the best so far; auto: 10, others: never."),
]
Queries = Annotated[
    int | None,
    typer.Option(
        help="How often the search of a question may ask the policy at most; comparing, rounding and checking what it "
        "finds come on top."
    ),
]
AllowImport = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE",
        callback=allow_typed,
        help="A module that an agent's environment may import, and so run; may be repeated.",
    ),
]
Box = Annotated[
    str,
    typer.Option(
        help="Search what can still be fulfilled (reachable), or the whole box that the paper's authors set (paper)."
    ),
]
Kappa = Annotated[
    float | None,
    typer.Option(
        help="By how much the foil must win; if left out, 0.05, or 1 % of the spread where the policy tells values."
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MOST_SEED, help="The seed of the search and of chance in the environment.")
]
Engine = Annotated[str, typer.Option(help="Where to compute: local, dask or ray.")]
Workers = Annotated[int | None, typer.Option(help="Local processes; one per core if left out.")]
Address = Annotated[str | None, typer.Option(help="The address of a Dask or Ray cluster; a local one if left out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress display.")]
Log = Annotated[Path | None, typer.Option(help="A file to append a line to for each chunk of answers.")]

"""The command line: one file per verb. Heavy packages are imported inside the verbs that need them."""

import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from paretofoil.cli import (
    agents,
    envs,
    episode,
    explain,
    figure,
    import_agent,
    influence,
    never,
    searches,
    serve,
    study,
    train,
    user_study,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.version import __version__

app = typer.Typer(
    help="Why this action, and not that one? Explanations for command-conditioned reinforcement-learning agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("explain")(explain.explain)
app.command("episode")(episode.episode)
app.command("influence")(influence.influence)
app.command("never")(never.never)
app.command("agents")(agents.agents)
app.command("searches")(searches.searches)
app.command("train")(train.train)
app.command("import")(import_agent.import_agent)
app.command("envs")(envs.envs)
app.add_typer(figure.app, name="figure")
app.add_typer(study.app, name="study")
app.command("serve")(serve.serve)
app.add_typer(user_study.app, name="user-study")
for plugin in entry_points(group="paretofoil.commands"):
    app.command(plugin.name)(plugin.load())


def _show_version(wanted: bool) -> None:
    if wanted:
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
    """Run the command line; bad input is one clear line and exit code 2."""
    from paretofoil.cli.console import note

    try:
        app(prog_name="paretofoil")
    except (InvalidInput, OSError) as error:
        if "--debug" in sys.argv:
            raise
        note(("error:", "bold red"), " ", " ".join(str(error).split("\n")))
        sys.exit(2)

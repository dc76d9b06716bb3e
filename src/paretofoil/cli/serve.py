"""The verb `paretofoil serve`."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import note, say
from paretofoil.cli.options import AllowImport, Workers, allow_typed, check_web, complete_agent

if TYPE_CHECKING:
    from paretofoil.web.settings import Settings

_AGENTS = "Names or folders of agents, or my_module:agent. If omitted, all agents of `paretofoil agents`."
_REPLIES = "File for the replies of the user study. If omitted, a file in the current folder, named after the study."


def serve(
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="AGENTS", help=_AGENTS, autocompletion=complete_agent)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; 127.0.0.1 admits only this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any free port.")] = 8765,
    folder: Annotated[list[Path] | None, typer.Option(help="Folder that contains agent folders. Repeatable.")] = None,
    workers: Workers = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    study: Annotated[Path | None, typer.Option(help="File of a user study to run (see docs/user-study.md).")] = None,
    replies: Annotated[Path | None, typer.Option(help=_REPLIES)] = None,
    allow_import: AllowImport = None,
) -> None:
    """Serve a web page that shows agents and explains why they did not choose another action."""
    check_web()
    from paretofoil.agents.store import module_address
    from paretofoil.web.settings import Settings

    addresses = filter(None, map(module_address, agents or ()))
    allow_typed([address.partition(":")[0] for address in addresses])
    settings = Settings(
        agents=tuple(agents or ()),
        folders=tuple(folder or ()),
        host=host,
        port=port,
        workers=workers or 0,
        allowed_modules=tuple(allow_import or ()),
        study=study,
        replies=replies,
    )
    _run(settings, open_page)


def _run(settings: "Settings", open_page: bool) -> None:
    import webbrowser

    from paretofoil.web.app import create_app
    from paretofoil.web.connections import run_server

    app = create_app(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=128) as listening:
        address = _address(settings.host, listening.getsockname()[1])
        for name, reason in app.state.server.agents.broken.items():
            note((name, "bold red"), f" cannot be loaded: {reason}")
        if not settings.loopback:
            note(
                ("warning:", "bold yellow"),
                " everyone who can reach this machine can use this server; there is no password.",
            )
        say(f"The page is at {address} (stop with Ctrl+C).")
        if app.state.server.study is not None:
            say(f"Replies to the user study are written to {app.state.server.study.path}.")
        if open_page:
            webbrowser.open(address)
        run_server(app, listening)


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"

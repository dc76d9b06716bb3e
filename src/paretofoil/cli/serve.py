"""paretofoil serve: the page, on this machine."""

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paretofoil.cli.console import note, say
from paretofoil.cli.options import AllowImport, Workers, allow_typed, check_web, complete_agent

if TYPE_CHECKING:
    from paretofoil.web.settings import Settings

_AGENTS = (
    "Names or folders of agents, or module:name of one of your own; all that `paretofoil agents` lists if left out."
)


def serve(
    agents: Annotated[list[str] | None, typer.Argument(help=_AGENTS, autocompletion=complete_agent)] = None,
    host: Annotated[str, typer.Option(help="Where to listen; the default lets in this machine alone.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8765,
    folder: Annotated[list[Path] | None, typer.Option(help="A folder of agents' folders; may be repeated.")] = None,
    workers: Workers = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    study: Annotated[
        Path | None, typer.Option(help="Run the user study that this file describes (docs/user-study.md).")
    ] = None,
    replies: Annotated[
        Path | None, typer.Option(help="The file of the study's replies; named as the study, and here, if left out.")
    ] = None,
    allow_import: AllowImport = None,
) -> None:
    """Serve the page: watch agents, ask why not, and see what would have made the difference."""
    check_web()
    from paretofoil.agents.own_agent import module_address
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

    import uvicorn

    from paretofoil.web.app import create_app

    app = create_app(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=128) as listening:
        address = _address(settings.host, listening.getsockname()[1])
        for name, reason in app.state.server.agents.broken.items():
            note((name, "bold red"), f" cannot be loaded: {reason}")
        if not settings.loopback:
            note(
                ("warning:", "bold yellow"),
                " whoever can reach this machine can use this server, and there is no password.",
            )
        say(f"The page is at {address} (stop with Ctrl+C).")
        if app.state.server.study is not None:
            say(f"Replies to the study go into {app.state.server.study.path}.")
        if open_page:
            webbrowser.open(address)
        config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=3)
        uvicorn.Server(config).run(sockets=[listening])


def _address(host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"

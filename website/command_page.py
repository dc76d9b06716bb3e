"""Generate the command-line reference from the command line itself."""

import inspect
from typing import Any

from typer.main import get_command

from paretofoil.cli import app


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _placeholder(parameter: Any) -> str:
    """Return the placeholder of an argument; optional ones are in square brackets."""
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_placeholder(parameter)}`"
    return ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    if parameter.secondary_opts and default is not None:
        return f"`{(parameter.opts if default else parameter.secondary_opts)[0]}`"
    return "" if default is None or default is False or callable(default) or default == "" else f"`{default}`"


def _parameters(command: Any) -> list[str]:
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    rows = [f"| {_names(p)} | {_cell(getattr(p, 'help', '') or '')} | {_default(p)} |" for p in shown]
    return ["\n".join(["| argument or option | meaning | default |", "|---|---|---|", *rows])] if rows else []


def _section(command: Any, path: str, level: int) -> list[str]:
    parts = [f"{'#' * level} {path}", inspect.cleandoc(command.help or "")]
    if not hasattr(command, "commands"):
        arguments = [_placeholder(p) for p in command.params if p.param_type_name == "argument"]
        parts.append(f"```text\n{' '.join([path, *arguments, '[OPTIONS]'])}\n```")
    parts += _parameters(command)
    for name, inner in getattr(command, "commands", {}).items():
        parts += _section(inner, f"{path} {name}", level + 1)
    return parts


def command_page() -> str:
    """Return the page: every command with its arguments and options."""
    return "\n\n".join(["# Command line", *_section(get_command(app), "paretofoil", 1)[1:]]) + "\n"

"""Installed packages add verbs by entry points."""

from importlib.metadata import EntryPoint, entry_points

import pytest
import typer

greetings = typer.Typer(help="Greet people.")


@greetings.callback()
def _group() -> None:
    """Greet people."""


@greetings.command()
def warmly(name: str) -> None:
    """Greet one person warmly."""
    print(f"Dear {name}")


def greet(name: str) -> None:
    """Greet one person."""
    print(f"Hello, {name}")


@pytest.fixture(autouse=True)
def plugins(monkeypatch):
    """Entry points as an installed package would declare them."""
    declared = {
        "greet": f"{__name__}:greet",
        "greetings": f"{__name__}:greetings",
        "broken": "not_installed.anywhere:verb",
        "explain": f"{__name__}:greet",
    }
    added = [EntryPoint(name, value, "paretofoil.commands") for name, value in declared.items()]
    monkeypatch.setattr(
        "paretofoil.cli.entry_points",
        lambda *, group: added if group == "paretofoil.commands" else entry_points(group=group),
    )


def test_a_function_is_a_verb(run):
    assert run("greet", "Ada").out == "Hello, Ada\n"
    assert "Greet one person." in run("greet", "--help").out


def test_an_app_is_a_verb_with_verbs_below_it(run):
    assert run("greetings", "warmly", "Ada").out == "Dear Ada\n"


def test_help_lists_installed_verbs(run):
    told = run("--help").out
    assert "Greet one person." in told
    assert "Greet people." in told


def test_a_verb_that_cannot_be_imported_is_an_error_of_one_line(run):
    told = run("broken", code=2)
    assert told.err.startswith("error: expected not_installed.anywhere:verb to be importable, got ModuleNotFoundError")
    assert len(told.err.splitlines()) == 1
    assert "Not available" in run("--help").out


def test_a_built_in_verb_cannot_be_replaced(run):
    assert "--all-foils" in run("explain", "--help").out


def test_a_mistyped_verb_is_answered_with_the_nearest_ones(run):
    assert "Did you mean 'greet'" in run("gret", code=2).err

"""The command `paretofoil reproduce`, which this package adds to the command line."""

from typer.testing import CliRunner

from paretofoil.cli import app
from paretofoil_paper import EXPERIMENTS


def test_the_help_of_reproduce_names_all_experiments_in_their_order() -> None:
    words = CliRunner().invoke(app, ["reproduce", "--help"]).output.replace("│", " ").split()
    names = [word.strip(",.") for word in words if word.strip(",.") in EXPERIMENTS]
    assert names[: len(EXPERIMENTS)] == list(EXPERIMENTS)

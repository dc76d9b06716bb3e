"""A new virtual environment without a network: it takes all other packages from the environment of the tests."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads it the other way round: 0 switches the isolation off
    "PIP_IGNORE_INSTALLED": "1",  # do not touch the packages of the tests
    "PIP_QUIET": "1",
}
"""Settings with which `pip install .` works without a network."""


class NewEnvironment:
    """A virtual environment in a folder; packages that it lacks come from the environment of the tests."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False)
        self.programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.python = str(self.programs / "python")
        site = sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
        (Path(site) / "elsewhere.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
        pip = self.programs / "pip"
        pip.write_text(f'#!/bin/sh\nexec "{self.python}" -m pip "$@"\n')
        pip.chmod(0o755)

    def run(self, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment; raise if it fails."""
        path = os.pathsep.join((str(self.programs), "/usr/bin", "/bin"))
        settings = {"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1", "COLUMNS": "200", **OFFLINE}
        return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=True)

"""A new environment without a network: pip installs from this repository, all other packages are borrowed."""

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
    "PIP_IGNORE_INSTALLED": "1",  # leave what is borrowed alone
    "PIP_QUIET": "1",
}
"""What pip is told, so that one can type `pip install .` without a network."""


class NewEnvironment:
    """Programs and packages of its own, in a folder; other packages are those of the environment of the tests."""

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
        """What it prints; a program that fails raises."""
        path = os.pathsep.join((str(self.programs), "/usr/bin", "/bin"))
        settings = {"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1", "COLUMNS": "200", **OFFLINE}
        return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=True)

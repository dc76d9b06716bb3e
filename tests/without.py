"""Runs code in a process in which a package seems not to be installed."""

import subprocess
import sys

_BLOCK = """
import sys, importlib.metadata as metadata
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError("No module named {module}", name=name)
sys.meta_path.insert(0, Missing())
real_version = metadata.version
def version(package):
    if package.replace("-", "_") == {module!r}:
        raise metadata.PackageNotFoundError(package)
    return real_version(package)
metadata.version = version
"""


def run_without(module: str, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _BLOCK.format(module=module) + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True)

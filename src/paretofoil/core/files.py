"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path

from paretofoil.core.errors import InvalidInput

CHECKPOINT = "checkpoint.safetensors"
"""File of an unfinished training in the folder of an agent."""


def check_file(path: Path, what: str) -> None:
    """Refuse, before anything is computed for it, a file that could not be written."""
    if not path.parent.is_dir():
        raise InvalidInput.expected(f"{what} in a folder that exists", repr(str(path)))
    if path.is_dir():
        raise InvalidInput.expected(what, f"the folder {str(path)!r}")


def write_whole(path: Path, content: bytes) -> None:
    """Write next to the place and rename, so that a killed process or a full disk leaves the old file."""
    file = tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False)  # noqa: SIM115
    try:
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise

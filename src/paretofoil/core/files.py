"""Write files atomically."""

import os
import secrets
from functools import partial
from pathlib import Path

from paretofoil.core.errors import InvalidInput

CHECKPOINT = "checkpoint.safetensors"
"""File of an unfinished training in the folder of an agent."""


def check_file(path: Path, what: str) -> None:
    """Raise an error if a file cannot be written. Call this before computing its content."""
    if not path.parent.is_dir():
        raise InvalidInput.expected(f"{what} in a folder that exists", repr(str(path)))
    if path.is_dir():
        raise InvalidInput.expected(what, f"the folder {str(path)!r}")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file and rename it. If the process is killed or the disk is full, the old file remains.

    Links are followed. An existing file keeps its mode, and a new one gets that of the umask. A pipe or a device is
    written to, never replaced.
    """
    check_file(path, "a file to write")
    if path.exists() and not path.is_file():
        with path.open("wb") as special:
            special.write(content)
        return
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    temporary = target.with_name(f".paretofoil-{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o666 if mode is None else mode)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

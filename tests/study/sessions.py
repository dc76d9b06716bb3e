"""Which processes a process has started, also those that outlived it or, as Ray's do, changed their names."""

import os
from contextlib import suppress
from pathlib import Path


def processes_of(session: int) -> dict[int, str]:
    """Number and command line of all that run in this session, where there is a /proc to read them from."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            number = int(process.name)
            if os.getsid(number) == session and (command := (process / "cmdline").read_text()):  # empty: it has ended
                found[number] = command.replace("\0", " ")
    return found

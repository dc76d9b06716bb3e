"""Processes of their own, and the processes that they start, also those that outlive them or change their names."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

SRC, TESTS = Path(__file__).parents[2] / "src", Path(__file__).parents[1]

HANGS = 3600
"""Seconds after which a process is taken to hang, on the busiest of machines."""


def processes_of(session: int) -> dict[int, str]:
    """Number and command line of all that run in this session, where there is a /proc to read them from."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is another user's
            number = int(process.name)
            if os.getsid(number) == session and (command := (process / "cmdline").read_text()):  # empty: it has ended
                found[number] = command.replace("\0", " ")
    return found


def run_script(arguments: list[object]) -> str:
    return run_process(arguments).stdout


def run_process(arguments: list[object]) -> subprocess.CompletedProcess:
    """Python with these arguments; it must end well and leave no process behind. The time-outs only end what hangs."""
    places = [str(SRC), str(TESTS), str(TESTS / "study"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(places),
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    command, output = [sys.executable, *map(str, arguments)], {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, start_new_session=True, **output) as script:  # type: ignore[call-overload]
        told, complained = script.communicate(timeout=HANGS)
    assert script.returncode == 0, told + complained
    until = time.monotonic() + HANGS
    while (left := processes_of(script.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    assert left == {}
    return subprocess.CompletedProcess(command, script.returncode, told, complained)

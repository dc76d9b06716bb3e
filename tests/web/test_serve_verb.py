"""`paretofoil serve` as it is typed: a real server, that stops when it is told to."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

Run = Callable[..., tuple[int, str, str]]


@contextmanager
def typed(*arguments: str, **settings: Any) -> Iterator["subprocess.Popen[str]"]:
    """Safe paths (-P): as for the installed command, the folder in which it is typed is none to import from."""
    command = [sys.executable, "-P", "-m", "paretofoil", "serve", "--port", "0", "--workers", "1", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def address_of(process: Any) -> str:
    found = re.search(r"http://\S+:\d+/", process.stdout.readline())
    assert found, process.stderr.read()
    return found[0]


def test_the_page_is_served_until_it_is_interrupted() -> None:
    with typed("deep-sea-treasure") as process:
        address = address_of(process)
        assert address.startswith("http://127.0.0.1:")
        page = httpx.get(address, follow_redirects=True)
        assert page.headers["content-type"].startswith("text/html")
        assert "server" not in page.headers
        assert [agent["name"] for agent in httpx.get(f"{address}api/agents").json()] == ["deep-sea-treasure"]
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all that were started from it
        process.wait()
        assert "Traceback" not in process.stderr.read()  # type: ignore[union-attr]


def test_your_own_agents_are_found_in_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "own_agents.py").write_text("import paretofoil as pf\nagent = pf.load_agent('branch-path')\n")
    with typed("own_agents.py:agent", cwd=tmp_path) as process:
        asked = {"agent": "own_agents:agent", "command": [1.0, 1.0]}  # by another process, which finds it as well
        assert httpx.post(f"{address_of(process)}api/episodes", json=asked, timeout=60).status_code == 200


def test_a_server_that_others_can_reach_warns() -> None:
    with typed("deep-sea-treasure", "--host", "0.0.0.0") as process:
        httpx.get(f"{address_of(process)}api/health")  # by then it listens to signals, even if its parent ignores them
        process.send_signal(signal.SIGINT)
        assert "warning: everyone who can reach this machine" in process.stderr.read()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "expected an agent among"),
        (["--port", "99999"], "expected a port from 0 to 65535"),
        (["--workers", "999"], "expected 0 to 256 workers"),
        (["--folder", "/no/such/folder"], "expected a folder of agents"),
        (["--host", "300.1.1.1"], "error:"),
    ],
)
def test_what_cannot_be_served_is_one_line(run: Run, arguments: list[str], words: str) -> None:
    code, out, error = run("serve", "--workers", "1", "--port", "0", *arguments)
    assert (code, out) == (2, "")
    assert words in error
    assert "Traceback" not in error

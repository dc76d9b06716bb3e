"""Attack a local server by crafted requests, broken HTTP, half-open connections, and by killing its workers.

    python benchmarks/attack_server.py [--connections 1100] [--kills 10]

Starts `paretofoil serve` with a user study on a free port and prints a table of the attacks. A finding is a response of
status 500, an error that is not one sentence of JSON, a missing security header, no response at all, a traceback in the
log, or a server that cannot answer a question after the attack. The exit code is 1 if there is a finding.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from paretofoil.web.guard import HEADERS

STUDY = Path(__file__).parents[1] / "docs" / "user-study.json"
KEY = "0" * 32
SECONDS = 60.0
"""To wait for a response; the machine may be busy."""
EPISODE = {"agent": "deep-sea-treasure", "command": [8.0, -8.0], "seed": 0}
STATE = {"agent": "deep-sea-treasure", "state": [0.0] * 22}
REPLY = {"screen": "predict-turn", "reply": "down", "ratings": {"sure": 2}, "seconds": 1.0, "away": 0.0, "loads": 1}
REQUESTS: dict[str, dict[str, Any]] = {
    "/api/episodes": EPISODE,
    "/api/consequences": {**EPISODE, "step": 1, "issued": [5.0, -5.0]},
    "/api/answers": {**EPISODE, "step": 5, "foil": "down", "search": "nearest-front", "options": {}, "seconds": 1.0},
    "/api/flip-maps": {**EPISODE, "steps": [5], "search": "nearest-front", "options": {}, "seconds": 1.0},
    "/api/influence": {**EPISODE, "steps": [5], "seconds": 0.1},
    "/api/folded": STATE,
    "/api/probabilities": {**STATE, "valid_actions": [0, 1], "commands": [[8.0, -8.0]]},
    "/api/agents": {"name": "mine", "description": {}, "weights": ""},
    f"/api/study/participants/{KEY}/replies": REPLY,
}
ODD_VALUES: list[Any] = [
    *(None, True, "", "x" * 5000, "\ud800", "\x00\x1b[2J", -1, 2**63, 10**400, 1e308, -0.0, 1.5),
    *([], [[]], [None], ["8"], [1e308, 1e308], [0] * 1000, {}, {"": {}}, {"__class__": "x"}, {"a": {"b": [1]}}),
]
ODD_BODIES = [
    *(
        b"",
        b"{",
        b"null",
        b"[]",
        b"0",
        b'"x"',
        b"{}{}",
        b"\xff\xfe{}",
        b"\xef\xbb\xbf{}",
        b'{"a": NaN}',
        b'{"a": 1e999}',
    ),
    *(b"[" * 60_000, b'{"a":' * 10_000, b'{"agent": "' + b"x" * 50_000 + b'"}', b'{"\\ud800": 1}', b"9" * 50_000),
    *(b"[" + b"[]," * 21_000 + b"[]]", b'{"agent": 1, "agent": 2}', b"{" + b'"a": {},' * 7000 + b'"b": 1}'),
]
ODD_PATHS = [
    *(
        "/%00",
        "/..%2f..%2fetc/passwd",
        "/page/%2e%2e/app.py",
        "/page/" + "x" * 5000,
        "/%ff%fe",
        "/api//agents",
        "//",
        "/*",
    ),
    *(
        "/api/agents/%F0%9F%98%80",
        "/api/agents/" + "a" * 300,
        "/api/jobs/%00",
        "/api/jobs/x?ticket=%00",
        "/api/pictures",
    ),
    "/api/pictures?agent=deep-sea-treasure&command=8,-8&step=99999999999999999999",
    "/api/pictures?agent=deep-sea-treasure&command=nan,inf&step=0",
    "/api/pictures?agent=deep-sea-treasure&command=1e308,-1e308&step=0&since=0&issued=,",
    "/api/pictures?agent=deep-sea-treasure&command=" + ",".join("1" * 100) + "&step=0",
    *(f"/api/study/participants/{key}" for key in ("x", "0" * 31, "%00" * 32, "1" * 32)),
]
ODD_HEADERS = [
    *({"Origin": origin} for origin in ("http://[", "null", "", "http://]", "x" * 5000, "http://127.0.0.1:99999999")),
    *(
        {"Host": host}
        for host in ("[", "]", "", "[::1", "127.0.0.1:x", "127.0.0.1:99999999", "a" * 5000, "evil.example")
    ),
    *({"Content-Type": kind} for kind in ("", ";", "application/json;" * 500, "text/plain", "multipart/form-data")),
    *({"Sec-Fetch-Site": site} for site in ("", "cross-site", "x" * 3000)),
    *({"Accept-Encoding": "x" * 3000}, {"Cookie": "=" * 5000}, {"Range": "bytes=0-,-1,9-1"}, {"X-\xe9": "\xe9"}),
]
HEAD = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
ODD_HTTP = [
    *(
        b"\x00" * 100,
        b"\r\n" * 1000,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02",
    ),
    *(
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET " + b"x" * 70_000,
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 9000 + b"\r\n",
    ),
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Content-Length: -1\r\n\r\n",
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    b"POST /api/episodes HTTP/1.1\r\n"
    + HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nffffffffffffffffffff\r\n",
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: gzip\r\n\r\n{}",
    b"POST /api/episodes HTTP/1.1\r\n" + HEAD + b"Content-Length: 9\r\nExpect: 100-continue\r\n\r\n{}",
    b"GET /api/health HTTP/1.1\r\n" + HEAD + b"\r\n\x00garbage\r\n\r\n",
    b"GET /api/health HTTP/1.1\r\n"
    + HEAD
    + b"Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n",
    b"GET http://[ HTTP/1.1\r\n" + HEAD + b"\r\n",
    b"GET /api/health HTTP/1.0\r\n\r\n",
    *(
        method + b" /api/agents HTTP/1.1\r\n" + HEAD + b"\r\n"
        for method in (b"HEAD", b"OPTIONS", b"TRACE", b"PATCH", b"X" * 99)
    ),
]


class Attack:
    """A running server, and what was found."""

    def __init__(self, address: str, pid: int, log: Path) -> None:
        self.address, self.pid, self.log = address, pid, log
        self.place = ("127.0.0.1", int(address.rsplit(":", 1)[1]))
        self.client = httpx.Client(base_url=address, timeout=SECONDS, limits=httpx.Limits(max_connections=20))
        self.findings: list[str] = []
        self.statuses: Counter[int] = Counter()

    def judge(self, what: str, status: int, headers: dict[str, str], body: bytes) -> None:
        self.statuses[status] += 1
        if status >= 500 and not (status == 503 and ("retry-after" in headers or "/api/health" in what)):
            self.findings.append(f"{what}: status {status}")
        missing = [name for name in HEADERS if name.lower() not in headers]
        if missing:
            self.findings.append(f"{what}: status {status} without {', '.join(missing)}")
        if status >= 400 and body and "/api/health" not in what:
            try:
                assert set(json.loads(body)) == {"error"}
            except (ValueError, AssertionError):
                self.findings.append(f"{what}: status {status} with {body[:100]!r}")

    def send(self, method: str, path: str, **more: Any) -> httpx.Response | None:
        what = f"{method} {path[:60]} {str(more)[:120]}"
        try:
            answer = self.client.request(method, path, **more)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError, ValueError):
            return None  # a request that the client cannot send
        except httpx.HTTPError as error:
            self.findings.append(f"{what}: no response ({type(error).__name__})")
            return None
        self.judge(what, answer.status_code, dict(answer.headers), answer.content)
        return answer

    def send_raw(self, sent: bytes) -> None:
        """Send bytes and check what comes back. To be cut off without a response is allowed."""
        with socket.create_connection(self.place) as client:
            client.settimeout(SECONDS)
            received = b""
            try:
                client.sendall(sent)
                client.shutdown(socket.SHUT_WR)
                while part := client.recv(1 << 16):
                    received += part
            except OSError:
                pass
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        if not first:
            self.statuses[0] += 1
        elif not first.startswith("HTTP/1.1 100"):
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            whole = b"" if b"HTTP/1.1" in body or "chunked" in headers.get("transfer-encoding", "") else body
            self.judge(f"{sent[:80]!r}", int(first.split()[1]), headers, whole)


def bodies(attack: Attack, options: argparse.Namespace) -> None:
    for path in REQUESTS:
        for body in ODD_BODIES:
            attack.send("POST", path, content=body, headers={"Content-Type": "application/json"})


def values(attack: Attack, options: argparse.Namespace) -> None:
    for path, request in REQUESTS.items():
        for field in [*request, "unknown"]:
            for value in ODD_VALUES:
                text = json.dumps({**request, field: value})
                attack.send("POST", path, content=text, headers={"Content-Type": "application/json"})


def paths(attack: Attack, options: argparse.Namespace) -> None:
    for path in ODD_PATHS:
        for method in ("GET", "DELETE", "PUT"):
            attack.send(method, path, **({"json": {"agreed": True}} if method == "PUT" else {}))


def headers(attack: Attack, options: argparse.Namespace) -> None:
    for header in ODD_HEADERS:
        sent = {name.encode("latin-1"): value.encode("latin-1") for name, value in header.items()}
        attack.send("GET", "/api/agents", headers=sent)
        attack.send("POST", "/api/episodes", content=json.dumps(EPISODE), headers=sent)
        attack.send("GET", "/page/", headers=sent)


def broken_http(attack: Attack, options: argparse.Namespace) -> None:
    for sent in ODD_HTTP:
        attack.send_raw(sent)


def large_bodies(attack: Attack, options: argparse.Namespace) -> None:
    many = b"[" + b"[]," * 2_790_000 + b"[]]"
    with ThreadPoolExecutor(10) as threads:
        kind = {"Content-Type": "application/json"}
        running = [threads.submit(attack.send, "POST", "/api/agents", content=many, headers=kind) for _ in range(10)]
        waits = []
        while not all(one.done() for one in running):
            started = time.monotonic()
            attack.send("GET", "/api/options")
            waits.append(time.monotonic() - started)
    if max(waits, default=0.0) > 5.0:
        attack.findings.append(f"a request waited {max(waits):.1f} s while large bodies were sent")


def half_open(attack: Attack, options: argparse.Namespace) -> None:
    with ExitStack() as opened:
        for number in range(options.connections):
            client = opened.enter_context(socket.create_connection(attack.place))
            try:
                client.sendall(b"POST /api/episodes HTTP/1.1\r\nHost: 127"[: number % 40])
            except OSError:  # closed, since there are newer ones
                continue
        started = time.monotonic()
        httpx.get(f"{attack.address}/api/options", timeout=SECONDS).raise_for_status()
        if time.monotonic() - started > 5.0:
            attack.findings.append(f"a request waited {time.monotonic() - started:.1f} s for half-open connections")


def cancels(attack: Attack, options: argparse.Namespace) -> None:
    question = {**REQUESTS["/api/answers"], "search": "cf-zoo:thorough", "seconds": 20.0}
    answers = [attack.send("POST", "/api/answers", json=question) for _ in range(2)]
    first, second = (answer.json() for answer in answers if answer is not None)
    for ticket in (first["ticket"], first["ticket"], "", "x" * 100, "0" * 32):
        attack.send("DELETE", f"/api/jobs/{first['job']}?ticket={ticket}")
    if attack.client.get(f"/api/jobs/{first['job']}").json()["state"] == "cancelled":
        attack.findings.append("one client cancelled the question of another one")
    attack.send("DELETE", f"/api/jobs/{first['job']}?ticket={second['ticket']}")


def kills(attack: Attack, options: argparse.Namespace) -> None:
    for number in range(options.kills):
        attack.send("POST", "/api/answers", json={**REQUESTS["/api/answers"], "seed": number})
        children = Path(f"/proc/{attack.pid}/task").glob("*/children")
        for pid in [pid for path in children for pid in path.read_text().split()]:
            try:
                os.kill(int(pid), (signal.SIGKILL, signal.SIGSEGV)[number % 2])
            except ProcessLookupError:  # it has ended
                continue
        attack.send("POST", "/api/episodes", json=EPISODE)


ATTACKS: dict[str, Callable[[Attack, argparse.Namespace], None]] = {
    "odd bodies": bodies,
    "odd values": values,
    "odd paths": paths,
    "odd headers": headers,
    "broken HTTP": broken_http,
    "large bodies": large_bodies,
    "half-open connections": half_open,
    "cancels": cancels,
    "kills of workers": kills,
}


def check_alive(attack: Attack, seed: int) -> None:
    """Ask a new question, which the server must answer, and wait until its health is ok."""
    question = {**REQUESTS["/api/answers"], "seed": 1_000_000 + seed}
    state = health = "unknown"
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and (state, health) != ("done", "ok"):
        answer = httpx.post(f"{attack.address}/api/answers", json=question, timeout=SECONDS)
        state = answer.json().get("state", "refused")
        health = httpx.get(f"{attack.address}/api/health", timeout=SECONDS).json()["status"]
        time.sleep(0.05)
    if (state, health) != ("done", "ok"):
        attack.findings.append(f"afterwards a question is {state}, and the health is {health}")


@contextmanager
def serving(folder: Path) -> Iterator[Attack]:
    command = [sys.executable, "-m", "paretofoil", "serve", "deep-sea-treasure", "deep-sea-treasure-early"]
    command += ["--port", "0", "--workers", "2", "--study", str(STUDY), "--replies", str(folder / "replies.sqlite")]
    log = folder / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            address = re.search(r"http://[^/]+", process.stdout.readline())
            assert address is not None, log.read_text()
            yield Attack(address[0], process.pid, log)
        finally:
            process.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=1100, help="half-open connections")
    parser.add_argument("--kills", type=int, default=10, help="times that all workers are killed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as attack:
        attack.send("PUT", f"/api/study/participants/{KEY}", json={"agreed": True})
        findings: list[str] = []
        print(f"{'attack':24}{'requests':>9}{'seconds':>9}{'findings':>9}  statuses")
        for number, (name, run) in enumerate(ATTACKS.items()):
            attack.findings, attack.statuses, started = [], Counter(), time.monotonic()
            run(attack, options)
            check_alive(attack, number)
            if "Traceback" in attack.log.read_text():
                attack.findings.append(f"a traceback in the log: {attack.log.read_text()[-2000:]}")
                attack.log.write_text("")
            statuses = " ".join(f"{status}:{count}" for status, count in sorted(attack.statuses.items()))
            seconds, num_findings = time.monotonic() - started, len(attack.findings)
            print(f"{name:24}{attack.statuses.total():9}{seconds:9.1f}{num_findings:9}  {statuses}", flush=True)
            findings += [f"{name}: {finding}" for finding in attack.findings]
    for finding in findings:
        print(finding)
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())

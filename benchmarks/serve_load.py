"""Test the web server under load: 32 clients ask different questions for a minute, and every answer is checked.

Prints the answers and their rate, errors, answers that differ from the library's, the times of health requests, and
the memory of the server and its workers. A separate process sends the health requests.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import paretofoil as pf

AGENTS = ("deep-sea-treasure", "branch-path", "reward-line", "collect-two", "resource-gathering")
SECONDS = 10.0
"""Time limit per question; no question reaches it."""

FIRST_POLL, LAST_POLL = 0.12, 0.9
"""Seconds between polls of a job, as in the page."""


@dataclass
class Log:
    """Results of all clients; appending is thread-safe."""

    answers: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    memory: list[tuple[int, int, int]] = field(default_factory=list)
    """Megabytes of the server and of the largest worker, and the number of workers."""


def questions() -> list[dict[str, Any]]:
    """Return every step and foil of the episodes under the front."""
    made = []
    for name in AGENTS:
        agent = pf.load_agent(name)
        for command in agent.front:
            for decision in pf.rollout(agent, command):
                foils = [a for a in decision.valid_actions if a != decision.action]
                where = {"agent": name, "command": command.tolist(), "step": decision.step, "seconds": SECONDS}
                made += [{**where, "foil": agent.actions[foil]} for foil in foils]
    return made


def visit(address: str, asked: list[dict[str, Any]], end: float, log: Log) -> None:
    """Run one client: an episode, a picture and an answer in turn, as the page requests them."""
    with httpx.Client(base_url=address, timeout=120) as client:
        for question in asked:
            if time.monotonic() > end:
                return
            try:
                _ask(client, question, log)
            except Exception as error:
                log.errors.append(f"{type(error).__name__}: {error}")


def _ask(client: httpx.Client, question: dict[str, Any], log: Log) -> None:
    course = {name: question[name] for name in ("agent", "command")}
    episode = client.post("/api/episodes", json=course).raise_for_status().json()
    picture = client.get(episode["decisions"][question["step"]]["picture"]).raise_for_status()
    assert picture.content.startswith(b"\x89PNG")
    answered = client.post("/api/answers", json=question)
    while answered.status_code == 503:
        log.busy.append(time.monotonic())
        time.sleep(float(answered.headers["retry-after"]))
        answered = client.post("/api/answers", json=question)
    job = answered.raise_for_status().json()
    wait = FIRST_POLL
    while job["state"] in ("waiting", "running"):
        time.sleep(wait)
        wait = min(1.4 * wait, LAST_POLL)
        job = client.get(f"/api/jobs/{job['job']}").raise_for_status().json()
    if job["state"] != "done":
        raise RuntimeError(job["error"])
    log.answers.append((question, job["result"]["answer"]))


def watch(address: str, pid: int, seconds: float) -> None:
    """Request the health ten times and the memory once per second; print both."""
    waits, memory, end = [], [], time.monotonic() + seconds
    with httpx.Client(base_url=address, timeout=120) as client:
        while time.monotonic() < end:
            began = time.monotonic()
            client.get("/api/health").raise_for_status()
            waits.append(time.monotonic() - began)
            if len(waits) % 10 == 1:
                memory.append(memory_of(pid))
            time.sleep(0.1)
    print(json.dumps([waits, memory]))


def memory_of(pid: int) -> tuple[int, int, int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    workers = [megabytes(int(child)) for path in children for child in path.read_text().split()]
    return megabytes(pid), max(workers, default=0), len(workers)


def megabytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:  # a worker that was replaced meanwhile
        return 0
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) // 1024 if found else 0


def check(log: Log) -> list[str]:
    """Return the answers that differ from the library's."""
    wrong, known = [], {}
    for question, told in log.answers:
        key = json.dumps(question)
        if key not in known:
            agent = pf.load_agent(question["agent"])
            decision = pf.rollout(agent, question["command"])[question["step"]]
            found = pf.explain(agent, decision, foil=question["foil"], limits=pf.Limits(seconds=SECONDS))
            known[key] = _essence(found.to_dict())
        if _essence(told) != known[key]:
            wrong.append(f"{key}: {_essence(told)} instead of {known[key]}")
    return wrong


def _essence(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ("status", "quoted", "closest", "proven_range", "rollouts")}


def run(address: str, pid: int, clients: int, seconds: float) -> Log:
    asked, log = questions(), Log()
    own = [random.Random(client).sample(asked, len(asked)) for client in range(clients)]
    end = time.monotonic() + seconds
    watching = [sys.executable, __file__, "--watch", address, "--pid", str(pid), "--seconds", str(seconds)]
    with subprocess.Popen(watching, stdout=subprocess.PIPE, text=True) as watcher:
        threads = [threading.Thread(target=visit, args=(address, mine, end, log)) for mine in own]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        log.health, log.memory = json.loads(watcher.communicate()[0])
    return log


def report(log: Log, seconds: float, wrong: list[str]) -> None:
    different = len({json.dumps(question) for question, _ in log.answers})
    agents = Counter(question["agent"] for question, _ in log.answers)
    print(f"answers: {len(log.answers)} ({different} different questions) in {seconds:g} s, {dict(agents)}")
    print(f"errors: {len(log.errors)} {log.errors[:3]}; told to retry: {len(log.busy)}")
    print(f"answers that differ from the library's: {len(wrong)} {wrong[:3]}")
    waits = sorted(log.health)
    print(f"health requests: {len(waits)}, median {waits[len(waits) // 2]:.3f} s, at most {waits[-1]:.3f} s")
    server, worker = ([row[i] for row in log.memory] for i in (0, 1))
    print(f"memory of the server: {server[0]} MB at first, {max(server)} MB at most, {server[-1]} MB at the end")
    # Includes the processes of the benchmark.
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"memory of a worker: {max(worker)} MB at most; {max(row[2] for row in log.memory)} workers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--watch", help="Address of a server to watch (internal).")
    parser.add_argument("--pid", type=int, default=0)
    asked = parser.parse_args()
    if asked.watch:
        watch(asked.watch, asked.pid, asked.seconds)
    else:
        serve(asked.clients, asked.seconds)


def serve(clients: int, seconds: float) -> None:
    """Start a server, load it, and check its answers."""
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            told = re.search(r"http://\S+", server.stdout.readline())  # type: ignore[union-attr]
            assert told is not None
            log = run(told[0].rstrip("/"), server.pid, clients, seconds)
        finally:
            server.terminate()
    wrong = check(log)
    report(log, seconds, wrong)
    sys.exit(bool(wrong or log.errors))


if __name__ == "__main__":
    main()

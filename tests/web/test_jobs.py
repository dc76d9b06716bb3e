"""Jobs: computed once for all clients, kept within limits, and stopped when no client waits."""

import asyncio
import errno
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from visitor import QUESTION, Visitor, visiting

import paretofoil as pf
from paretofoil.web import app as app_module
from paretofoil.web import jobs as jobs_module
from paretofoil.web import pool as pool_module
from paretofoil.web.cache import ENTRY_BYTES, SizedCache
from paretofoil.web.settings import Settings

SLOW = {"agents": ("slow_agent:patient", "deep-sea-treasure")}
ENDLESS = {**QUESTION, "agent": "slow_agent:patient", "seconds": 60.0, "search": "cf-zoo:thorough"}
_seeds = itertools.count(1)


@pytest.fixture(scope="module")
def shared() -> Iterator[Visitor]:
    """A server with a slow agent and one worker."""
    with visiting(**SLOW) as client:
        yield client


@pytest.fixture
def slow(shared: Visitor) -> Iterator[Visitor]:
    """That server, with nothing left to do at the end of the test."""
    yield shared
    for job in list(jobs_of(shared)._open.values()):
        for ticket in list(job.tickets):
            shared.cancel(job.key, ticket)
    wait_until(lambda: shared.get("/api/health").json()["running"] == 0)


def jobs_of(visitor: Visitor) -> Any:
    return visitor.app.state.server.jobs


def ask_new_question(visitor: Visitor) -> None:
    """Ask what no test asked before: a worker has to compute it, and the process of `pids` is the one that did."""
    seed = next(_seeds)
    assert visitor.wait(visitor.ask("/api/answers", {**QUESTION, "seed": seed}))["state"] == "done"


def pids(visitor: Visitor) -> list[int]:
    return [worker._process.pid if worker._process else 0 for worker in jobs_of(visitor).workers]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(true: Any) -> None:
    while not true():
        time.sleep(0.02)


def test_an_answer_is_that_of_the_library(visitor: Visitor) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    options = {"k": 2, "norm": "l1", "ranges": {"treasure": [1.0, 20.0]}, "kappa": 0.1}
    asked = {**QUESTION, "options": options}
    told = visitor.wait(visitor.ask("/api/answers", asked))["result"]
    expected = pf.explain(
        agent,
        pf.rollout(agent, (8, -8))[5],
        foil="down",
        options=pf.Options(k=2, norm="l1", ranges={"treasure": (1, 20)}, kappa=0.1),
    )
    got = pf.Answer.from_dict(told["answer"])
    assert got.status == expected.status
    assert told["answer"]["quoted"]["command"] == expected.command.tolist()  # type: ignore[union-attr]
    assert told["sentence"] == str(expected)
    assert told["paragraph"] == expected.paragraph()
    assert len(got.alternatives) == len(expected.alternatives)


def test_a_flip_map_is_that_of_the_library_and_comes_in_parts(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[dict[str, Any]] = []
    original = jobs_of(visitor)._update

    def hear(job: Any, line: bytes) -> None:
        original(job, line)
        heard.append({"progress": job.progress, "partial": len(job.partial)})

    monkeypatch.setattr(jobs_of(visitor), "_update", hear)
    job = visitor.wait(visitor.ask("/api/flip-maps", {"agent": "branch-path", "command": [1.0, 1.0]}))
    expected = pf.explain_episode(pf.load_agent("branch-path"), (1, 1))
    told = job["result"]["flip_map"]
    assert [a["sentence"] for a in told["answers"]] == [str(a) for a in expected.answers]
    assert heard[0] == {"progress": 0.0, "partial": 0}
    assert [h["progress"] for h in heard] == sorted(h["progress"] for h in heard)
    assert heard[-1] == {"progress": 1.0, "partial": len(expected.answers)}
    assert (job["progress"], job["partial"]) == (1.0, [])


def test_a_flip_map_has_the_requested_steps(visitor: Visitor) -> None:
    key = visitor.ask("/api/flip-maps", {"agent": "branch-path", "command": [1.0, 1.0], "steps": [3, 1, 3]})
    assert set(visitor.wait(key)["result"]["flip_map"]["steps"]) == {1, 3}


def test_the_same_question_is_answered_at_once(visitor: Visitor) -> None:
    first = visitor.wait(visitor.ask("/api/answers", QUESTION))
    again = visitor.post("/api/answers", {**QUESTION, "foil": 1, "search": "auto"})  # the same, spelt otherwise
    assert again.status_code == 200
    assert again.json() == first


def test_a_question_of_two_clients_is_computed_once_and_stops_when_both_cancel(slow: Visitor) -> None:
    (key, first), (same_key, second) = (slow.submit("/api/answers", ENDLESS) for _ in range(2))
    assert key == same_key
    assert slow.wait(key, "running")["ticket"] is None  # nobody learns the ticket of another client
    [worker] = pids(slow)
    assert slow.get("/api/health").json()["running"] == 1
    assert slow.cancel(key, first).json()["state"] == "running"
    assert slow.cancel(key, first).status_code == 404  # a client cannot cancel for another one
    assert slow.request("DELETE", f"/api/jobs/{key}").status_code == 422
    assert slow.job(key)["state"] == "running"
    assert alive(worker)
    assert slow.cancel(key, second).json()["state"] == "cancelled"
    wait_until(lambda: not alive(worker))
    assert slow.get("/api/health").json()["running"] == 0
    ask_new_question(slow)
    assert pids(slow) != [worker]


def test_a_cancelled_question_can_be_asked_again(slow: Visitor) -> None:
    key, ticket = slow.submit("/api/answers", ENDLESS)
    slow.cancel(key, ticket)
    assert slow.job(key)["state"] == "cancelled"
    assert slow.ask("/api/answers", ENDLESS) == key
    assert slow.wait(key, "running")["error"] is None


def test_a_question_that_is_cancelled_while_it_waits_is_not_computed(slow: Visitor) -> None:
    running = slow.ask("/api/answers", ENDLESS)
    slow.wait(running, "running")
    waiting, ticket = slow.submit("/api/answers", {**QUESTION, "step": 1})
    assert slow.cancel(waiting, ticket).json()["state"] == "cancelled"
    assert slow.job(running)["state"] == "running"
    assert slow.get("/api/health").json()["waiting"] == 0


def test_a_worker_that_dies_fails_its_job_and_is_replaced(slow: Visitor) -> None:
    key = slow.ask("/api/answers", ENDLESS)
    slow.wait(key, "running")
    [worker] = pids(slow)
    os.kill(worker, signal.SIGKILL)
    job = slow.wait(key)
    assert (job["state"], job["error"]) == ("failed", "the worker process ended; please ask again")
    ask_new_question(slow)
    assert pids(slow) != [worker]


def test_a_worker_that_dies_while_idle_fails_no_job(slow: Visitor) -> None:
    ask_new_question(slow)  # the process of the last test may still be in the course of being replaced
    [worker], process = pids(slow), jobs_of(slow).workers[0]._process
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: process.returncode is not None)
    ask_new_question(slow)
    assert pids(slow) != [worker]


def test_a_worker_that_dies_while_idle_is_replaced_before_the_next_question(
    slow: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs_module, "IDLE_SECONDS", 0.02)
    ask_new_question(slow)
    [worker] = pids(slow)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: pids(slow) not in ([worker], [0]))
    assert slow.get("/api/health").json()["status"] == "ok"


def test_a_worker_that_cannot_be_started_is_reported_and_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "FIRST_DELAY", 0.05)

    def no_descriptor_left(*given: Any, **more: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with visiting(**SLOW) as visitor:
        key = visitor.ask("/api/answers", ENDLESS)
        visitor.wait(key, "running")
        with monkeypatch.context() as broken:
            broken.setattr(subprocess, "Popen", no_descriptor_left)
            os.kill(pids(visitor)[0], signal.SIGKILL)
            assert visitor.wait(key)["error"] == "the worker process ended; please ask again"
            wait_until(lambda: visitor.get("/api/health").status_code == 503)
            health = visitor.get("/api/health").json()
            assert health["status"] == "failing"
            assert health["problems"] == ["a worker process could not be started (Too many open files)"]
            waiting = visitor.ask("/api/answers", QUESTION)
            assert visitor.job(waiting)["state"] == "waiting"
        assert visitor.wait(waiting)["state"] == "done"
        assert visitor.get("/api/health").json()["status"] == "ok"
        assert visitor.get("/api/health").json()["problems"] == []


def test_quick_tasks_say_why_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*given: Any, **more: Any) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    episode = {"agent": "deep-sea-treasure", "command": [8.0, -8.0]}
    with visiting(agents=("deep-sea-treasure",)) as visitor:
        assert visitor.post("/api/episodes", episode).status_code == 200
        with monkeypatch.context() as broken:
            broken.setattr(subprocess, "Popen", no_memory)
            visitor.app.state.server.quick.kill()
            refused = visitor.post("/api/episodes", episode)
            assert refused.status_code == 503
            assert "could not be started (Cannot allocate memory)" in refused.json()["error"]
            assert visitor.get("/api/health").status_code == 503
            assert "quick tasks: " in visitor.get("/api/health").json()["problems"][-1]
        assert visitor.post("/api/episodes", episode).status_code == 200
        assert visitor.get("/api/health").json()["status"] == "ok"


def test_delays_between_attempts_to_start_a_process_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = pool_module.WorkerProcess(Settings(), niceness=0, tasks_per_process=1)
    monkeypatch.setattr(worker, "_start", lambda: asyncio.create_subprocess_exec("true"))

    async def start_often() -> list[float]:
        delays = []
        for _ in range(9):
            await worker.start()
            delays.append(worker.delay)
            await worker._process.wait()  # type: ignore[union-attr]
        return delays

    assert asyncio.run(start_often()) == [0, 0, 1, 2, 4, 8, 16, 30, 30]
    assert worker.problem == "the last 8 worker processes ended before they finished a task"


def test_an_error_of_the_queue_itself_fails_one_job_only(slow: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_memory(*given: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(jobs_of(slow).workers[0], "run", no_memory)
        job = slow.wait(slow.ask("/api/answers", {**QUESTION, "seed": next(_seeds)}))
        assert job["error"] == "internal error; the server's log has the details"
    ask_new_question(slow)


def test_a_job_beyond_the_time_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "JOB_SECONDS", 0.2)
    with visiting(**SLOW) as visitor:
        job = visitor.wait(visitor.ask("/api/answers", ENDLESS))
        assert job["error"] == "the task exceeded 0.2 seconds and was stopped; please ask again"


def test_a_result_beyond_the_limit_is_not_kept() -> None:
    with visiting(memory=3000) as visitor:
        job = visitor.wait(visitor.ask("/api/answers", QUESTION))
        assert job["error"] == "the result exceeded 1,500 bytes; please ask about fewer steps"


def test_a_worker_is_replaced_after_a_number_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil.web.app.TASKS_PER_PROCESS", 1)
    with visiting() as visitor:
        seen = set(pids(visitor))
        for time_ in (2, 5):
            assert visitor.wait(visitor.ask("/api/answers", {**QUESTION, "step": time_}))["state"] == "done"
            seen |= set(pids(visitor))
        assert len(seen) == 3


def test_an_error_of_the_search_is_reported() -> None:
    with visiting(agents=("slow_agent:blunt",)) as visitor:
        job = visitor.wait(visitor.ask("/api/answers", {**QUESTION, "agent": "slow_agent:blunt", "search": "exact"}))
        assert job["state"] == "failed"
        assert job["error"].startswith("expected ")
        assert job["result"] is None


def test_a_full_queue_says_when_to_retry() -> None:
    with visiting(**SLOW, queue=1) as visitor:
        running = visitor.ask("/api/answers", ENDLESS)
        visitor.wait(running, "running")
        visitor.ask("/api/answers", QUESTION)
        refused = visitor.post("/api/answers", {**QUESTION, "step": 2})
        assert refused.status_code == 503
        assert int(refused.headers["retry-after"]) > 0
        assert "please ask again" in refused.json()["error"]
        assert visitor.post("/api/answers", QUESTION).status_code == 202  # it waits already: no further room is needed


def test_long_jobs_leave_a_worker_to_short_ones() -> None:
    with visiting(**SLOW, workers=2) as visitor:
        long = {"agent": "slow_agent:patient", "command": [8.0, -8.0], "search": "cf-zoo:thorough", "seconds": 60.0}
        first, second = (visitor.ask("/api/flip-maps", {**long, "steps": [time_]}) for time_ in (0, 1))
        visitor.wait(first, "running")
        assert visitor.wait(visitor.ask("/api/answers", QUESTION))["state"] == "done"
        assert visitor.job(second)["state"] == "waiting"


def test_old_results_are_dropped() -> None:
    with visiting(memory=12_000) as visitor:
        keys = [visitor.ask("/api/answers", {**QUESTION, "step": t}) for t in (1, 2, 5)]
        for key in keys:
            wait_until(lambda key=key: key not in jobs_of(visitor)._open)
        assert visitor.get(f"/api/jobs/{keys[0]}").status_code == 404
        assert visitor.job(keys[-1])["state"] == "done"
        assert jobs_of(visitor)._finished.used <= 12_000


def test_the_cache_drops_what_was_not_used_for_longest() -> None:
    memory: SizedCache[str] = SizedCache(3 * (ENTRY_BYTES + 100))
    for key in "abc":
        memory.put(key, key, 100)
    memory.get("a")
    memory.put("d", "d", 100)
    assert [memory.get(key) for key in "abcd"] == ["a", None, "c", "d"]
    memory.put("e", "e", 10**6)
    assert memory.get("e") is None
    assert memory.used == 3 * (ENTRY_BYTES + 100)
    memory.put("a", "again", 50)
    assert memory.used == 3 * (ENTRY_BYTES + 100) - 50


def test_the_server_responds_while_workers_prove(slow: Visitor) -> None:
    key = slow.ask("/api/answers", ENDLESS)
    slow.wait(key, "running")
    for _ in range(20):
        assert slow.get("/api/health").json()["running"] == 1


def test_a_closed_server_leaves_no_process() -> None:
    with visiting(**SLOW, workers=2) as visitor:
        visitor.wait(visitor.ask("/api/answers", ENDLESS), "running")
        workers = pids(visitor)
    assert not any(map(alive, workers))


def test_the_process_of_quick_tasks_is_replaced_when_it_dies() -> None:
    episode = {"agent": "deep-sea-treasure", "command": [8.0, -8.0]}
    with visiting(agents=("deep-sea-treasure",), jobs=False) as visitor:
        assert visitor.post("/api/episodes", episode).status_code == 200
        process = visitor.app.state.server.quick._process
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: process.returncode is not None)
        assert visitor.post("/api/episodes", episode).status_code == 200


def test_a_quick_task_beyond_the_time_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "QUICK_SECONDS", 0.01)
    with visiting(agents=("slow_agent:patient",), jobs=False) as visitor:
        many = {"state": [0.0] * 22, "valid_actions": [0], "commands": [[8.0, -8.0]] * 10}
        refused = visitor.post("/api/probabilities", {"agent": "slow_agent:patient", **many})
        assert refused.status_code == 503
        assert "exceeded 0.01 seconds" in refused.json()["error"]

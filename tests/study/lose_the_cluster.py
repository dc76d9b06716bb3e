"""Script: kill a cluster while items run on it; print how soon that is an error, and which.

python lose_the_cluster.py dask
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress

from sessions import processes_of

from paretofoil.study import cluster
from paretofoil.study.cluster import WorkersFailed, connect
from paretofoil.study.runner import run_all

DASK = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        print("at", cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
RAY = """
import ray, sys
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
print("at", ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
"""


def lose(other: subprocess.Popen, address: str) -> float:
    """The moment at which the cluster is gone with all its processes, however long that takes."""
    other.kill()
    other.wait()
    while left := processes_of(other.pid):
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)
    with suppress(ConnectionRefusedError):
        while True:
            connect(address, seconds=60.0)
    cluster.PATIENCE = 1.0  # what is gone stays gone
    return time.monotonic()


def main(engine: str) -> None:
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))  # both sides of Ray must agree
    command = [sys.executable, "-c", {"dask": DASK, "ray": RAY}[engine]]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as other:  # type: ignore[call-overload]
        address = next(line for line in other.stdout if line.startswith("at ")).split()[1]
        try:
            for _ in run_all(abs, range(100), engine=engine, address=address):  # type: ignore[arg-type]
                if other.poll() is None:  # with the first result, whichever that is
                    gone = lose(other, address)
            print("finished")
        except WorkersFailed as error:
            print(f"after {time.monotonic() - gone:.1f} s:")
            print(error)


if __name__ == "__main__":
    main(sys.argv[1])

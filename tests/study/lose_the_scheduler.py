"""Run as a script: a Dask cluster that is killed while items are under way on it; prints how that is told."""

import os
import signal
import subprocess
import sys

from paretofoil.study import cluster
from paretofoil.study.engine import run_all
from paretofoil.study.loss import WorkersLostError

CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def main() -> None:
    cluster.PATIENCE = 1.0  # what is gone stays gone
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout
        address = other.stdout.readline().strip()
        try:
            for number, _ in run_all(abs, range(100), engine="dask", address=address):
                if number == 0:
                    os.kill(other.pid, signal.SIGKILL)
        except WorkersLostError as error:
            print(error)


if __name__ == "__main__":
    main()

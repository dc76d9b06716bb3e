"""Script: start a cluster of two workers on this machine, and run a verb on its address.

python on_a_cluster.py dask study run branch-path --out FILE
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def dask() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@contextmanager
def ray() -> Iterator[str]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()


if __name__ == "__main__":
    engine, *arguments = sys.argv[1:]
    with {"dask": dask, "ray": ray}[engine]() as address:
        command = [sys.executable, "-m", "paretofoil", *arguments, "--engine", engine, "--address", address, "--quiet"]
        subprocess.run(command, check=True)

"""Script: kill -9 a study at random times, then let it finish; print the number of kills."""

import os
import random
import signal
import sys
import time
from pathlib import Path

from studies import small_study

from paretofoil.study import run_study


def kill_often(folder: Path, wanted: int, workers: int, longest: float) -> int:
    """Studies, one after the other; each is killed and resumed until it is done or enough kills were made."""
    study, rng = small_study(folder), random.Random(0)
    kills = number = 0
    while kills < wanted:
        path, done = folder / f"killed-{number}.sqlite", False
        while not done:
            child = os.fork()
            if child == 0:
                run_study(study, path, workers=workers, chunk=2)
                os._exit(0)
            if kills < wanted:
                time.sleep(rng.uniform(0.0, longest))
            ended, status = os.waitpid(child, os.WNOHANG if kills < wanted else 0)
            if not ended:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
            done = status == 0
            if not done and not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
                raise SystemExit(f"the study ended by itself, with status {status}")
            kills += not done
        number += 1
    return kills


if __name__ == "__main__":
    print(kill_often(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])))

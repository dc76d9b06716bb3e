"""Run as a script: kill -9 a study at random moments until it is done; prints how often. Used by test_kill.py."""

import os
import random
import signal
import sys
import time
from pathlib import Path

from paretofoil.study import run_study
from studies import small_study


def kill_often(folder: Path, wanted: int, workers: int, seed: int) -> int:
    """One study after another, each killed until it is finished, until enough kills were made."""
    study, rng = small_study(folder), random.Random(seed)
    kills = number = 0
    while kills < wanted:
        path = folder / f"killed-{number}.sqlite"
        done = False
        while not done:
            child = os.fork()
            if child == 0:
                run_study(study, path, workers=workers, chunk=2)
                os._exit(0)
            time.sleep(rng.uniform(0.0, 0.3 if workers == 1 else 3.0))
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
            done = status == 0
            kills += not done
        number += 1
    return kills


if __name__ == "__main__":
    print(kill_often(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), seed=int(sys.argv[4])))

"""Script: run a study in which some chunks kill their worker; print how it ended.

They do so once, always, or, late, when they are finished and their rows are fetched.

python lose_workers.py FOLDER dask always
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

from studies import small_study

from paretofoil.study import runner
from paretofoil.study.cluster import WorkersFailed
from paretofoil.study.runner import Chunk, answer_chunk
from paretofoil.study.store import Row


class Deadly(list[Row]):
    """Rows that kill who sends them."""

    def __reduce__(self) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return ""


def die(chunk: Chunk, folder: Path, often: str) -> list[Row]:
    died = folder / "died"
    if chunk.cases[0].step == 4 and (often != "once" or not died.exists()):
        died.touch()
        if often == "late":
            return Deadly()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer_chunk(chunk)


if __name__ == "__main__":
    folder, engine, often = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    runner.answer_chunk = partial(die, folder=folder, often=often)  # type: ignore[assignment]
    try:
        runner.run_study(small_study(folder), folder / "study.sqlite", workers=2, chunk=4, engine=engine)  # type: ignore[arg-type]
        print("finished")
    except WorkersFailed as error:
        print(error)

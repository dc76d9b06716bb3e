"""Run as a script: a study some of whose chunks kill their worker, once or always; prints how it ended.

python lose_workers.py FOLDER dask always
"""

import os
import signal
import sys
from functools import partial
from pathlib import Path

from studies import small_study

from paretofoil.study import runner
from paretofoil.study.loss import WorkersLostError
from paretofoil.study.runner import Chunk, answer_chunk
from paretofoil.study.store import Row


def die(chunk: Chunk, folder: Path, often: str) -> list[Row]:
    died = folder / "died"
    if chunk.cases[0].time == 4 and (often == "always" or not died.exists()):
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return answer_chunk(chunk)


if __name__ == "__main__":
    folder, engine, often = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    runner.answer_chunk = partial(die, folder=folder, often=often)  # type: ignore[assignment]
    try:
        runner.run_study(small_study(folder), folder / "study.sqlite", workers=2, chunk=4, engine=engine)  # type: ignore[arg-type]
        print("finished")
    except WorkersLostError as error:
        print(error)

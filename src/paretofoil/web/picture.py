"""Pictures of moments as PNG files."""

import io
from collections.abc import Callable

import numpy as np
from PIL import Image

from paretofoil.envs.picture import picture, picture_of
from paretofoil.web.memory import Memory
from paretofoil.web.moment import Course, Moments

PICTURES_BYTES = 32 << 20


class Pictures:
    """What is seen, drawn once and kept. Environments draw with tools of their own: one thread at a time."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._kept: Memory[bytes] = Memory(PICTURES_BYTES)

    def of_start(self, name: str) -> bytes:
        """An agent's world before anything happens."""
        environment = self._moments.agent(name).environment
        return self._keep(f"start of {environment.name}", lambda: picture(environment))

    def of_moment(self, course: Course, time: int) -> bytes:
        environment = self._moments.agent(course.agent).environment
        seen = lambda: picture_of(environment, self._moments.snapshot(course, time))  # noqa: E731
        return self._keep(f"{time} of {course.key}", seen)

    def _keep(self, key: str, draw: Callable[[], np.ndarray]) -> bytes:
        kept = self._kept.get(key)
        if kept is None:
            kept = png(draw())
            self._kept.put(key, kept, len(kept))
        return kept


def png(pixels: np.ndarray) -> bytes:
    """(height, width, 3) uint8 as a file. The worlds have few colours: a palette makes it small."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="png", compress_level=6)
    return file.getvalue()

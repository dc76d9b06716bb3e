"""Workers that are lost: how often that may happen, and how it is told."""

import logging

log = logging.getLogger(__name__)

MAX_LOSSES = 3
"""How often in a row workers may be lost without any chunk being finished in between."""


class WorkersLostError(ChildProcessError):
    """Workers kept dying, or never came up; what was finished before is safe."""


class LossError(Exception):
    """Workers were lost, and whatever was under way with them; the text is the engine's name for it."""


class Losses:
    """Counts how often workers were lost."""

    def __init__(self) -> None:
        self.total = self._in_a_row = 0

    def add(self, reason: str) -> None:
        """Once more; an error if it is once too often."""
        self.total += 1
        self._in_a_row += 1
        log.warning("workers were lost (%s): what they worked on is asked again", reason)
        if self._in_a_row >= MAX_LOSSES:
            raise WorkersLostError(
                f"workers were lost {self._in_a_row} times in a row ({reason}); "
                "what was finished is safe, resume with fewer workers or more memory"
            )

    def end_row(self) -> None:
        """Something was finished."""
        self._in_a_row = 0

"""Settings of all tests."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules that are long as a whole before they are imported: some take seconds to collect."""
    if config.option.markexpr != "not long" or collection_path.suffix != ".py":
        return None
    return True if "\npytestmark = pytest.mark.long\n" in collection_path.read_text() else None


@pytest.fixture(autouse=True)
def no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the time limit of the automatic search, so that no result depends on how busy the machine is."""
    monkeypatch.setattr("paretofoil.search.registry.AUTO_SECONDS", 1e6)

"""Shared by all tests."""

import os

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up for lack of time: what a test sees does not depend on how busy the machine is."""
    monkeypatch.setattr("paretofoil.search.registry.AUTO_SECONDS", 1e6)

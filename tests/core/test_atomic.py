"""Files are replaced whole."""

import os
from pathlib import Path
from typing import Any

import pytest

from paretofoil.core.files import write_whole


def test_a_file_is_synced_before_it_replaces_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Any] = []
    sync, move = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        events.append(os.fstat(descriptor).st_size)
        sync(descriptor)

    def moved(source: Any, target: Any) -> None:
        events.append("moved")
        move(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", moved)
    write_whole(tmp_path / "file", b"whole")
    assert events == [5, "moved"]
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"

"""Files are replaced whole."""

import os
from pathlib import Path
from typing import Any

import pytest

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import write_atomically

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes in folders, and other links and modes")


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
    write_atomically(tmp_path / "file", b"whole")
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
        write_atomically(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


@posix
def test_links_are_followed_also_to_a_file_that_does_not_exist_yet(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to("folder/file")
    for content in (b"first", b"second"):
        write_atomically(link, content)
        assert link.is_symlink()
        assert (tmp_path / "folder" / "file").read_bytes() == content


@posix
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, b"content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@posix
def test_an_existing_file_keeps_its_mode_and_a_new_one_has_that_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", b"content")
        for mode in (0o600, 0o664):
            (tmp_path / "new").chmod(mode)
            write_atomically(tmp_path / "new", b"content")
            assert (tmp_path / "new").stat().st_mode & 0o777 == mode
        write_atomically(tmp_path / "other", b"content")
        assert (tmp_path / "other").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a file to write, got the folder"):
        write_atomically(tmp_path, b"content")

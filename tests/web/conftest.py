import sys
from collections.abc import Callable, Iterator

import pytest
from visitor import Visitor, visiting

from paretofoil.cli import main


@pytest.fixture(scope="session")
def visitor() -> Iterator[Visitor]:
    """A client of a server with every shipped agent, shared by all tests that leave it as it was."""
    with visiting() as client:
        yield client


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process and return its exit code, output and errors."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run_main(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["paretofoil", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run_main

"""Settings of the tests that need torch."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Compute with one thread: two threads wait for each other where tests run in parallel."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)

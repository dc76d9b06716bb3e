"""The limit of one thread ends with the last caller."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from paretofoil.core.threads import one_thread


def num_threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_callers_that_overlap_restore_the_threads_of_the_process() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(limits=2):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)  # as in two threads: the first caller is done first
        assert num_threads() == {1}
        second.__exit__(None, None, None)
        assert num_threads() == {2}


def test_an_error_restores_the_threads() -> None:
    with threadpool_limits(limits=2):
        with pytest.raises(ZeroDivisionError), one_thread():
            _ = 1 / 0
        assert num_threads() == {2}


def test_torch_is_limited_as_well() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

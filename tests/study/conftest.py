"""What the tests of studies share."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster: needs the dask or the ray extra; skipped, and said so, without it")

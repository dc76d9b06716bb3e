"""The built site, for the tests that look at it."""

import json
from pathlib import Path

import pytest
from built_site import build_site
from filelock import FileLock


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Built once for all processes that run tests; every warning is an error."""
    for package in ("mkdocs", "material", "mkdocstrings", "nbformat"):
        pytest.importorskip(package, reason="needs the docs extra")
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    folder, told = shared / "site", shared / "site.json"
    with FileLock(shared / "site.lock"):
        if not told.exists():
            done = build_site(folder)
            told.write_text(json.dumps([done.returncode, done.stdout + done.stderr]))
    code, output = json.loads(told.read_text())
    assert code == 0, output
    assert "WARNING" not in output
    return folder

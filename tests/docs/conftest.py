"""Build the site for the tests."""

import json
from pathlib import Path

import pytest
from built_site import build_site
from filelock import FileLock


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Build the site once for all test processes; warnings are errors."""
    for package in ("mkdocs", "material", "mkdocstrings", "nbformat"):
        pytest.importorskip(package, reason="needs the docs extra")
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent
    folder, report = shared / "site", shared / "site.json"
    with FileLock(shared / "site.lock"):
        if not report.exists():
            done = build_site(folder)
            report.write_text(json.dumps([done.returncode, done.stdout + done.stderr]))
    code, output = json.loads(report.read_text())
    assert code == 0, output
    assert "WARNING" not in output
    return folder

"""What a package index shows of the package, and what a wheel holds."""

import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from pages import ROOT

import paretofoil

pytest.importorskip("hatchling", reason="needs the dev extra: it builds the wheel")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [file] = folder.glob("*.whl")
    return zipfile.ZipFile(file)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_string(wheel.read(name).decode())


def test_the_metadata_tells_who_and_where(metadata: Message) -> None:
    addresses = dict(link.split(", ") for link in metadata.get_all("Project-URL") or ())
    assert set(addresses) >= {"Homepage", "Documentation", "Changelog", "Issues"}
    assert metadata["Author"] == "The Paretofoil developers"
    assert metadata["Version"] == paretofoil.__version__
    assert metadata["License-Expression"] == "MIT"


def test_links_and_pictures_of_the_readme_are_absolute_and_lead_into_this_repository(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown = metadata.get_payload()
    assert isinstance(shown, str)
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert links
    for link in links:
        found = re.fullmatch(r"https://[\w.]+/paretofoil/paretofoil/(?:blob/)?main/([^#]+)(?:#.*)?", link)
        assert found, link
        assert (ROOT / found[1]).exists(), link


def test_a_wheel_is_typed_and_brings_its_agents_and_nothing_of_the_tests(wheel: zipfile.ZipFile) -> None:
    files = wheel.namelist()
    assert "paretofoil/py.typed" in files
    assert any(name.endswith("deep-sea-treasure/weights.safetensors") for name in files)
    assert {Path(name).parts[0] for name in files if ".dist-info" not in name} == {"paretofoil"}


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text()
    for extra in EXTRAS:
        assert f"[{extra}]" in page, extra

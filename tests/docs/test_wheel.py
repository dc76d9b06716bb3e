"""The metadata and the files of the wheel."""

import re
import subprocess
import sys
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from pages import ROOT

import paretofoil

pytest.importorskip("hatchling", reason="needs the dev extra: it builds the wheel")


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


def test_the_metadata_has_author_version_licence_and_links(metadata: Message) -> None:
    addresses = dict(link.split(", ") for link in metadata.get_all("Project-URL") or ())
    assert set(addresses) >= {"Homepage", "Documentation", "Changelog", "Issues"}
    assert metadata["Author"] == "The Paretofoil developers"
    assert metadata["Version"] == paretofoil.__version__
    assert metadata["License-Expression"] == "MIT"


def test_links_of_the_readme_are_absolute_and_exist_in_this_repository(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    shown = metadata.get_payload()
    assert isinstance(shown, str)
    links = re.findall(r"\]\(([^)]+)\)", shown)
    assert links
    assert all(link.startswith("https://") for link in links)
    inside = re.compile(r"https://[\w.]+/paretofoil/paretofoil/(?:blob/)?main/([^#]+)(?:#.*)?")
    files = [match[1] for match in map(inside.fullmatch, links) if match]
    assert "docs/getting-started.md" in files
    assert [file for file in files if not (ROOT / file).exists()] == []


def test_the_wheel_has_type_information_and_agents_but_no_tests(wheel: zipfile.ZipFile) -> None:
    files = wheel.namelist()
    assert "paretofoil/py.typed" in files
    assert any(name.endswith("deep-sea-treasure/weights.safetensors") for name in files)
    assert {Path(name).parts[0] for name in files if ".dist-info" not in name} == {"paretofoil"}

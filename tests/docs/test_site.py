"""The site is built without a warning, is complete, leads nowhere that is not there, and needs nothing from outside."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from built_site import Links, broken_links
from typer.main import get_command

import paretofoil
from paretofoil.cli import app


def verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from verbs(inner, (*path, name))


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    anchors = Links(site / "reference.html").anchors
    missing = {name for name in paretofoil.__all__ if f"paretofoil.{name}" not in anchors}
    assert missing == {"__version__"}


def test_every_public_name_says_what_it_is() -> None:
    for name in set(paretofoil.__all__) - {"__version__"}:
        said = getattr(paretofoil, name).__doc__ or ""
        assert said.strip(), name
        assert not said.startswith(f"{name}("), f"{name}: what dataclass made up"


def test_every_verb_and_option_is_on_the_page_of_the_command_line(site: Path) -> None:
    page = site / "command-line.html"
    anchors, text = Links(page).anchors, page.read_text()
    for path, command in verbs(get_command(app)):
        assert not path or "-".join(("paretofoil", *path)) in anchors, path
        for parameter in command.params:
            if not getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
                assert all(f"<code>{option}</code>" in text for option in parameter.opts), (path, parameter.opts)


def test_no_link_inside_the_site_is_broken(site: Path) -> None:
    assert list(broken_links(site)) == []


def test_pages_need_nothing_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        outside = [address for address in Links(page).needed if urlsplit(address).scheme not in ("", "data")]
        assert outside == [], page


def test_a_broken_link_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "there.html").write_text('<h1 id="top">x</h1>')
    good = '<a href="there.html#top">a</a> <a href="https://example.org/x">b</a> <a href="#here" id="here">c</a>'
    (tmp_path / "page.html").write_text(good)
    assert list(broken_links(tmp_path)) == []
    (tmp_path / "page.html").write_text('<a href="gone.html">a</a> <a href="there.html#end">b</a> <img src="no.png">')
    found = list(broken_links(tmp_path))
    assert found == ["page.html: gone.html", "page.html: there.html#end", "page.html: no.png"]

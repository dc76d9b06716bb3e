"""The page's own files: small modules that import one way, and never make markup of text."""

import re
from graphlib import TopologicalSorter

import pytest

from paretofoil.web.app import page_folder

MODULES = {path.stem: path.read_text() for path in sorted((page_folder() / "js").glob("*.js"))}
IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";$', re.MULTILINE)
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "://")
SVG = '"http://www.w3.org/2000/svg"'
"""The name of a format, which looks like an address."""


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_small_and_starts_with_what_it_is_for(name: str) -> None:
    lines = MODULES[name].splitlines()
    assert len(lines) <= 250
    assert max(map(len, lines)) <= 120
    assert lines[0].startswith("/**")


@pytest.mark.parametrize("name", MODULES)
def test_a_module_makes_no_markup_of_text_and_brings_nothing_from_elsewhere(name: str) -> None:
    source = MODULES[name].replace(SVG, "")
    assert [words for words in FORBIDDEN if words in source] == []


def test_modules_import_each_other_one_way_and_are_all_used() -> None:
    needs = {name: set(IMPORT.findall(source)) for name, source in MODULES.items()}
    order = list(TopologicalSorter(needs).static_order())
    assert set(order) == set(MODULES)
    assert set.union(*needs.values()) == set(MODULES) - {"main"}


def test_the_page_has_no_scripts_styles_or_handlers_of_its_own() -> None:
    page = (page_folder() / "index.html").read_text()
    assert re.findall(r"<style|style=|\son\w+=|<script(?! type=\"module\" src)", page) == []
    assert "://" not in page

"""The page's files: modules without circular imports that never turn text into markup."""

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
def test_a_module_makes_no_markup_of_text_and_brings_nothing_from_elsewhere(name: str) -> None:
    source = MODULES[name].replace(SVG, "")
    assert [words for words in FORBIDDEN if words in source] == []


def test_modules_import_each_other_one_way_and_are_all_used() -> None:
    needs = {name: set(IMPORT.findall(source)) for name, source in MODULES.items()}
    order = list(TopologicalSorter(needs).static_order())
    assert set(order) == set(MODULES)
    assert set.union(*needs.values()) == set(MODULES) - {"main", "study_main", "notebook_widget"}


@pytest.mark.parametrize("name", ["index.html", "study.html"])
def test_the_page_has_no_scripts_styles_or_handlers_of_its_own(name: str) -> None:
    page = (page_folder() / name).read_text()
    assert re.findall(r"<style|style=|\son\w+=|<script(?! type=\"module\" src)", page) == []
    assert "://" not in page

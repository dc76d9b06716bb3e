"""Lines of Python end before the page of the site does, which breaks commands and output into lines, and code not."""

import json

from pages import PAGES, ROOT, blocks_of

WIDTH = 88
"""Letters of code that a page has room for, beside its two columns on a screen of 1,280 points."""


def test_no_line_of_python_ends_behind_the_edge_of_its_page() -> None:
    pages = [page for page in PAGES if (ROOT / "docs") in page.parents]
    blocks = [block for page in pages for block in blocks_of(page) if block.language == "python"]
    assert len(blocks) > 20
    assert [str(block) for block in blocks if any(len(line) > WIDTH for line in block.text.splitlines())] == []


def test_no_line_of_a_notebook_ends_behind_the_edge_of_its_page() -> None:
    for file in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = [cell["source"] for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]
        lines = [line.rstrip("\n") for source in cells for line in source]
        assert lines
        assert [line for line in lines if len(line) > WIDTH] == [], file.name

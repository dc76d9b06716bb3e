"""Pages of the site that are not written by hand: a hook of MkDocs, which adds them when the site is built."""

from pathlib import Path

from command_page import command_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebook_page import notebook_files
from reference_page import reference_page

ROOT = Path(__file__).parents[1]
AT_THE_ROOT = {
    "changelog.md": "CHANGELOG.md",
    "code-of-conduct.md": "CODE_OF_CONDUCT.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
}
"""Pages in the root of the repository, by their names in the site."""
RESULTS = ROOT / "paper" / "results"
"""The pages and figures of the paper's package; in the site they are in `results/`."""


def on_config(config: MkDocsConfig) -> None:
    """Leave out the page for what was not found: a server shows it, and from a folder its links lead nowhere."""
    config.theme.static_templates.discard("404.html")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made of the code, of notebooks and of pages at the root."""
    made: dict[str, str | bytes] = {name: (ROOT / file).read_text() for name, file in AT_THE_ROOT.items()}
    made |= {"command-line.md": command_page(), "reference.md": reference_page()}
    made |= {f"assets/{file}": (ROOT / "website" / file).read_text() for file in ("iframe-worker.js", "site.css")}
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        made |= notebook_files(notebook)
    made |= {f"results/{page.name}": page.read_text() for page in sorted(RESULTS.glob("*.md"))}
    made |= {f"results/figures/{file.name}": file.read_bytes() for file in sorted(RESULTS.glob("figures/*.png"))}
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


WIDE = 10
"""Columns of a table that wants the whole width of the page."""


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave out the table of contents where it is empty, or stands where a wide table needs the room."""
    columns = max((row.count("<th") for row in html.split("<tr")), default=0)
    if columns >= WIDE or not any(entry.children for entry in page.toc):
        page.meta["hide"] = ["toc"]
    return html


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links that work in the repository into links that work in the site: to notebooks, to and from results."""
    links = {".ipynb)": ".md)", "](../paper/results/": "](results/", "](../../docs/": "](../"}
    for link, in_site in links.items():
        markdown = markdown.replace(link, in_site)
    return markdown

"""Add the generated pages to the site: a hook of MkDocs."""

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
"""The pages and figures of the paper package; in the site they are in `results/`."""
BENCHMARKS = ROOT / "benchmarks" / "results"
"""The pages of the benchmarks; in the site they are in `benchmarks/`."""


def on_config(config: MkDocsConfig) -> None:
    """Leave out the 404 page: its links are broken when the site is opened from a folder."""
    config.theme.static_templates.discard("404.html")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the code, the notebooks, the results and the root of the repository."""
    pages: dict[str, str | bytes] = {name: (ROOT / file).read_text() for name, file in AT_THE_ROOT.items()}
    pages |= {"command-line.md": command_page(), "reference.md": reference_page()}
    pages |= {f"assets/{file}": (ROOT / "website" / file).read_text() for file in ("iframe-worker.js", "site.css")}
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        pages |= notebook_files(notebook)
    pages |= {f"results/{page.name}": page.read_text() for page in sorted(RESULTS.glob("*.md"))}
    pages |= {f"benchmarks/{page.name}": page.read_text() for page in sorted(BENCHMARKS.glob("*.md"))}
    pages |= {f"results/figures/{file.name}": file.read_bytes() for file in sorted(RESULTS.glob("figures/*.png"))}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


WIDE = 10
"""Number of columns from which a table gets the whole width of the page."""


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Hide the table of contents if it is empty or if a wide table needs its space."""
    columns = max((row.count("<th") for row in html.split("<tr")), default=0)
    if columns >= WIDE or not any(entry.children for entry in page.toc):
        page.meta["hide"] = ["toc"]
    return html


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links of the repository by links of the site."""
    links = {
        ".ipynb)": ".md)",
        "](../../paper/results/": "](../results/",
        "](../../benchmarks/results/": "](../benchmarks/",
        "](../paper/results/": "](results/",
        "](../benchmarks/results/": "](benchmarks/",
        "](../../docs/": "](../",
        "](docs/": "](",
        "](CODE_OF_CONDUCT.md)": "](code-of-conduct.md)",
    }
    for link, in_site in links.items():
        markdown = markdown.replace(link, in_site)
    return markdown

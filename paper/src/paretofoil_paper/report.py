"""Reports: a Markdown page with figure files, and one self-contained HTML page."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paretofoil.core.files import write_atomically
from paretofoil.study.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
figure { margin: 1.5rem 0; overflow-x: auto; }
figcaption { font-weight: 600; margin: .3rem 0; } img + figcaption { font-weight: 400; font-style: italic; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { border-bottom: 2px solid #222; text-align: left; } th, td { padding: .18rem .6rem; vertical-align: top; }
.number { text-align: right; } tr.begins td { border-top: 1px solid #bbb; } tr:hover td { background: #f3f6fa; }
img { max-width: 100%; } code { background: #f2f2f2; padding: 0 .2em; }
blockquote { border-left: 3px solid #2b6cb0; margin: 1rem 0; padding: .1rem 1rem; background: #f6f8fb; }
hr { border: 0; border-top: 1px solid #bbb; margin-top: 2rem; } hr ~ p { color: #666; font-size: 14px; }
"""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its file name and caption."""

    name: str
    caption: str
    png: bytes

    @property
    def path(self) -> str:
        """The path relative to the report."""
        return f"figures/{self.name}"

    def to_html(self) -> str:
        data = base64.b64encode(self.png).decode()
        caption = escape(self.caption)
        image = f'<img src="data:image/png;base64,{data}" alt="{caption}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>\n"

    @classmethod
    def of(cls, figure: "Figure", name: str, caption: str) -> "Picture":
        file = io.BytesIO()
        figure.savefig(file, format="png", metadata={"Software": None})
        return cls(f"{name}.png", caption, file.getvalue())


@dataclass(frozen=True)
class Finding:
    """A result in one sentence, for the index, with its number and interval, and the picture that shows it."""

    sentence: str
    picture: str | None = None
    """Name of the picture's file."""


@dataclass(eq=False)
class Report:
    """A page that is built part by part from paragraphs, tables and pictures."""

    title: str
    parts: list[str | Table | Picture] = field(default_factory=list)
    appendix: list[Table] = field(default_factory=list)
    """Tables that are written to files only."""
    findings: list[Finding] = field(default_factory=list)
    """The results of the page, for the index."""

    def find(self, sentence: str, more: str = "", *, picture: str | None = None) -> "Report":
        """Add a finding: its sentence is a line of the index, and begins a paragraph of this page."""
        self.findings.append(Finding(sentence, picture))
        return self.say(f"{sentence} {more}".strip())

    def say(self, *paragraphs: str) -> "Report":
        self.parts.extend(paragraphs)
        return self

    def add(self, *parts: Table | Picture) -> "Report":
        self.parts.extend(parts)
        return self

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def pictures(self) -> list[Picture]:
        return [part for part in self.parts if isinstance(part, Picture)]

    def to_markdown(self) -> str:
        lines = [f"# {self.title}", ""]
        for part in self.parts:
            if isinstance(part, Table):
                lines += [part.to_markdown()]
            elif isinstance(part, Picture):
                lines += [f"![{part.caption}]({part.path})", "", f"*{part.caption}*", ""]
            else:
                lines += [part, ""]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return one HTML page with the pictures inside."""
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark", {"html": False})
        body = [f"<h1>{escape(self.title)}</h1>\n"]
        for part in self.parts:
            if isinstance(part, str):
                body.append(str(markdown.render(part)))
            else:
                body.append(part.to_html())
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        head += f"<title>{escape(self.title)}</title><style>{_STYLE}</style>"
        return f"<!doctype html>\n<html lang=en><head>{head}</head>\n<body>\n{''.join(body)}</body></html>\n"

    def write(self, folder: Path, name: str) -> Path:
        """Write NAME.md and NAME.html, the pictures to figures/, each table as CSV, JSON and LaTeX to tables/.

        Tables of the appendix are written as CSV, and their notes as text. Return the path of the HTML page.
        """
        for subfolder in ("", "figures" if self.pictures else "", "tables" if self.tables else ""):
            (folder / subfolder).mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.md", self.to_markdown().encode())
        write_atomically(folder / f"{name}.html", self.to_html().encode())
        for picture in self.pictures:
            write_atomically(folder / picture.path, picture.png)
        for path, content in self.table_files(name).items():
            write_atomically(folder / path, content.encode())
        return folder / f"{name}.html"

    def table_files(self, name: str) -> dict[str, str]:
        """Return the contents of the table files by path; a file has the name of the page and the title."""
        files = {}
        for table in self.tables:
            for form, suffix in (("csv", "csv"), ("json", "json"), ("latex", "tex")):
                files[f"tables/{name}-{_slug(table.title)}.{suffix}"] = table.to(form)
        files |= {f"tables/appendix-{name}-{_slug(table.title)}.csv": table.to_csv() for table in self.appendix}
        notes = [f"{table.title}\n{table.note}\n" for table in self.appendix if table.note]
        return files | ({f"tables/appendix-{name}-notes.txt": "\n".join(notes)} if notes else {})


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def cells_of(table: Table) -> list[dict[str, Any]]:
    """Return the rows of a table as cells by column."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def pick(
    table: Table,
    columns: Mapping[str, str] | Sequence[str],
    *,
    title: str | None = None,
    where: Callable[[dict[str, Any]], bool] = lambda cells: True,
    note: str = "",
) -> Table:
    """Return some columns and rows of a table. A mapping renames the columns."""
    names = columns if isinstance(columns, Mapping) else {name: name for name in columns}
    chosen = tuple(tuple(cells[name] for name in names) for cells in cells_of(table) if where(cells))
    return Table(table.title if title is None else title, tuple(names.values()), chosen, note)

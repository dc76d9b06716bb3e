"""Reports: a Markdown page with figure files, and one self-contained HTML page."""

import base64
import io
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from paretofoil.core.files import write_whole
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


@dataclass(eq=False)
class Report:
    """A page that is built part by part from paragraphs, tables and pictures."""

    title: str
    parts: list[str | Table | Picture] = field(default_factory=list)

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

        Return the path of the HTML page.
        """
        for subfolder in ("", "figures" if self.pictures else "", "tables" if self.tables else ""):
            (folder / subfolder).mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.md", self.to_markdown().encode())
        write_whole(folder / f"{name}.html", self.to_html().encode())
        for picture in self.pictures:
            write_whole(folder / picture.path, picture.png)
        for number, table in enumerate(self.tables, 1):
            for form, suffix in (("csv", "csv"), ("json", "json"), ("latex", "tex")):
                write_whole(folder / "tables" / f"{name}-{number}.{suffix}", table.to(form).encode())
        return folder / f"{name}.html"

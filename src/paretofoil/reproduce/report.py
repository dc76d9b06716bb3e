"""Reports: Markdown with its figures beside it, and one HTML file that holds everything."""

import base64
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paretofoil.atomic import write_whole
from paretofoil.study.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; font-size: 14px; margin: .5rem 0 1.5rem; display: block; overflow-x: auto; }
th { border-bottom: 2px solid #222; text-align: left; } th, td { padding: .2rem .7rem; vertical-align: top; }
tr:nth-child(even) td { background: #f6f6f6; } img { max-width: 100%; } code { background: #f2f2f2; padding: 0 .2em; }
"""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with the name of its file and a caption."""

    name: str
    caption: str
    png: bytes

    @property
    def path(self) -> str:
        """Where it lies, seen from the report."""
        return f"figures/{self.name}"

    @classmethod
    def of(cls, figure: "Figure", name: str, caption: str) -> "Picture":
        file = io.BytesIO()
        figure.savefig(file, format="png", metadata={"Software": None})
        return cls(f"{name}.png", caption, file.getvalue())


@dataclass(eq=False)
class Report:
    """Grows part by part: words, tables, pictures."""

    title: str
    parts: list[str | Table | Picture] = field(default_factory=list)

    def say(self, *words: str) -> "Report":
        self.parts.extend(words)
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

    def to_markdown(self, *, pictures: bool = True) -> str:
        lines = [f"# {self.title}", ""]
        for part in self.parts:
            if isinstance(part, Table):
                lines += [part.to_markdown()]
            elif isinstance(part, Picture):
                if not pictures:
                    continue
                lines += [f"![{part.caption}]({part.path})", "", f"*{part.caption}*", ""]
            else:
                lines += [part, ""]
        return "\n".join(lines)

    def to_html(self) -> str:
        """One file: the pictures are inside."""
        from markdown_it import MarkdownIt

        body = MarkdownIt("commonmark", {"html": False}).enable("table").render(self.to_markdown())
        for picture in self.pictures:
            data = base64.b64encode(picture.png).decode()
            body = body.replace(f'src="{picture.path}"', f'src="data:image/png;base64,{data}"')
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{self.title}</title>'
        return (
            f"<!doctype html>\n<html lang=en><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
        )

    def write(self, folder: Path, name: str) -> Path:
        """NAME.md, NAME.html, its pictures in figures/, and each table as CSV, JSON and LaTeX in tables/."""
        for used in ("", "figures" if self.pictures else "", "tables" if self.tables else ""):
            (folder / used).mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{name}.md", self.to_markdown().encode())
        write_whole(folder / f"{name}.html", self.to_html().encode())
        for picture in self.pictures:
            write_whole(folder / picture.path, picture.png)
        for number, table in enumerate(self.tables, 1):
            for form, suffix in (("csv", "csv"), ("json", "json"), ("latex", "tex")):
                write_whole(folder / "tables" / f"{name}-{number}.{suffix}", table.to(form).encode())
        return folder / f"{name}.html"

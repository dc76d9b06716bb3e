"""Convert notebooks to pages: text, code and stored output."""

import base64
from pathlib import Path
from typing import Any

import nbformat


def notebook_files(file: Path) -> dict[str, str | bytes]:
    """Return the page of a notebook and its pictures, by their paths in the site."""
    path = f"notebooks/{file.stem}"
    cells = nbformat.read(file, as_version=4).cells  # type: ignore[no-untyped-call]
    pictures: dict[str, str | bytes] = {}
    parts = []
    for cell in cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        for output in cell.get("outputs", ()):
            parts.append(_output(output, path, pictures))
    title, *rest = "\n\n".join(parts).split("\n", 1)
    parts = [title, f'This page is a notebook: <a href="{file.name}" download>{file.name}</a>.', *rest]
    return {f"{path}.md": "\n\n".join(parts) + "\n", **pictures}


def _output(output: Any, path: str, pictures: dict[str, str | bytes]) -> str:
    """Return the output of a cell in the richest form that a page supports; add its picture to `pictures`."""
    if output.output_type == "stream":
        return f"```output\n{output.text.rstrip()}\n```"
    data = output.data
    if "image/png" in data:
        name = f"{path}-{len(pictures) + 1}.png"
        pictures[name] = base64.b64decode(data["image/png"])
        return f"![{data.get('text/plain', 'a picture')}]({Path(name).name})"
    if "text/html" in data:
        return f'<div class="shown">\n{data["text/html"].strip()}\n</div>'
    return f"```output\n{data['text/plain'].rstrip()}\n```"

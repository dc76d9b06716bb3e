"""The page's files as one: a single HTML document that needs no server, no network and no other file.

Each module of the page becomes a function of its own that gives what it exports, so that names of different modules
never meet. For that, modules import by `import { a, b as c } from "./x.js"` and export what they declare.
"""

import base64
import hashlib
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from paretofoil.core.errors import InvalidInput

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const)\*? (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_STYLE = re.compile(r'<link rel="stylesheet" href="([\w./-]+)">')
_MAIN = re.compile(r'<script type="module" src="js/(\w+)\.js"></script>')
_PICTURE = re.compile(r'(href|src)="([\w./-]+\.svg)"')


def page_with(folder: Path, data: str, begin: str) -> str:
    """The page of a folder with JSON data inside; it begins with a script's line, behind which the modules stand."""
    page = (folder / "index.html").read_text()
    main = _MAIN.search(page)
    if main is None:
        raise InvalidInput.expected("a page with one module", "another")
    script = _safe_script(f"{begin}\n{bundled(folder / 'js', main[1])}")
    page = _STYLE.sub(lambda found: f"<style>\n{(folder / found[1]).read_text()}</style>", page)
    page = _PICTURE.sub(lambda found: f'{found[1]}="{_inlined(folder / found[2])}"', page)
    page = page.replace(main[0], "")
    page = page.replace("<head>", f"<head>\n  {_policy(script)}", 1)
    saved = f'<script type="application/json" id="episode">{_safe_data(data)}</script>'
    head, _, tail = page.rpartition("</body>")
    return f'{head}{saved}\n<script type="module">{script}</script>\n</body>{tail}'


def bundled(folder: Path, main: str) -> str:
    """A module and all that it needs, each behind what it imports."""
    sources = _sources(folder, main)
    needs = {name: {found[2] for found in _IMPORT.finditer(source)} for name, source in sources.items()}
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise InvalidInput.expected("modules that do not import each other in a circle", error.args[1]) from None
    return "\n".join(_as_function(name, sources[name]) for name in order)


def _sources(folder: Path, main: str) -> dict[str, str]:
    found: dict[str, str] = {}
    waiting = [main]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (folder / f"{name}.js").read_text()
            waiting += [module for _, module in _IMPORT.findall(found[name])]
    return found


def _as_function(name: str, source: str) -> str:
    exported = [declared for _, declared in _EXPORT.findall(source)]
    inside = _EXPORT.sub(r"\1", source)
    inside = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = module_{found[2]};", inside)
    left = _LEFT.search(inside)
    if left is not None:
        raise InvalidInput.expected(f"imports and exports of {name}.js by their names", left[0])
    return f"const module_{name} = (() => {{\n{inside}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _safe_script(script: str) -> str:
    """Nothing in it ends the element that it stands in."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _safe_data(data: str) -> str:
    """JSON in which no element begins or ends; strangers' names may be in it."""
    return data.replace("<", "\\u003c")


def _policy(script: str) -> str:
    """Only this very script runs, and nothing is fetched."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    told = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    return f'<meta http-equiv="Content-Security-Policy" content="{told}">'


def _inlined(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"

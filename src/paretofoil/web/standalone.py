"""An episode as one HTML file that needs no server (`paretofoil episode ... --html`).

The file contains the page's scripts and styles, and the server's responses to the page's requests.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from paretofoil.core.errors import InvalidInput
from paretofoil.core.files import check_file, write_atomically
from paretofoil.core.json import plain
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, describe_options
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.web.agent_store import AgentStore
from paretofoil.web.app import page_folder
from paretofoil.web.documents import agent_document, agent_summary, as_base64, foil_names, searches_document
from paretofoil.web.episodes import comma_separated
from paretofoil.web.models import AnswerRequest
from paretofoil.web.settings import Settings
from paretofoil.web.tasks import run_task

MAX_STEPS = 200
"""Largest number of steps that can be saved."""
PICTURE = "saved:"
"""Prefix of the number that replaces the link of a picture. The file contains each picture once."""

Report = Callable[[int, int], None]
"""Called with the number of answers so far, and the number of all answers."""


def check_page(path: Path, num_steps: int) -> None:
    """Raise an error if the page cannot be written, or if it has too many steps."""
    check_file(path, "a page's file")
    if num_steps > MAX_STEPS:
        raise InvalidInput.expected(f"at most {MAX_STEPS} steps to save (choose some with --steps)", num_steps)


def save_page(
    path: Path,
    agent: str,
    flip_map: FlipMap,
    *,
    seed: int,
    search: str = "auto",
    limits: Limits = NO_LIMITS,
    options: Options = DEFAULTS,
    outcomes: Sequence[str] = (),
    report: Report,
) -> None:
    """Write an episode, its flip map and the answers to all of its questions as one HTML file.

    The agent is given by name, folder or module:name. Without a time limit, that of the server applies. The questions
    about outcomes are asked at the start of the episode, with the default options.
    """
    check_page(path, len(set(flip_map.steps)))
    settings = {"search": search, "options": asdict(options), **asdict(limits)}
    episode = _SavedEpisode(agent, flip_map, seed, settings)
    episode.save_all(report, outcomes)
    first_line = f"if (!window.location.hash) window.location.hash = {json.dumps(episode.link)};"
    write_atomically(path, page_with(page_folder(), episode.to_json(), first_line).encode())


class _SavedEpisode:
    """The requests of the page, with the server's responses, for `js/saved.js`."""

    def __init__(self, agent: str, flip_map: FlipMap, seed: int, settings: Mapping[str, Any]) -> None:
        self._store = AgentStore(Settings(agents=(agent,)))
        [self._name] = self._store.names()
        self._episode = {"agent": self._name, "command": flip_map.command.tolist(), "seed": seed}
        self._flip_map = flip_map
        self._settings = {name: value for name, value in settings.items() if value is not None}
        self._responses: list[dict[str, Any]] = []
        self._pictures: dict[str, int] = {}

    @property
    def link(self) -> str:
        """The link to the view that the page opens: the first step of the flip map."""
        command, first = comma_separated(self._episode["command"]), min(self._flip_map.steps, default=0)
        return f"#{urlencode({**self._episode, 'command': command, 'step': first}, safe=',')}"

    def save_all(self, report: Report, outcomes: Sequence[str]) -> None:
        document = agent_document(self._store, self._name)
        self._save("GET", "/api/agents", [agent_summary(self._store, self._name)])
        self._save("GET", f"/api/agents/{quote(self._name, safe='')}", document)
        self._save("GET", "/api/searches", searches_document())
        self._save("GET", "/api/options", plain(describe_options()))
        self._save("GET", "/api/openapi.json", {"paths": {"/api/flip-maps": {}}})
        episode = self._run("episode", self._episode)
        self._save("POST", "/api/episodes", episode, self._episode)
        self._save("POST", "/api/flip-maps", _done({"flip_map": self._flip_map.to_dict()}), self._episode)
        for step in sorted(set(self._flip_map.steps)) if document["white_box"] else ():
            request = {"agent": self._name, "state": episode["decisions"][step]["state"]}
            self._save("POST", "/api/folded", self._run("folded", request), request)
        names = foil_names(self._store.agent(self._name))
        questions: list[dict[str, Any]] = [
            {"step": step, "foil": names[answer.question.column or 0]}
            for step, answer in zip(self._flip_map.steps, self._flip_map.answers, strict=True)
        ]
        questions += [{"step": 0, "outcome": outcome} for outcome in outcomes]
        for done, question in enumerate(questions):
            report(done, len(questions))
            self._save_answer({**self._episode, **question})
        report(len(questions), len(questions))

    def to_json(self) -> str:
        """Return all responses as JSON, in which numbers of pictures replace the links to them."""
        answers = re.sub(r'"(/api/(?:pictures\?|agents/)[^"]+)"', self._replace_link, json.dumps(self._responses))
        pictures = [f"data:image/png;base64,{png}" for png in self._pictures]
        return f'{{"pictures": {json.dumps(pictures)}, "answers": {answers}}}'

    def _run(self, kind: str, request: Mapping[str, Any]) -> Any:
        task = {"kind": kind, "address": self._store.address(self._name), "request": request}
        return run_task(task, lambda progress, partial: None)

    def _save(self, method: str, path: str, result: Any, body: Mapping[str, Any] | None = None) -> None:
        self._responses.append({"method": method, "path": path, "body": dict(body or {}), "result": result})

    def _save_answer(self, fields: dict[str, Any]) -> None:
        """Save an answer as the response to the page's request, and the rollouts of the commands in the answer."""
        defaults = AnswerRequest(**fields).model_dump(mode="json")
        settings = self._settings if defaults["outcome"] is None else {}
        result = self._run("answer", self._run("check-answer", {**defaults, **settings}))
        request = {**defaults, "options": {}, "seconds": None, "queries": None, "share": None}  # the page's request
        self._save("POST", "/api/answers", _done(result), request)
        quoted, rollouts = (result["answer"][name] or {} for name in ("quoted", "rollouts"))
        for issued in (quoted.get("command"), (rollouts.get("attainable") or {}).get("command")):
            if issued is not None:
                request = {**self._episode, "step": fields["step"], "issued": issued}
                self._save("POST", "/api/consequences", self._run("consequence", request), request)

    def _replace_link(self, match: re.Match[str]) -> str:
        """Return the number of the picture that a link leads to; return other links unchanged."""
        path, _, query = match[1].partition("?")
        if path == "/api/pictures":
            fields: dict[str, Any] = dict(parse_qsl(query))
            fields |= {name: [*map(float, fields[name].split(","))] for name in ("command", "issued") if name in fields}
            fields |= {name: int(fields[name]) for name in ("seed", "step", "since") if name in fields}
            png = self._run("picture", fields)
        elif path.endswith("/picture.png"):
            png = self._run("start-picture", {})
        else:
            return match[0]
        return f'"{PICTURE}{self._pictures.setdefault(png, len(self._pictures))}"'


def _done(result: dict[str, Any]) -> dict[str, Any]:
    """Return a finished job."""
    return {"job": "saved", "state": "done", "progress": 1.0, "partial": [], "result": result, "error": None}


# The page's files become one document. Each module becomes a function that returns its exports, so that modules may use
# equal names. This requires that modules import by `import { a, b as c } from "./x.js"` and export only declarations.

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async function|function|class|const)\*? (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_STYLE = re.compile(r'<link rel="stylesheet" href="([\w./-]+)">')
_MAIN = re.compile(r'<script type="module" src="js/(\w+)\.js"></script>')
_ICON = re.compile(r'(href|src)="([\w./-]+\.svg)"')


def page_with(folder: Path, data: str, first_line: str, kind: str = "episode") -> str:
    """Return the page of a folder as one HTML document. Its script starts with `first_line`.

    The document contains JSON data in an element whose id is `kind`: "episode" for a saved page without a server, and
    "notebook" for a page that sends its requests to a notebook.
    """
    page = (folder / "index.html").read_text()
    main = _MAIN.search(page)
    if main is None:
        raise InvalidInput.expected("a page with one module script", f"{folder / 'index.html'} without one")
    script = f"{first_line}\n{bundle_modules(folder / 'js', main[1])}"
    script = re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)  # does not end the script element
    page = _STYLE.sub(lambda match: f"<style>\n{(folder / match[1]).read_text()}</style>", page)
    page = _ICON.sub(
        lambda match: f'{match[1]}="data:image/svg+xml;base64,{as_base64((folder / match[2]).read_bytes())}"', page
    )
    page = page.replace(main[0], "")
    page = page.replace("<head>", f"<head>\n  {_security_policy(script)}", 1)
    safe_data = data.replace("<", "\\u003c")  # so that no element starts or ends in the data
    element = f'<script type="application/json" id="{kind}">{safe_data}</script>'
    head, _, tail = page.rpartition("</body>")
    return f'{head}{element}\n<script type="module">{script}</script>\n</body>{tail}'


def bundle_modules(folder: Path, main: str) -> str:
    """Return a module and all modules that it imports as one script."""
    sources: dict[str, str] = {}
    names = [main]
    while names:
        name = names.pop()
        if name not in sources:
            sources[name] = (folder / f"{name}.js").read_text()
            names += [module for _, module in _IMPORT.findall(sources[name])]
    imports = {name: {match[2] for match in _IMPORT.finditer(source)} for name, source in sources.items()}
    try:
        order = list(TopologicalSorter(imports).static_order())
    except CycleError as error:
        raise InvalidInput.expected("modules without circular imports", " -> ".join(error.args[1])) from None
    return "\n".join(_as_function(name, sources[name]) for name in order)


def _as_function(name: str, source: str) -> str:
    exports = [declared for _, declared in _EXPORT.findall(source)]
    body = _EXPORT.sub(r"\1", source)
    body = _IMPORT.sub(lambda match: f"const {{{match[1].replace(' as ', ': ')}}} = module_{match[2]};", body)
    other = _OTHER.search(body)
    if other is not None:
        raise InvalidInput.expected(f"only named imports and exported declarations in {name}.js", other[0])
    return f"const module_{name} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _security_policy(script: str) -> str:
    """Return the HTML element that allows only this script, and no requests."""
    digest = as_base64(hashlib.sha256(script.encode()).digest())
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'

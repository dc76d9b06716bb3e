"""Fuzz files: edit valid files of every kind.

Two whole numbers choose an edit: where and what. Hypothesis draws them in the tests, and can shrink them; a random
generator draws them in `benchmarks/fuzz_files.py`.
"""

import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from answers import achieved, answer, attainable, proven, proven_range
from checkpoints import VALID, rewritten
from influences import influence, profile
from ordinary import onnx_model
from policies import random_pcn

from paretofoil.agents import load_agent, save_agent
from paretofoil.agents.agent import Agent
from paretofoil.agents.import_agent import import_agent
from paretofoil.agents.onnx import from_onnx
from paretofoil.agents.store import DESCRIPTION, WEIGHTS
from paretofoil.core.answer import Start
from paretofoil.core.command import CommandSpace
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.envs import CatalogueEntry, describe, entry
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.search import CFZoo, Exact, NearestFront
from paretofoil.study import Case, CaseRule, make_study, read_about, read_rows, read_runs, run_study
from paretofoil.study.database import StoreError
from paretofoil.study.statistics import summarise
from paretofoil.study.store import Store
from paretofoil.study.study import restore_study
from paretofoil_paper.searches import ProjectedCW

Edit = tuple[int, int]
DEEP, DIGITS, ENDLESS = "@@deep@@", "@@digits@@", "@@endless@@"
RAW = {f'"{DEEP}"': "[" * 5000 + "]" * 5000, f'"{DIGITS}"': "9" * 6000, f'"{ENDLESS}"': "1e999"}
"""Values that Python itself would not write."""
NASTY: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 7, 2**31, 10**7, 10**12, 10**18, 2**63, 10**30, DIGITS),
    *(0.5, -0.5, 1e-300, 1e99, 1e300, -1e300, float("nan"), float("inf"), ENDLESS),
    *("", "x", "0", "infinity", "-infinity", "l7", "\x1b[2J", "\x00", "\ud800", "[/bold]", "[bold", "a" * 20_000),
    *("antigravity:Env-v0", "paretofoil.__main__:Env-v0", "mo_gymnasium:fruit-tree-v0", "CartPole-v1", "../../up"),
    *([], [[]], [[1], [1, 2]], [1, "a"], [None], [0] * 5000, {}, {"a": 1}, {"schema": "x"}, {"class": "Exact"}),
    *([[[[[[]]]]]], {"class": "Grid", "values": 10**12}, {"class": "CFZoo", "max_queries": 10**12}, DEEP),
)
DROP, TWICE, CUT, FLIP, NOISE, BLOB = "drop", "twice", "cut", "flip", "noise", "blob"
EDITS: tuple[Any, ...] = (*NASTY, DROP, DROP, DROP, TWICE, CUT, FLIP, FLIP, NOISE, BLOB)


@dataclass(frozen=True)
class Kind:
    """One kind of file: valid bytes, an edit, and a function that reads and uses it."""

    name: str
    file: str
    valid: bytes
    edit: Callable[[bytes, int, int], bytes]
    use: Callable[[Path], None]
    others: tuple[tuple[str, bytes], ...] = ()
    """Other files in the same folder."""

    def craft(self, edits: Sequence[Edit]) -> bytes:
        data = self.valid
        for where, what in edits:
            data = self.edit(data, where, what)
        return data

    def refuses(self, data: bytes, folder: Path) -> InvalidInput | StoreError | None:
        """Write the file and use it; return the expected error or None, and raise any other error."""
        for name, beside in self.others:
            (folder / name).write_bytes(beside)
        (folder / self.file).write_bytes(data)
        try:
            self.use(folder)
        except (InvalidInput, StoreError) as error:
            return error
        return None


def edit_bytes(data: bytes, where: int, what: int) -> bytes:
    """Truncate the bytes, flip one bit, insert noise, or replace everything by noise."""
    action, place = EDITS[what % len(EDITS)], where % (len(data) + 1)
    noise = np.random.default_rng([where, what]).bytes(1 + where % 300)
    if action == CUT:
        return data[:place]
    if action == BLOB:
        return noise
    if action == NOISE or place == len(data):
        return data[:place] + noise + data[place:]
    return data[:place] + bytes([data[place] ^ (1 << where % 8)]) + data[place + 1 :]


def edit_json(data: bytes, where: int, what: int) -> bytes:
    """Change one value of a JSON document, or its bytes."""
    action = EDITS[what % len(EDITS)]
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return edit_bytes(data, where, what)
    places = list(_places(document))
    if (isinstance(action, str) and action in (CUT, FLIP, NOISE, BLOB)) or not places:
        return edit_bytes(data, where, what)
    container, key = places[where % len(places)]
    if isinstance(action, str) and action == DROP:
        del container[key]
    elif isinstance(action, str) and action == TWICE:
        container[key] = [container[key], container[key]]
    else:
        container[key] = action
    text = json.dumps(document)
    for token, raw in RAW.items():
        text = text.replace(token, raw)
    return text.encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) of a document."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def edit_tensors(data: bytes, where: int, what: int) -> bytes:
    """Change the header of a safetensors file, or the bytes."""
    if len(data) < 8 or where % 4 == 0:
        return edit_bytes(data, where // 4, what)
    size = struct.unpack("<Q", data[:8])[0]
    header = edit_json(data[8 : 8 + size], where // 4, what)
    return struct.pack("<Q", len(header)) + header + data[8 + size :]


def edit_checkpoint(data: bytes, where: int, what: int) -> bytes:
    """Change the pickle in an archive, with valid checksums, or the bytes of the archive."""
    if where % 4 == 0:
        return edit_bytes(data, where // 4, what)
    try:
        return rewritten(
            data,
            lambda name, old: (
                edit_bytes(old, where // 4, what) if name == ("data.pkl", "data/0")[what % 5 == 0] else old
            ),
        )
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError):  # it was broken before
        return edit_bytes(data, where, what)


PROGRAMS = (
    "DROP TABLE run",
    "DROP TABLE answer; CREATE VIEW answer AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
    " SELECT 'a' agent, 's' search, x front, 0 step, 0 foil, '' agent_hash, 'found' status, 0.1 closest_distance,"
    " 1 queries, '{}' answer, 0.1 seconds FROM n",
    "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM answer; END",
    "ALTER TABLE about ADD COLUMN more TEXT",
    "DELETE FROM about WHERE name = 'sources'",
    "DELETE FROM about",
    "DELETE FROM answer",
)
JSON_COLUMNS = ("value", "machine", "answer")


def edit_study(data: bytes, where: int, what: int) -> bytes:
    """Change one cell, the tables, or the bytes of a SQLite file."""
    if where % 8 == 0:
        return edit_bytes(data, where // 8, what)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(data)
        if where % 8 == 1:
            connection.executescript(PROGRAMS[what % len(PROGRAMS)])
        else:
            _edit_cell(connection, where // 8, what)
        return connection.serialize()
    except sqlite3.Error:  # it was broken before, or SQLite does not take it
        return edit_bytes(data, where, what)
    finally:
        connection.close()


def _edit_cell(connection: sqlite3.Connection, where: int, what: int) -> None:
    table = ("about", "about", "about", "answer", "run")[where % 5]
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = [row for (row,) in connection.execute(f"SELECT rowid FROM {table} LIMIT 5")]
    if not rows or not columns:
        return
    column, row = columns[where // 5 % len(columns)], rows[where // 50 % len(rows)]
    old = connection.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)).fetchone()
    if old is None:  # an earlier edit broke it
        return
    new = _new_cell(column, old[0], where // 250, what)
    connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", (new, row))


def _new_cell(column: str, old: Any, where: int, what: int) -> Any:
    if column in JSON_COLUMNS and isinstance(old, str):
        edited = edit_json(old.encode(), where, what)
        return edited if what % 7 == 0 else edited.decode(errors="replace")
    action = EDITS[what % len(EDITS)]
    if isinstance(action, int) and abs(action) >= 2**63:
        return str(action)
    return action if isinstance(action, int | float | None) else str(action).encode(errors="replace").decode()


def _document(kind: Any, look: Callable[[Any], object]) -> Callable[[Path], None]:
    """Read a value from its JSON and show it in every form."""

    def use(folder: Path) -> None:
        read = kind.from_json((folder / "document.json").read_text(errors="replace"))
        assert type(read).from_json(read.to_json()).to_json() == read.to_json()
        assert repr(read)
        look(read)

    return use


def _look_at_flips(flips: FlipMap) -> None:
    flips.distances(), flips.easiest(), flips.unsteerable(), flips.proven_unsteerable(), flips._repr_html_()


def _use_agent(folder: Path) -> None:
    agent = load_agent(folder)
    assert repr(agent)
    if agent.achieved is not None:
        agent.reached()
    agent._repr_html_()


def _use_checkpoint(folder: Path) -> None:
    agent = import_agent(folder / "model.pt", "deep-sea-treasure", front=folder / "front.txt")
    assert repr(agent)


def _use_onnx(folder: Path) -> None:
    assert repr(from_onnx(folder / "network.onnx", np.zeros(5), CommandSpace([0, 0], [1, 1])))


def _use_study(folder: Path) -> None:
    path = folder / "study.sqlite"
    about, rows, _ = read_about(path), read_rows(path), read_runs(path)
    summarise(rows)
    for row in rows:
        row.full_answer()
    study = restore_study(about["configuration"], about["sources"], path)
    with Store(path, study.configuration()) as store:
        store.count()


def _values() -> dict[str, tuple[Any, Callable[[Any], object]]]:
    """Return a complete value of each kind, with functions that show it."""
    decision = Decision(np.array([0.5, 1], np.float32), np.array([8.0, -2.0]), (0, 1, 3), 3, np.array([0.0, -1.0]), 4)
    found = proven(
        [6.3, -2.0],
        proven_range=proven_range([1, -2], [6.3, -2]),
        consequence=achieved(5, -7),
        original_consequence=achieved(8, -8),
        start=Start(np.array([8.0, -8.0]), np.array([6.3, -8.0]), True),
        attainable=attainable([5.0, -1.0], (0.0, -6.0), missed=0.004),
        step=4,
        outside=(0,),
        kept=(1,),
        held=(0,),
        alternatives=(answer([8.0, -1.0], attainable=attainable([8.0, -1.0])),),
    )
    eight = np.array([8.0, -2.0])
    flips = FlipMap(
        "mine", found.question.objectives, found.question.actions, eight, eight, (3, 3), (0, 1), (found, proven())
    )
    return {
        "decision": (decision, repr),
        "episode": (Episode(np.array([8.0, -3.0]), (decision, decision), np.array([5.0, -7.0]), True), list),
        "answer": (found, lambda read: (str(read), read.paragraph(), read._repr_html_())),
        "flip map": (flips, _look_at_flips),
        "influence": (influence(), lambda read: (str(read), read.changed, read._repr_html_())),
        "influence profile": (profile(influence()), lambda read: (str(read), read._repr_html_())),
    }


def kinds(folder: Path) -> list[Kind]:
    """Return every kind of file that the library reads; the folder gets agents and a study."""
    made = [
        Kind(name, "document.json", value.to_json().encode(), edit_json, _document(type(value), look))
        for name, (value, look) in _values().items()
    ]
    small = _save("small", entry("branch-path"), folder)
    elsewhere = _save("elsewhere", describe("mo_gymnasium:breakable-bottles-v0", max_steps=50, size=3), folder)
    for name, home in (("agent", small), ("agent elsewhere", elsewhere)):
        description, weights = ((home / file).read_bytes() for file in (DESCRIPTION, WEIGHTS))
        made.append(Kind(name, DESCRIPTION, description, edit_json, _use_agent, ((WEIGHTS, weights),)))
    made.append(Kind("weights", WEIGHTS, weights, edit_tensors, _use_agent, ((DESCRIPTION, description),)))
    path = folder / "valid.sqlite"
    searches = {"cf-zoo": CFZoo(60, 91), "exact": Exact(), "front": NearestFront(), "projected": ProjectedCW(5)}
    study = make_study([small], searches, CaseRule(1, 1, 1), only=[Case("small", 0, 0, action) for action in range(4)])
    run_study(study, path, workers=1)
    made.append(Kind("study", "study.sqlite", path.read_bytes(), edit_study, _use_study))
    made.append(
        Kind("checkpoint", "model.pt", VALID, edit_checkpoint, _use_checkpoint, (("front.txt", b"1,-1\n8,-8\n"),))
    )
    network = onnx_model(random_pcn(0, hidden=8).arrays()).SerializeToString()
    made.append(Kind("ONNX file", "network.onnx", network, edit_bytes, _use_onnx))
    return made


def _save(name: str, world: CatalogueEntry, folder: Path) -> Path:
    """Save a random network as an agent with every optional field."""
    size = len(world.objectives)
    policy = random_pcn(0, world.observation_size, size, len(world.actions))
    space, front = CommandSpace(np.zeros(size), np.full(size, 3.0), world.objectives), np.ones((2, size))
    told = {"seed": 0, "steps": 100, "config": {"hidden": 32, "note": "random"}}
    return save_agent(Agent(name, policy, world, space, front, front, np.zeros((2, size)), told), folder / name)

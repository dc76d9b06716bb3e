"""Measurements: values that an experiment computes from a study's answers, recorded so that its page can be rewritten.

A study stores answers. A measurement on an answer (where an episode ends, the direction of a gradient) is a frozen
dataclass of plain values; its fields are the columns of a Parquet file. Scripts in `benchmarks/` write CSV files.
"""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args, get_type_hints

from paretofoil.core.errors import InvalidInput
from paretofoil.study.parquet import open_parquet, write_parquet
from paretofoil.study.statistics import Proportion
from paretofoil.study.study import check_same, fingerprint
from paretofoil_paper.plan import Plan
from paretofoil_paper.statistics import EpisodeTotal, Interval, cluster_interval

Measurement = TypeVar("Measurement")


def measurements(
    plan: Plan,
    name: str,
    kind: type[Measurement],
    measure: Callable[[], Iterable[Measurement]],
    settings: Mapping[str, Any],
) -> list[Measurement]:
    """Measure and record, or, with `plan.recorded`, read the measurements of that name.

    `settings` are stored next to the agents and the seed; recorded measurements with other settings are refused.
    """
    path, about = plan.out / "rows" / f"{name}.parquet", _metadata(plan, settings)
    if plan.recorded:
        plan.log.measurements.add(name)
        return read_measurements(path, kind, about)
    rows = list(measure())
    write_measurements(path, kind, rows, about)
    return rows


def _metadata(plan: Plan, settings: Mapping[str, Any]) -> dict[str, Any]:
    loaded = map(plan.load, plan.agents)
    return {"agents": {agent.name: fingerprint(agent) for agent in loaded}, "seed": plan.seed, **settings}


def write_measurements(path: Path, kind: type[Any], rows: Sequence[Any], about: Mapping[str, Any]) -> None:
    """Write one column per field, and `about` as metadata."""
    values = [asdict(row) for row in rows]
    columns = {field.name: [row[field.name] for row in values] for field in fields(kind)}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(path, columns, about)


def read_measurements(path: Path, kind: type[Measurement], about: Mapping[str, Any]) -> list[Measurement]:
    """Read measurements; refuse a file with other metadata or other columns."""
    table, stored = open_parquet(path, "measurements")
    check_same(stored, json.loads(json.dumps(about)), path)
    columns = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if table.column_names != columns:
        raise InvalidInput.expected(f"the columns {', '.join(columns)} in {path}", ", ".join(table.column_names))
    return [kind(**line) for line in table.to_pylist()]


def read_csv(path: Path, kind: type[Measurement]) -> list[Measurement]:
    """Read the objects of a dataclass from a CSV file; an empty cell is None. Without a file there are none."""
    if not path.is_file():
        return []
    hints = get_type_hints(kind)
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    return [kind(**{name: _read_cell(cell, hints[name]) for name, cell in line.items()}) for line in lines]


def _read_cell(cell: str, hint: Any) -> Any:
    kind, *others = get_args(hint) or (hint,)
    if others and not cell:
        return None
    return cell == "True" if kind is bool else kind(cell)


class EpisodeMeasurement(Protocol):
    """A measurement that belongs to an episode: an agent under one command of its front."""

    @property
    def agent(self) -> str: ...

    @property
    def front(self) -> int: ...


OfEpisode = TypeVar("OfEpisode", bound=EpisodeMeasurement)


def mean_interval(rows: Iterable[OfEpisode], value: Callable[[OfEpisode], float]) -> Interval:
    """Return the 95 % interval of a mean for these agents, by a cluster bootstrap over episodes."""
    groups: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        groups.setdefault((row.agent, row.front), []).append(float(value(row)))
    return cluster_interval([EpisodeTotal(name, name, len(g), sum(g)) for (name, _), g in groups.items()])


def share(rows: Sequence[Measurement], holds: Callable[[Measurement], bool]) -> Proportion:
    """Return the proportion of rows for which `holds` is true."""
    return Proportion(sum(map(holds, rows)), len(rows))


def share_and_interval(rows: Sequence[OfEpisode], holds: Callable[[OfEpisode], bool]) -> tuple[Proportion, Interval]:
    """Return the proportion of rows for which `holds` is true, and its interval by the cluster bootstrap."""
    return share(rows, holds), mean_interval(rows, holds)

"""Measurements: what an experiment finds out beside a study's answers, kept as rows so that its page can be made again.

A study keeps answers. What is measured on them (where an episode ends, which way a gradient points) is a row of plain
values; a frozen dataclass says which, and its fields are the columns of a Parquet file.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from paretofoil.core.errors import InvalidInput
from paretofoil.study.parquet import ABOUT, open_parquet, require_pyarrow
from paretofoil.study.statistics import EpisodeTotal, Interval, Proportion, cluster_interval
from paretofoil.study.study import check_same, fingerprint
from paretofoil_paper.plan import Plan

Measurement = TypeVar("Measurement")


def measured(
    plan: Plan,
    name: str,
    kind: type[Measurement],
    measure: Callable[[], Iterable[Measurement]],
    settings: Mapping[str, Any],
) -> list[Measurement]:
    """The measurements of that name: made and kept, or, where the plan asks nothing, those that are kept.

    `settings` say what they were made with, beside the agents and the seed; kept ones of others are refused.
    """
    path, about = plan.out / "rows" / f"{name}.parquet", _about(plan, settings)
    if plan.recorded:
        plan.log.measurements.add(name)
        return read_measurements(path, kind, about)
    rows = list(measure())
    write_measurements(path, kind, rows, about)
    return rows


def _about(plan: Plan, settings: Mapping[str, Any]) -> dict[str, Any]:
    loaded = map(plan.load, plan.agents)
    return {"agents": {agent.name: fingerprint(agent) for agent in loaded}, "seed": plan.seed, **settings}


def write_measurements(path: Path, kind: type[Any], rows: Sequence[Any], about: Mapping[str, Any]) -> None:
    """One column for each field, and what they were made with beside them."""
    pyarrow, parquet = require_pyarrow()
    told = [asdict(row) for row in rows]
    columns = {field.name: [row[field.name] for row in told] for field in fields(kind)}
    table = pyarrow.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)})
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, path, compression="zstd", compression_level=9)


def read_measurements(path: Path, kind: type[Measurement], about: Mapping[str, Any]) -> list[Measurement]:
    """What was written, if it was made with the same."""
    table, stored = open_parquet(path, "measurements")
    check_same(stored, json.loads(json.dumps(about)), path)
    wanted = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if table.column_names != wanted:
        raise InvalidInput.expected(f"the columns {', '.join(wanted)} in {path}", ", ".join(table.column_names))
    return [kind(**line) for line in table.to_pylist()]


class Placed(Protocol):
    """A measurement that belongs to an episode: an agent under one command of its front."""

    @property
    def agent(self) -> str: ...

    @property
    def front(self) -> int: ...


Somewhere = TypeVar("Somewhere", bound=Placed)


def mean_interval(rows: Iterable[Somewhere], value: Callable[[Somewhere], float]) -> Interval:
    """The 95 % interval of a mean by the cluster bootstrap over episodes, of these very agents."""
    groups: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        groups.setdefault((row.agent, row.front), []).append(float(value(row)))
    return cluster_interval([EpisodeTotal(name, name, len(g), sum(g)) for (name, _), g in groups.items()])


def share(rows: Sequence[Measurement], holds: Callable[[Measurement], bool]) -> Proportion:
    """Of how many of them something is true."""
    return Proportion(sum(map(holds, rows)), len(rows))

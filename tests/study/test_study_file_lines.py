"""Lines that a study's file stands on, each with a case that fails without it."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from studies import FAST, small_agent, small_study

from paretofoil.core.answer import Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.study import CaseRule, StudyProgress, enumerate_cases, make_study, read_rows, read_runs, run_study
from paretofoil.study.case import Case
from paretofoil.study.database import StoreError
from paretofoil.study.statistics import Proportion
from paretofoil.study.store import Row, Store
from paretofoil.study.study import check_same, fingerprint
from paretofoil.study.table import Table

CONFIGURATION = make_study([small_agent()], FAST).configuration()


def row(front: int, time: int, foil: int) -> Row:
    return Row(Case("a", front, time, foil), "s", "hash", Status.FOUND, 0.5, 10, "{}", 1.0)


def test_rows_are_read_by_front_then_time_then_foil(tmp_path: Path) -> None:
    places = [(1, 0, 0), (0, 1, 0), (0, 0, 2), (0, 0, 1), (0, 2, 1), (0, 10, 0)]
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        store.add([row(*place) for place in places], 0, 1.0)
    found = [(r.case.front, r.case.step, r.case.foil) for r in read_rows(tmp_path / "s.sqlite")]
    assert found == sorted(places)


def test_a_chunk_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        with pytest.raises(StoreError, match="each answer once"):
            store.add([row(0, 0, 1), row(0, 0, 2), row(0, 0, 1)], 0, 1.0)
        assert store.finished() == set()
        store.add([row(0, 0, 2)], 0, 1.0)
    assert len(read_rows(tmp_path / "s.sqlite")) == 1


def test_a_run_has_asked_what_all_its_chunks_have(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        run = store.begin_run("local", 1, 3, {})
        store.add([row(0, 0, 1), row(0, 0, 2)], run, 1.0)
        store.add([row(0, 0, 3)], run, 2.5)
    [told] = read_runs(tmp_path / "s.sqlite")
    assert (told.asked, told.seconds) == (3, 2.5)


def test_a_file_with_one_answer_takes_no_other_study(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        store.add([row(0, 0, 1)], 0, 1.0)
    with pytest.raises(InvalidInput, match="got seed = 1; write another study"):
        Store(tmp_path / "s.sqlite", {**CONFIGURATION, "seed": 1})
    Store(tmp_path / "s.sqlite", CONFIGURATION).close()


@pytest.mark.parametrize(("stored", "now"), [({"a": 1}, {}), ({}, {"a": 1}), ({"a": 1}, {"a": 2})])
def test_what_one_of_two_studies_lacks_makes_them_differ(stored: dict[str, int], now: dict[str, int]) -> None:
    check_same(stored, dict(stored), "file")
    with pytest.raises(InvalidInput, match=r"the study that is in file \(a = "):
        check_same(stored, now, "file")


@pytest.mark.parametrize("side", ["low", "high"])
def test_another_box_of_commands_is_another_agent(side: str) -> None:
    agent = small_agent()
    sides = {"low": agent.space.low, "high": agent.space.high, side: getattr(agent.space, side) + 0.5}
    other = replace(agent, space=CommandSpace(sides["low"], sides["high"], agent.space.objectives))
    assert fingerprint(other) != fingerprint(agent)


def test_a_configuration_lists_its_cases_in_their_order() -> None:
    cases = [case for case, _ in enumerate_cases(small_agent())]
    listed = make_study([small_agent()], FAST, only=reversed(cases)).configuration()["only"]
    assert len(listed) > 10
    assert listed == sorted(listed)


def test_only_the_first_moments_are_asked_about() -> None:
    assert {case.step for case, _ in enumerate_cases(small_agent(), CaseRule(steps=2))} == {0, 1}


def test_what_is_answered_is_not_asked_again(tmp_path: Path) -> None:
    study = small_study(tmp_path, FAST, CaseRule(commands=1, steps=2))
    first, again = (run_study(study, tmp_path / "s.sqlite", workers=1) for _ in range(2))
    assert first.asked == first.total > 0
    assert (again.asked, again.done) == (0, first.total)


@pytest.mark.parametrize(("left", "told"), [(5, "0:05"), (90, "1:30"), (3600, "60:00")])
def test_the_time_left_is_told_in_minutes_and_seconds(left: int, told: str) -> None:
    assert str(StudyProgress(done=10, total=10 + left, found=5, asked=10, seconds=10.0)).endswith(f", {told} left")


def test_a_proportion_that_is_missing_shifts_no_column() -> None:
    table = Table("", ("rate", "n"), ((Proportion(1, 2), 1), (None, 2)))
    assert [line["n"] for line in csv.DictReader(io.StringIO(table.to("csv")))] == ["1", "2"]

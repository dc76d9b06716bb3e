"""The SQLite file of a study: invalid contents are errors, and nothing is lost if it cannot be written."""

import json
import sqlite3
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sessions import run_script
from studies import FAST, rows_without_timings, saved_agent, small_agent, small_study

from paretofoil.agents import Agent, load_agent, save_agent
from paretofoil.core.answer import Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront
from paretofoil.search.registry import Method, methods
from paretofoil.study import (
    CaseRule,
    StudyProgress,
    make_study,
    read_about,
    read_rows,
    read_runs,
    resume_study,
    run_study,
)
from paretofoil.study.case import Case
from paretofoil.study.database import StoreError
from paretofoil.study.store import TABLES_5, Row, Store
from paretofoil.study.study import check_same, describe_search, fingerprint, restore_search
from paretofoil.study.table import rows_table
from paretofoil_paper.searches import ProjectedCW


def test_rows_hold_the_whole_answer(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    run_study(small_study(tmp_path, FAST), path, workers=1)
    row = next(row for row in read_rows(path) if row.found)
    found = row.full_answer()
    assert found.status is row.status
    assert found.closest.distance == row.closest_distance
    assert found.total_queries == row.queries
    assert found.question.foil == row.case.foil
    assert found.search.seconds == 0.0
    assert row.seconds > 0
    assert row.agent_hash == read_about(path)["configuration"]["agents"]["small"]


def test_a_changed_search_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    run_study(small_study(tmp_path, FAST), path, workers=1)
    before = rows_without_timings(path)
    with pytest.raises(InvalidInput, match="searches: "):
        run_study(small_study(tmp_path, {"cf-zoo": CFZoo(10, 10)}), path, workers=1)
    with pytest.raises(InvalidInput, match="rule: steps"):
        run_study(small_study(tmp_path, FAST, CaseRule(steps=2)), path, workers=1)
    assert rows_without_timings(path) == before


def test_a_changed_agent_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    folder = saved_agent(tmp_path)
    run_study(make_study([folder], ["nearest-front"]), path, workers=1)
    before = rows_without_timings(path)
    save_agent(replace(load_agent(saved_agent(tmp_path / "other", seed=1)), name="small"), folder)
    with pytest.raises(InvalidInput, match="agents: small"):
        resume_study(path)
    assert rows_without_timings(path) == before


def test_a_finished_study_is_resumed_without_asking_anything(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    study = make_study([saved_agent(tmp_path)], ["nearest-front"], CaseRule(2, 3, 1))
    first = run_study(study, path, workers=1)
    again = resume_study(path, workers=1)
    assert (again.asked, again.done) == (0, first.done)


def test_a_study_with_settings_of_its_own_is_resumed_from_its_file(tmp_path: Path) -> None:
    """What the searches were is in the file, not only what they were called."""
    path, wanted = tmp_path / "study.sqlite", {"mine": CFZoo(directions=20, max_queries=31, seed=3)}
    study = make_study([saved_agent(tmp_path)], wanted, CaseRule(2, 3, 1))
    run_study(study, path, workers=1)
    whole = rows_without_timings(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM answer WHERE step = 1")
    connection.close()
    assert resume_study(path, workers=1).asked > 0
    assert rows_without_timings(path) == whole


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_every_search_is_restored_from_its_description(method: Method) -> None:
    search = method.make(7)
    assert restore_search(json.loads(json.dumps(describe_search(search)))) == search


def test_descriptions_include_searches_inside_searches() -> None:
    assert describe_search(Exact()) != describe_search(Exact(start=NearestFront()))
    assert restore_search(describe_search(Exact(start=NearestFront()))) == Exact(start=NearestFront())


def test_a_file_without_answers_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    with Store(path, small_study(tmp_path, FAST, CaseRule(steps=2)).configuration(), {"sources": {}}):
        pass  # nothing was answered
    study = small_study(tmp_path, FAST)
    run_study(study, path, workers=1)
    assert read_about(path)["configuration"] == json.loads(json.dumps(study.configuration()))
    with pytest.raises(InvalidInput, match="chunks of at least 1"):
        run_study(study, path, chunk=0)


def test_a_file_has_one_writer_also_through_a_link(tmp_path: Path) -> None:
    study, other = small_study(tmp_path, FAST), tmp_path / "other.sqlite"
    other.symlink_to(tmp_path / "study.sqlite")
    with Store(tmp_path / "study.sqlite", study.configuration()), pytest.raises(StoreError, match="another process"):
        Store(other, study.configuration())


def test_names_of_objectives_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    agent = small_agent()
    renamed = replace(agent, space=CommandSpace(agent.space.low, agent.space.high, ["apples", "B"]))
    assert fingerprint(agent) != fingerprint(renamed)


def test_the_fingerprint_of_a_function_is_of_its_outputs(tmp_path: Path) -> None:
    """Whatever it is made of: the same answers are the same agent, other answers another."""
    inside = small_agent().policy

    def own(factor: float) -> Agent:
        return replace(small_agent(), policy=lambda states, commands: inside.log_probs(states, factor * commands))

    assert fingerprint(own(1.0)) == fingerprint(own(1.0))
    assert fingerprint(own(1.0)) != fingerprint(own(0.5))
    assert fingerprint(replace(own(1.0), front=np.empty((0, 2))))


def test_a_file_holds_its_runs(tmp_path: Path) -> None:
    path, study = tmp_path / "study.sqlite", small_study(tmp_path, FAST)

    def stop(line: StudyProgress) -> None:
        if line.asked >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study, path, workers=1, chunk=4, show=stop)
    run_study(study, path, workers=1)
    run_study(study, path, workers=1)  # asks nothing, and so is no run
    first, second = read_runs(path)
    assert first.asked == 8
    assert first.asked + second.asked == second.total == len(read_rows(path))
    assert (first.engine, first.workers) == ("local", 1)
    assert min(first.seconds, second.seconds) > 0


def test_a_second_process_gets_a_clear_error(tmp_path: Path) -> None:
    path, study = tmp_path / "study.sqlite", small_study(tmp_path, FAST)
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path; from studies import small_study, FAST; from paretofoil.study import run_study\n"
        f"folder = Path({str(tmp_path)!r}); run_study(small_study(folder, FAST), folder / 'study.sqlite', workers=1)"
    )
    with Store(path, study.configuration()), pytest.raises(AssertionError, match="another process is writing"):
        run_script([script])
    run_study(study, path, workers=1)  # free again


@pytest.mark.parametrize("place", ["/proc/study.sqlite", "file/study.sqlite"])
def test_a_path_that_cannot_be_written_gets_a_clear_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="a folder in which"):
        run_study(small_study(tmp_path, FAST), tmp_path / place, workers=1)


def test_a_file_of_another_kind_is_an_error_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a study " * 100)
    with pytest.raises(InvalidInput, match="to be a study's file"):
        run_study(small_study(tmp_path, FAST), path, workers=1)
    assert path.read_text() == "not a study " * 100


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """The file may not grow beyond a limit, as on a full disk; when there is room again, the study goes on."""
    whole, path = tmp_path / "whole.sqlite", tmp_path / "study.sqlite"
    study = small_study(tmp_path, FAST)
    run_study(study, whole, workers=1)
    script = textwrap.dedent(
        f"""
        import resource, sys
        from pathlib import Path
        from studies import FAST, small_study
        from paretofoil.study import run_study
        folder = Path({str(tmp_path)!r})
        study = small_study(folder, FAST)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({whole.stat().st_size // 2}, resource.RLIM_INFINITY))
        run_study(study, folder / "study.sqlite", workers=1, chunk=4)
        """
    )
    (tmp_path / "script.py").write_text(script)
    with pytest.raises(AssertionError, match="the answers in it are safe"):
        run_script([tmp_path / "script.py"])
    kept = read_rows(path)
    assert 0 < len(kept) < len(read_rows(whole))
    assert run_study(study, path, workers=1).asked == len(read_rows(whole)) - len(kept)
    assert rows_without_timings(path) == rows_without_timings(whole)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A study with answers, of an agent that lies beside it."""
    path, searches = (
        tmp_path / "study.sqlite",
        {"mine": CFZoo(20, 31), "proof": Exact(start=Boundary()), "steps": ProjectedCW(5)},
    )
    run_study(make_study([saved_agent(tmp_path)], searches, CaseRule(1, 2, 1)), path, workers=1)
    return path


@pytest.fixture
def written_before(written: Path) -> Path:
    """The same study in a file of the version before, whose tables do not check types."""
    path = written.with_name("before.sqlite")
    source, target = sqlite3.connect(written), sqlite3.connect(path)
    target.executescript(TABLES_5)
    for table, values in (("about", "?, ?"), ("answer", ", ".join("?" * 11)), ("run", ", ".join("?" * 7))):
        rows = source.execute(f"SELECT * FROM {table}").fetchall()
        target.executemany(f"INSERT INTO {table} VALUES ({values})", [row[: values.count("?")] for row in rows])
    target.execute("UPDATE about SET value = '\"paretofoil/study/5\"' WHERE name = 'schema'")
    target.commit()
    source.close()
    target.close()
    return path


def test_a_file_of_the_version_before_is_read_and_not_continued(written: Path, written_before: Path) -> None:
    assert read_rows(written_before) == read_rows(written)
    assert read_runs(written_before) == read_runs(written)
    with pytest.raises(InvalidInput, match="of paretofoil/study/5, which can be read but not resumed"):
        resume_study(written_before)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answer SET queries = queries + 1",
        "UPDATE answer SET answer = replace(answer, '0', '1')",
        "UPDATE answer SET step = step + 10 WHERE rowid = 1",
    ],
)
def test_a_row_that_was_changed_is_an_error(written: Path, statement: str) -> None:
    execute(written, statement)
    for read in (read_rows, resume_study):
        with pytest.raises(InvalidInput, match=r"study.sqlite to be unchanged, got a changed row"):
            read(written)


def test_damaged_bytes_are_an_error_or_change_nothing(written: Path) -> None:
    """Pages and bytes are damaged at random: no reader returns other rows, or raises any other error."""
    rows, whole, configuration = read_rows(written), written.read_bytes(), read_about(written)["configuration"]
    random, refused = np.random.default_rng(0), 0

    def resume() -> None:
        with Store(written, configuration) as store:
            assert store.count() == len(rows)

    for number in range(60):
        damaged = np.frombuffer(whole, np.uint8).copy()
        page = slice(first := 4096 * int(random.integers(len(whole) // 4096)), first + 4096)
        if number % 3 == 0:
            damaged[page] = 255 - damaged[page] if number % 2 else 0
        else:
            places = random.integers(4096 if number % 3 == 1 else len(whole), size=20)
            damaged[places] = random.integers(256, size=20)
        written.write_bytes(damaged.tobytes())
        for read in (lambda: read_about(written), lambda: read_runs(written), resume):
            with suppress(InvalidInput, StoreError):
                read()
        try:
            assert read_rows(written) == rows
        except InvalidInput:
            refused += 1
    assert refused > 30


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def configure(path: Path, change: Callable[[Any], object]) -> None:
    """Change the configuration inside a file."""
    connection = sqlite3.connect(path)
    [(text,)] = connection.execute("SELECT value FROM about WHERE name = 'configuration'")
    values = json.loads(text)
    change(values)
    connection.execute("UPDATE about SET value = ? WHERE name = 'configuration'", (json.dumps(values),))
    connection.commit()
    connection.close()


def test_a_study_with_lists_among_its_settings_is_resumed_from_its_file(written: Path) -> None:
    execute(written, "DELETE FROM answer WHERE step = 1")
    assert resume_study(written, workers=1).asked == 3


COUNTLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE run", f"CREATE VIEW run AS {COUNTLESS}"],
        ["CREATE TRIGGER act AFTER INSERT ON run BEGIN DELETE FROM answer; END"],
        [f"CREATE VIEW more AS {COUNTLESS}"],
        ["ALTER TABLE answer ADD COLUMN more TEXT"],
        ["DROP TABLE run"],
    ],
)
def test_a_file_with_views_or_triggers_is_not_read(written: Path, statements: list[str]) -> None:
    execute(written, *statements)
    for read in (read_about, read_rows, read_runs, resume_study):
        with pytest.raises(InvalidInput, match="schema paretofoil/study/6, got a SQLite file of other tables"):
            read(written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("rule"), "with the field rule, got one without it"),
        (lambda c: c.update(rule=3), "an object at rule of the configuration of a study, got 3"),
        (lambda c: c["rule"].update(steps="all"), "a whole number or null at rule.steps"),
        (lambda c: c["rule"].update(box="large"), "one of paper, reachable at rule.box"),
        (lambda c: c.update(seed=-1), "a whole number of at least 0 at seed"),
        (lambda c: c.update(seed="0"), "a whole number at seed"),
        (lambda c: c.update(kappa="0.05"), "a number or null at kappa"),
        (lambda c: c.update(only=[["small", 0]]), r"a list of length 4 at only\[0\]"),
        (lambda c: c.update(only=[[0, 0, 0, 0]]), r"a text at only\[0\]\[0\]"),
        (lambda c: c.update(agents=["small"]), "an object at agents"),
        (lambda c: c.update(searches=[]), "an object at searches"),
        (lambda c: c["searches"].update(mine="CFZoo"), "an object at searches"),
    ],
)
def test_an_invalid_configuration_is_an_error_of_every_reader(
    written: Path, change: Callable[[Any], object], message: str
) -> None:
    configure(written, change)
    for read in (read_about, read_rows, read_runs, resume_study):
        with pytest.raises(InvalidInput, match=message):
            read(written)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["mine"].update(max_queries=10**12), "max_queries of at most 1,000,000, got 1000000000000"),
        (lambda s: s["mine"].update(directions=1e6), "a whole number .* directions, got 1000000.0"),
        (lambda s: s["mine"].update(eta="fast"), "a number .* eta, got 'fast'"),
        (lambda s: s["mine"].update(sampling="luck"), "one of mirror, reject .* sampling"),
        (lambda s: s["mine"].update(colour="red"), "settings of CFZoo among .*, got 'colour'"),
        (lambda s: s["mine"].update({"class": "Popen"}), "a registered search, got 'Popen'"),
        (lambda s: s["mine"].update({"class": ["CFZoo"]}), "a text .* the class of a search"),
        (lambda s: s["proof"].update(max_boxes=10**8), "max_boxes of at most 10,000,000"),
        (lambda s: s["proof"].update(start=3), "start to be a Search, got 3"),
        (lambda s: s["proof"]["start"].update(max_queries=10**12), "max_queries of at most 1,000,000"),
        (lambda s: s["steps"].update(constants=[1.0] * 1001), "constants of at most 1,000 values, got 1,001"),
        (lambda s: s["steps"].update(constants=["1"]), r"a number at \[0\] of constants"),
    ],
)
def test_an_invalid_search_in_a_file_is_an_error(written: Path, change: Callable[[Any], object], message: str) -> None:
    configure(written, lambda configuration: change(configuration["searches"]))
    with pytest.raises(InvalidInput, match=message):
        resume_study(written)


def test_resuming_without_sources_is_an_error(written: Path) -> None:
    execute(written, "DELETE FROM about WHERE name = 'sources'")
    with pytest.raises(InvalidInput, match=r"got \['small'\], which a program defined; call run_study"):
        resume_study(written)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("front", "'x'", "a whole number at case.front"),
        ("step", "-1", "a whole number of at least 0 at case.step"),
        ("closest_distance", "'near'", "a number or null at closest_distance"),
        ("closest_distance", "9e999", "a number of at most 1e.100 at closest_distance"),
        ("queries", "0.5", "a whole number at queries"),
        ("seconds", "'x'", "a number at seconds"),
        ("status", "'lost'", "one of found, .* at status"),
        ("agent", "x'00'", "a text at case.agent"),
        ("answer", "x'00'", "an answer in .*before.sqlite as JSON text"),
    ],
)
def test_a_row_of_wrong_types_is_an_error(written_before: Path, column: str, value: str, message: str) -> None:
    execute(written_before, f"UPDATE answer SET {column} = {value} WHERE rowid = 1")
    with pytest.raises(InvalidInput, match=f"expected {message}.*, got "):
        read_rows(written_before)


@pytest.mark.parametrize(
    ("column", "value"), [("total", "'x'"), ("seconds", "'x'"), ("machine", "'['"), ("machine", "'[]'"), ("engine", 3)]
)
def test_a_run_of_wrong_types_is_an_error(written_before: Path, column: str, value: Any) -> None:
    execute(written_before, f"UPDATE run SET {column} = {value if column != 'engine' else 'CAST(3 AS BLOB)'}")
    with pytest.raises(InvalidInput, match=f"expected .*{column} of a run of .*before.sqlite"):
        read_runs(written_before)


def test_an_invalid_answer_is_an_error_when_it_is_read(written_before: Path) -> None:
    execute(written_before, "UPDATE answer SET answer = '[NaN]'")
    with pytest.raises(InvalidInput, match="finite numbers"):
        read_rows(written_before)[0].full_answer()
    with pytest.raises(InvalidInput, match="finite numbers"):
        rows_table("study", read_rows(written_before), parsed=True)


CONFIGURATION = make_study([small_agent()], FAST).configuration()


def row(front: int, step: int, foil: int) -> Row:
    return Row(Case("a", front, step, foil), "s", "hash", Status.FOUND, 0.5, 10, "{}", 1.0)


def test_rows_are_read_by_front_then_step_then_foil(tmp_path: Path) -> None:
    places = [(1, 0, 0), (0, 1, 0), (0, 0, 2), (0, 0, 1), (0, 2, 1), (0, 10, 0)]
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        store.add([row(*place) for place in places], 0, 1.0)
    found = [(r.case.front, r.case.step, r.case.foil) for r in read_rows(tmp_path / "s.sqlite")]
    assert found == sorted(places)


def test_a_chunk_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        with pytest.raises(StoreError, match="each answer once"):
            store.add([row(0, 0, 1), row(0, 0, 2), row(0, 0, 1)], 0, 1.0)
        assert store.count() == 0
        store.add([row(0, 0, 2)], 0, 1.0)
    assert len(read_rows(tmp_path / "s.sqlite")) == 1


def test_a_run_counts_the_questions_of_all_chunks(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        run = store.begin_run("local", 1, 3, {})
        store.add([row(0, 0, 1), row(0, 0, 2)], run, 1.0)
        store.add([row(0, 0, 3)], run, 2.5)
    [told] = read_runs(tmp_path / "s.sqlite")
    assert (told.asked, told.seconds) == (3, 2.5)


def test_another_study_is_an_error_after_one_answer(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite", CONFIGURATION) as store:
        store.add([row(0, 0, 1)], 0, 1.0)
    with pytest.raises(InvalidInput, match="got seed = 1; choose a new file"):
        Store(tmp_path / "s.sqlite", {**CONFIGURATION, "seed": 1})
    Store(tmp_path / "s.sqlite", CONFIGURATION).close()


@pytest.mark.parametrize(("stored", "now"), [({"a": 1}, {}), ({}, {"a": 1}), ({"a": 1}, {"a": 2})])
def test_a_missing_key_is_a_difference(stored: dict[str, int], now: dict[str, int]) -> None:
    check_same(stored, dict(stored), "file")
    with pytest.raises(InvalidInput, match=r"the settings of the study in file \(a = "):
        check_same(stored, now, "file")


@pytest.mark.parametrize("side", ["low", "high"])
def test_the_fingerprint_includes_the_command_space(side: str) -> None:
    agent = small_agent()
    sides = {"low": agent.space.low, "high": agent.space.high, side: getattr(agent.space, side) + 0.5}
    other = replace(agent, space=CommandSpace(sides["low"], sides["high"], agent.space.objectives))
    assert fingerprint(other) != fingerprint(agent)


def test_answered_questions_are_not_asked_again(tmp_path: Path) -> None:
    study = small_study(tmp_path, FAST, CaseRule(commands=1, steps=2))
    first, again = (run_study(study, tmp_path / "s.sqlite", workers=1) for _ in range(2))
    assert first.asked == first.total > 0
    assert (again.asked, again.done) == (0, first.total)

"""Printing: brackets, long names, narrow terminals, pipes."""

import pytest

from paretofoil import envs
from paretofoil.agents import list_agents
from paretofoil.cli.console import print_rows, print_table, say
from paretofoil.study.table import Table

NAMES = ["[a]", "[bold]b[/]", "a\\", "[/]"]


def test_text_is_printed_unchanged(capsys):
    for name in NAMES:
        say((name, "bold"), ": ", name)
    assert capsys.readouterr().out.splitlines() == [f"{name}: {name}" for name in NAMES]


def test_cells_titles_and_columns_are_printed_unchanged(capsys):
    print_rows("[title]", ["[a]", "[b]"], [NAMES[:2], NAMES[2:]])
    shown = capsys.readouterr().out
    assert all(text in shown for text in ["[title]", "[b]", *NAMES])


def test_notes_of_tables_are_printed_unchanged(capsys):
    print_table(Table("t", ("a",), (("b",),), note="see [3]"))
    assert "see [3]\n" in capsys.readouterr().out


def test_piped_text_and_rows_are_one_line_each(capsys):
    say("word " * 100)
    print_rows("", ["a", "b"], [["word " * 60, "word " * 60 + "end"]])
    _, _, row = capsys.readouterr().out.splitlines()
    assert row.endswith("end")


@pytest.mark.parametrize("verb", ["agents", "envs"])
@pytest.mark.parametrize("width", [30, 80])
def test_names_are_whole_at_every_width(run, window, verb, width):
    window(width)
    shown = run(verb).out
    names = list_agents() if verb == "agents" else envs.names()
    assert all(any(line.startswith(name) for line in shown.splitlines()) for name in names)
    assert max(map(len, shown.splitlines())) <= width


def test_a_table_folds_between_words_and_long_paths_anywhere(capsys, window):
    window(50)
    path = "/a" * 30
    print_rows("", ["name", "where"], [["deep-sea-treasure", path]])
    shown = capsys.readouterr().out.splitlines()
    assert "".join(line[19:].strip() for line in shown[1:]) == path
    assert max(map(len, shown)) <= 50


def test_an_episode_fits_a_narrow_terminal(run, window):
    window(30)
    told = run("episode", "branch-path", "--command", "3,1", "--steps", "0", "--quiet").out
    assert "t: chosen: foils" in told
    assert max(map(len, told.splitlines())) <= 30

"""Output on terminals that know ASCII only, and names with characters that control a terminal."""

import os
import subprocess
import sys

import pytest

VERBS = [
    ["agents", "minecart"],
    ["envs"],
    ["never", "reward-line", "\u2013\udcff"],
    ["envs", "\x1b[31mred"],
    ["--help"],
]


def test_ascii_terminals_show_codes_in_place_of_other_characters(tmp_path):
    code = "import sys; from paretofoil.cli import main\n"
    code += f"for verb in {VERBS!r}:\n    sys.argv = ['paretofoil', *verb]\n"
    code += "    try: main()\n    except SystemExit: print('ended')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=tmp_path, env=environment)
    assert done.stdout.decode("ascii").count("ended") == len(VERBS), done.stderr
    assert "Traceback" not in done.stderr.decode("ascii")
    assert "got '\\u2013\\udcff'" in done.stderr.decode("ascii")


@pytest.mark.parametrize("option", ["--out", "--name", "--objectives"])
def test_an_empty_value_is_an_error(run, option):
    assert f"expected a value for {option}, got ''" in run("train", "branch-path", option, "", code=2).err


def test_names_of_new_agents_are_checked_before_the_training(run, tmp_path):
    for name, got in (("\x1b[31mred", "'\\x1b[31mred'"), ("../up", "'../up'"), ("..", "'..'")):
        told = run("train", "branch-path", "--name", name, "--quiet", code=2).err
        assert f"got {got}" in told
        assert "\x1b" not in told
    assert list(tmp_path.iterdir()) == []

"""Without torch, agents are trained, loaded, rolled out, explained and studied; what needs torch names the extra."""

import json
from functools import partial
from pathlib import Path

import pytest
from without import run_without

from paretofoil.agents import load_agent

run = partial(run_without, "torch")


def test_a_shipped_agent_is_loaded_rolled_out_explained_and_imported(tmp_path: Path) -> None:
    done = run(
        """
import json
import paretofoil as pf
agent = pf.load_agent("deep-sea-treasure")
episode = pf.rollout(agent, [8, -8])
answer = pf.explain(agent, decision=episode[5], foil="down")
pf.save_agent(agent, sys.argv[1])
print(json.dumps([len(episode), answer.found, str(pf.load_agent(sys.argv[1]))]))
""",
        str(tmp_path / "copy"),
    )
    assert done.returncode == 0, done.stderr
    length, found, agent = json.loads(done.stdout)
    assert (length, found) == (8, True)
    assert agent.startswith("<Agent 'deep-sea-treasure'")


def test_the_command_line_explains() -> None:
    code = "from paretofoil.cli import main\nmain()"
    done = run(code, "explain", "deep-sea-treasure", "--command", "8,-8", "--at", "5", "--foil", "down")
    assert done.returncode == 0, done.stderr
    assert "down" in done.stdout


def test_the_command_line_trains(tmp_path: Path) -> None:
    code = "from paretofoil.cli import main\nmain()"
    done = run(code, "train", "reward-line", "--steps", "300", "--out", str(tmp_path / "new"), "--quiet")
    assert done.returncode == 0, done.stderr
    assert load_agent(tmp_path / "new").front.size


@pytest.mark.parametrize(
    ("name", "extra"), [("from_torch", "torch"), ("from_q_module", "torch"), ("from_onnx", "onnx"), ("from_sb3", "sb3")]
)
def test_every_adapter_names_its_extra(name: str, extra: str) -> None:
    done = run(
        f"""
import paretofoil as pf
try:
    pf.{name}
except pf.InvalidInput as error:
    print(error)
"""
    )
    assert done.stdout.strip() == f'torch is not installed. Install it with: pip install "paretofoil[{extra}]"'

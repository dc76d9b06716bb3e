"""Without torch, shipped agents are loaded, rolled out, explained and studied; what needs torch names the extra."""

import json
from functools import partial
from pathlib import Path

import pytest
from without import run_without

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


def test_train_names_the_extra_without_a_traceback(tmp_path: Path) -> None:
    done = run("from paretofoil.cli import main\nmain()", "train", "reward-line", "--out", str(tmp_path / "new"))
    assert done.returncode == 2
    assert 'pip install "paretofoil[torch]"' in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "new").exists()


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


def test_training_names_the_extra() -> None:
    done = run(
        """
import paretofoil as pf
try:
    pf.train("reward-line")
except pf.InvalidInput as error:
    print(error)
"""
    )
    assert done.stdout.strip().endswith('pip install "paretofoil[torch]"')

"""Without MO-Gymnasium the catalogue is stepped, drawn and explained; what needs it names the extra."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from without import run_without

from paretofoil import envs
from paretofoil.envs.batch import TABLES, explore, tabulate

run = partial(run_without, "mo_gymnasium")
MAIN = "from paretofoil.cli import main\nmain()"
TABULATED = sorted(file.stem for file in TABLES.glob("*.npz"))


def test_the_tables_are_those_of_the_finite_environments_of_mo_gymnasium() -> None:
    entries = map(envs.entry, envs.names())
    assert sorted(e.name for e in entries if e.finite and e.gym_id.startswith("mo_gymnasium:")) == TABULATED


@pytest.mark.parametrize("name", TABULATED)
def test_a_stored_table_is_the_one_that_visiting_every_state_gives(name: str) -> None:
    stored, visited = tabulate(envs.entry(name)), explore(envs.entry(name))
    for column in ("observations", "masks", "final", "rare", "next_states", "rewards"):
        assert np.array_equal(getattr(stored, column), getattr(visited, column)), column
    for ours, theirs in zip(stored.states, visited.states, strict=True):
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_every_environment_is_stepped_and_drawn_and_every_agent_explained() -> None:
    done = run(
        """
import json
import numpy as np
import paretofoil as pf
from paretofoil import envs
from paretofoil.envs.pictures import picture_of
sizes = {}
for name in envs.names():
    if envs.entry(name).requires:  # Box2D or MuJoCo
        continue
    batch = envs.make_batch(name)
    actions, space = batch.reset(np.array([0])).masks.argmax(axis=1), batch.action_space
    batch.step(np.array([0]), actions if space is None else space.high[None] / 2)
    sizes[name] = picture_of(name, batch.snapshot(0)).shape
found = []
for name in ("deep-sea-treasure", "fruit-tree", "minecart"):
    agent = pf.load_agent(name)
    episode = pf.rollout(agent, agent.front[0])
    foil = next(a for a in episode[0].valid_actions if a != episode[0].action)
    found.append(pf.explain(agent, decision=episode[0], foil=foil).found)
agent = pf.load_agent("water-reservoir")
found.append(pf.explain(agent, pf.rollout(agent, agent.front[0])[0], "release + 1").found)
print(json.dumps([sizes, found, "mo_gymnasium" in sys.modules, "pygame" in sys.modules]))
"""
    )
    assert done.returncode == 0, done.stderr
    sizes, found, *imported = json.loads(done.stdout)
    assert list(sizes) == [name for name in envs.names() if not envs.entry(name).requires]
    assert len(found) == 4
    assert imported == [False, False]


def test_the_command_line_lists_draws_and_explains(tmp_path: Path) -> None:
    picture = tmp_path / "gathering.png"
    for arguments in (["agents"], ["envs"], ["envs", "resource-gathering", "--render", str(picture)]):
        done = run(MAIN, *arguments)
        assert done.returncode == 0, done.stderr
    assert picture.stat().st_size > 1000


@pytest.mark.parametrize("code", ["envs.make('minecart')", "envs.describe('mo_gymnasium:deep-sea-treasure-v0')"])
def test_a_single_environment_names_the_extra(code: str) -> None:
    done = run(f"from paretofoil import envs\ntry:\n    {code}\nexcept ValueError as error:\n    print(error)")
    expected = 'mo-gymnasium is not installed. Install it with: pip install "paretofoil[mo-gymnasium]"'
    assert done.stdout.strip() == expected, done.stderr


def test_an_id_of_mo_gymnasium_names_the_extra_without_a_traceback(tmp_path: Path) -> None:
    done = run(MAIN, "train", "four-room-v0", "--out", str(tmp_path / "new"))
    assert done.returncode == 2
    assert 'pip install "paretofoil[mo-gymnasium]"' in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr

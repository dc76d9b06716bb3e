"""Agents on disk: what is written reads back, and what does not fit is refused."""

import json
import os
import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from policies import random_pcn
from safetensors.numpy import load_file, save_file

from paretofoil import envs
from paretofoil.agents import Agent, load_agent, save_agent
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput


@pytest.fixture
def agent() -> Agent:
    entry = envs.entry("reward-line")
    policy = random_pcn(0, state_size=entry.observation_size, objectives=2, actions=4)
    front = np.array([[1.0, 0.0], [0.5, 0.5]])
    space = CommandSpace([0, 0], [1, 1], entry.objectives)
    return Agent("mine", policy, entry, space, front, front, np.zeros((2, 2)), {"seed": 3})


@pytest.fixture
def folder(agent: Agent, tmp_path: Path) -> Path:
    return save_agent(agent, tmp_path / "mine")


def test_an_agent_reads_back_as_it_was(agent: Agent, folder: Path) -> None:
    again = load_agent(folder)
    assert again.name == "mine"
    assert again.environment is agent.environment
    assert again.provenance == {"seed": 3}
    assert again.space.objectives == agent.space.objectives
    for key, array in agent.policy.arrays().items():  # type: ignore[attr-defined]
        assert np.array_equal(array, again.policy.arrays()[key])  # type: ignore[attr-defined]
    for key in ("front", "achieved", "error"):
        assert np.array_equal(getattr(agent, key), getattr(again, key))


def test_saving_twice_gives_the_same_bytes(agent: Agent, folder: Path, tmp_path: Path) -> None:
    twin = save_agent(agent, tmp_path / "twin")
    for file in ("agent.json", "weights.safetensors"):
        assert (folder / file).read_bytes() == (twin / file).read_bytes()


def test_objectives_of_an_older_file_read_back_without_limits(folder: Path) -> None:
    change_json(folder, objectives=[{"name": "A", "unit": "", "cost": False}, {"name": "B", "unit": "", "cost": True}])
    assert load_agent(folder).space.objectives == (Objective("A"), Objective("B", cost=True))


def change_json(folder: Path, **changes: object) -> None:
    path = folder / "agent.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def change_weights(folder: Path, **changes: np.ndarray) -> None:
    path = folder / "weights.safetensors"
    save_file({**load_file(path), **changes}, path)


def test_a_truncated_file_is_refused(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InvalidInput, match=r"weights\.safetensors to be a safetensors file"):
        load_agent(folder)


def test_a_corrupted_header_is_refused(folder: Path) -> None:
    path = folder / "weights.safetensors"
    path.write_bytes(b"\xff" * 8 + path.read_bytes()[8:])
    with pytest.raises(InvalidInput, match="safetensors"):
        load_agent(folder)


def test_a_pickle_is_refused_and_never_run(folder: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (marker,))

    (folder / "weights.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InvalidInput, match="safetensors"):
        load_agent(folder)
    assert not marker.exists()


def test_weights_that_are_not_numbers_are_refused(folder: Path) -> None:
    change_weights(folder, hidden_bias=np.full(32, np.nan, dtype=np.float32))
    with pytest.raises(InvalidInput, match="hidden_bias to be finite float32"):
        load_agent(folder)


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    change_weights(folder, hidden_weight=np.zeros((32, 31), dtype=np.float32))
    with pytest.raises(InvalidInput, match=r"hidden_weight of shape \(32, 32\), got \(32, 31\)"):
        load_agent(folder)


def test_weights_for_another_environment_are_refused(folder: Path) -> None:
    change_weights(folder, state_weight=np.zeros((32, 9), dtype=np.float32))
    with pytest.raises(InvalidInput, match="a network of"):
        load_agent(folder)


def test_weights_of_another_type_are_refused(folder: Path) -> None:
    change_weights(folder, hidden_bias=np.zeros(32, dtype=np.float64))
    with pytest.raises(InvalidInput, match="float32"):
        load_agent(folder)


def test_unknown_weights_are_refused(folder: Path) -> None:
    change_weights(folder, extra=np.zeros(3, dtype=np.float32))
    with pytest.raises(InvalidInput, match="arrays named state_weight"):
        load_agent(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schema": "paretofoil/agent/99"},
            "expected an agent of schema paretofoil/agent/1, got 'paretofoil/agent/99'",
        ),
        ({"front": [[1.0, float("inf")]]}, "expected finite numbers, got Infinity"),
        ({"achieved": [[1.0, 0.0]]}, r"achieved for each point of the front \(2\) with 2 finite numbers"),
        ({"command_box": {"low": [2, 0], "high": [1, 1]}}, "low <= high for every objective"),
        ({"command_box": {"low": [0, 0]}}, "an agent with the field command_box.high"),
        ({"actions": ["up", "down", "left", "jump"]}, "the actions"),
        ({"environment": {"name": "nowhere", "gym_id": "nowhere-v0", "kwargs": {}, "max_steps": 5}}, "nowhere"),
        ({"objectives": [{"name": "left"}]}, "2 different objective names"),
        ({"network": {}}, "an agent with the field network.state_size"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(folder: Path, changes: dict[str, object], message: str) -> None:
    change_json(folder, **changes)
    with pytest.raises(InvalidInput, match=message):
        load_agent(folder)


def test_a_description_that_is_not_json_is_refused(folder: Path) -> None:
    (folder / "agent.json").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(InvalidInput, match=r"agent\.json as JSON"):
        load_agent(folder)


def test_a_folder_without_an_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="an agent's file at"):
        load_agent(tmp_path)


def test_a_huge_file_is_refused_before_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil.agents.store.MAX_BYTES", 100)
    with pytest.raises(InvalidInput, match="of at most 100 bytes, got"):
        load_agent(folder)


def test_only_pcn_policies_can_be_stored(agent: Agent, tmp_path: Path) -> None:
    class Other:
        def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
            return np.zeros((len(states), 4))

    other = Agent("other", Other(), agent.environment, agent.space, agent.front)
    with pytest.raises(InvalidInput, match="expected an agent with a PCN policy, got Other") as error:
        save_agent(other, tmp_path / "other")
    assert "make the agent from it each time: pf.Agent(name, policy, environment, space, front)" in str(error.value)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ([1 << 40, 1 << 40], "F32", 8),
        ([0, 1 << 62], "F32", 0),
        ([1] * 70, "F32", 4),
        ([2], "BF16", 4),
        ([8], "F8_E4M3", 8),
        ([-1], "F32", 4),
        ([2], "C64", 16),
    ],
)
def test_weights_of_absurd_shapes_and_types_are_refused(folder: Path, shape: list[int], dtype: str, size: int) -> None:
    tensor = {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}
    header = json.dumps(dict.fromkeys(["hidden_bias"], tensor)).encode()
    (folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(InvalidInput, match=r"weights\.safetensors"):
        load_agent(folder)


@pytest.mark.parametrize("file", ["agent.json", "weights.safetensors"])
def test_a_device_or_a_pipe_is_not_waited_for(folder: Path, file: str) -> None:
    (folder / file).unlink()
    os.mkfifo(folder / file)
    with pytest.raises(InvalidInput, match="got a device or a pipe"):
        load_agent(folder)
    (folder / file).unlink()
    (folder / file).symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match="got a device or a pipe"):
        load_agent(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objectives": [{"name": n} for n in "ABCD"], "command_box": {"low": [0] * 4, "high": [1] * 4}}, "the 2 obj"),
        ({"front": [[1.0]]}, r"a front of points with 2 finite numbers"),
        ({"front": [[1.0, 0.0]] * 10_001}, "front of an agent"),
        ({"error": [[0.0, 0.0]]}, r"error for each point of the front \(2\) with 2 finite numbers"),
        ({"name": ["mine"]}, r"expected a text at name of an agent, got \['mine'\]"),
        ({"provenance": []}, r"expected an object at provenance of an agent, got \[\]"),
        ({"actions": "udlr"}, "expected a list at actions of an agent, got 'udlr'"),
    ],
)
def test_a_field_that_would_fail_later_is_refused_when_it_is_read(
    folder: Path, changes: dict[str, object], message: str
) -> None:
    change_json(folder, **changes)
    with pytest.raises(InvalidInput, match=message):
        load_agent(folder)


def bottles(**arguments: object) -> dict[str, object]:
    gym_id = "mo_gymnasium:breakable-bottles-v0"
    return {"environment": {"name": "bottles", "gym_id": gym_id, "kwargs": arguments, "max_steps": 5}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": "large"}, "breakable-bottles-v0 to be made with {'size': 'large'}, got TypeError"),
        ({"sizes": 3}, "got TypeError"),
        ({"size": 10**9}, "arguments from -1,000,000 to 1,000,000, got 1,000,000,000"),
        ({"render_mode": "human"}, "arguments of the environment's constructor only, got render_mode"),
        ({"max_episode_steps": 3}, "arguments of the environment's constructor only, got max_episode_steps"),
    ],
)
def test_arguments_that_an_environment_does_not_take_are_refused(
    folder: Path, arguments: dict[str, object], message: str
) -> None:
    change_json(folder, **bottles(**arguments))
    with pytest.raises(InvalidInput, match=message):
        load_agent(folder)


def test_what_could_not_be_read_back_is_not_written(agent: Agent, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expected a line of at most 10,000 printable characters at name"):
        save_agent(replace(agent, name="two\nlines"), tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_provenance_may_hold_whatever_json_can_hold(agent: Agent, tmp_path: Path) -> None:
    told = {"note": "two\nlines", "nested": {"list": [1, 0.5, None, True]}, "seed": 1 << 63}
    assert load_agent(save_agent(replace(agent, provenance=told), tmp_path / "told")).provenance == told


@pytest.mark.parametrize("name", ["a" * 5000, "nul\0", "~" * 300])
def test_a_name_that_no_folder_can_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="an agent's folder"):
        load_agent(name)

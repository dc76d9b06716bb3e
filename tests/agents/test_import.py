"""Networks that were trained elsewhere become agents, and nothing in their files is executed."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from checkpoints import (
    MORL,
    VALID,
    Network,
    ask_network,
    authors_file,
    authors_network,
    continuous_network,
    morl_file,
    morl_network,
    rewritten,
    save_as,
    with_pickle,
)
from torch import nn

import paretofoil as pf
from paretofoil import envs
from paretofoil.agents.checkpoint import MAX_LAYERS, read_checkpoint, read_pickle
from paretofoil.agents.import_agent import AUTHORS, _find_front
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import CallablePolicy
from paretofoil.envs.batch import tabulate

THEIRS = Path(os.environ.get("PARETOFOIL_AUTHORS", Path(__file__).parents[3] / "shared" / "authors"))
SEA, PATH = envs.entry("deep-sea-treasure"), envs.entry("branch-path")


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Put bytes or text into a file."""

    def write(content: bytes | str, name: str = "model.pt") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def as_theirs(entry: envs.CatalogueEntry, origin: str) -> np.ndarray:
    """(states, size): what others see in each state of an environment, computed from the state itself."""
    states = tabulate(entry).states
    if entry is SEA:
        cells = np.array([state["current_state"] for state in states])
        return np.eye(121)[11 * cells[:, 0] + cells[:, 1]] if origin == "authors" else cells
    if entry.name in ("three-tree", "walkroom-2"):
        return tabulate(entry).observations
    if entry.name == "resource-gathering":
        numbers = [
            (5 * s["current_pos"][0] + s["current_pos"][1]) * 4 + 2 * s["has_gold"] + s["has_gem"] for s in states
        ]
        return np.eye(100)[numbers]
    if entry.name == "breakable-bottles":
        lying = [[int(count > 0) for count in state["bottles_dropped"]] for state in states]
        counts = [(s["location"], s["bottles_carrying"], s["bottles_delivered"]) for s in states]
        numbers = [
            ((location * 3 + carried) * 3 + delivered) * 8 + 4 * a + 2 * b + c
            for (location, carried, delivered), (a, b, c) in zip(counts, lying, strict=True)
        ]
        return np.eye(360)[numbers]
    return np.array([[*state["cell"], *state["taken"]] for state in states], dtype=float)


CASES: dict[str, tuple[envs.CatalogueEntry, str, int, Callable[[int, int, int], Network], Callable[..., bytes]]] = {
    "DST": (SEA, "authors", 2, authors_network, authors_file),
    "DST with a horizon": (SEA, "authors", 3, authors_network, lambda n: authors_file(n, horizon=True)),
    "Branch-Path": (PATH, "authors", 2, authors_network, lambda n: authors_file(n, "WalkroomModel")),
    "R-Gather": (envs.entry("resource-gathering"), "authors", 3, authors_network, authors_file),
    "Bottles": (envs.entry("breakable-bottles"), "authors", 3, authors_network, authors_file),
    "Three-Tree": (envs.entry("three-tree"), "authors", 3, authors_network, authors_file),
    "WalkRoom": (envs.entry("walkroom-2"), "authors", 2, authors_network, lambda n: authors_file(n, "WalkroomModel")),
    "MORL-Baselines": (SEA, "morl", 3, morl_network, morl_file),
    "MORL-Baselines elsewhere": (PATH, "morl", 3, morl_network, morl_file),
}


@pytest.mark.parametrize("case", CASES)
def test_an_imported_network_answers_as_it_did_in_every_state(case: str, put: Callable[..., Path]) -> None:
    entry, origin, commands, make, write = CASES[case]
    theirs = as_theirs(entry, origin)
    network = make(theirs.shape[1], commands, len(entry.actions))
    front = ",".join(["1"] * commands)
    agent = pf.import_agent(put(write(network)), entry, front=put(front, "front.txt"))
    asked = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, (len(theirs), commands))
    expected = ask_network(network, theirs, asked)
    order = (AUTHORS[entry.name].actions if origin == "authors" else None) or entry.actions
    given = agent.policy.log_probs(tabulate(entry).observations, asked)
    np.testing.assert_allclose(given, expected[:, [order.index(action) for action in agent.actions]], atol=1e-4)
    assert np.ptp(given, axis=0).min() > 0.05, "a network to which states and commands matter"
    assert agent.horizon == (commands > len(entry.objectives))


def test_a_network_with_more_hidden_layers_is_imported_whole(put: Callable[..., Path]) -> None:
    network = authors_network(7, 3, 6, more=1)
    file = put(authors_file(network, "MinecartModel"))
    agent = pf.import_agent(file, "minecart", front=put("0.5,0.5,-10", "front.txt"))
    states, commands = np.random.default_rng(0).normal(size=(50, 7)), np.random.default_rng(1).uniform(size=(50, 3))
    np.testing.assert_allclose(
        agent.policy.log_probs(states, commands), ask_network(network, states, commands), atol=1e-4
    )


@pytest.fixture
def sea(put: Callable[..., Path]) -> pf.Agent:
    """An untrained network of the authors' form in Deep Sea Treasure, with a horizon."""
    file = put(authors_file(authors_network(121, 3, 4), horizon=True))
    return pf.import_agent(file, SEA, front=put("1,-1,1\n124,-19,19", "front.txt"), name="theirs")


def test_an_imported_agent_is_saved_and_read_back_as_it_was(sea: pf.Agent, tmp_path: Path) -> None:
    again = pf.load_agent(pf.save_agent(sea, tmp_path / "saved"))
    assert repr(again) == repr(sea)
    assert again.provenance == sea.provenance
    states, commands = tabulate(SEA).observations, np.full((len(tabulate(SEA).observations), 3), [8.0, -8.0, 8.0])
    assert np.array_equal(again.policy.log_probs(states, commands), sea.policy.log_probs(states, commands))
    stored = json.loads((tmp_path / "saved" / "agent.json").read_text())
    assert stored["command_box"]["origin"] == "the range of its training"


def test_an_imported_agent_says_where_it_comes_from(sea: pf.Agent, tmp_path: Path) -> None:
    assert sea.provenance["imported"] == "a PCN of the authors"
    assert sea.provenance["sha256"] == hashlib.sha256((tmp_path / "model.pt").read_bytes()).hexdigest()
    assert sea.space.names == ["treasure", "time", "horizon"]
    assert sea.space.low.tolist() == [0, -200, 1]
    assert sea.space.high.tolist() == [124, -1, SEA.max_steps]


@pytest.mark.parametrize("kept", [["horizon"], ["treasure", "time"], []], ids=["fixed", "alone", "together"])
def test_the_horizon_is_explained_fixed_alone_or_together(sea: pf.Agent, kept: list[str]) -> None:
    decision = pf.rollout(sea, [8, -8, 8])[0]
    answers = pf.explain_decision(sea, decision, search="exact", options=pf.Options(keep=kept))
    for answer in answers:
        assert answer.proof is not None
        assert answer.proof.status != "gap"
        if answer.command is not None:
            fixed = [sea.space.index(name) for name in kept]
            assert np.array_equal(answer.command[fixed], decision.command[fixed])
            scores = sea.policy.log_probs(decision.state[None], answer.command[None])[0]
            assert scores[list(decision.valid_actions)].max() == scores[answer.question.foil]


def steadfast(commands: int, **wishes: float) -> Network:
    """A network of the authors' that wants the same moves in any state, whatever it is told."""
    network = authors_network(121, commands, 4)
    network.fc[2].weight.data.zero_()
    network.fc[2].bias.data = torch.tensor([wishes.get(move, 0.0) for move in ("up", "right", "down", "left")])
    return network


def test_without_a_file_the_front_is_what_the_network_reaches_of_the_environments_own(put: Callable[..., Path]) -> None:
    for commands in (2, 3):
        file = put(authors_file(steadfast(commands, down=5.0), horizon=commands == 3))
        agent = pf.import_agent(file, SEA)
        assert agent.front.tolist() == [[1, -1, 1][:commands]], "the first treasure lies below the start"
        assert agent.reached().all()
    to_and_fro = put(authors_file(steadfast(2, right=5.0, left=4.0)))
    with pytest.raises(InvalidInput, match="or the file of a front, got one that reaches none of 10"):
        pf.import_agent(to_and_fro, SEA)
    with pytest.raises(InvalidInput, match="because minecart has no known front"):
        pf.import_agent(put(authors_file(authors_network(7, 3, 6, more=1), "MinecartModel")), "minecart")


def test_a_command_without_a_horizon_gets_the_one_that_its_episode_uses_up(sea: pf.Agent) -> None:
    def right_then_down(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        first = (states == tabulate(SEA).observations[0]).all(axis=1)
        return np.where(first[:, None], [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0])  # up, down, left, right

    found = _find_front(SEA, CallablePolicy(right_then_down), sea.space)
    assert found.commands.tolist() == [[2, -3, 3]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", r"front\.txt with 1 to 10,000 commands, got 0"),
        ("# nothing\n", "got 0"),
        ("1,-1", r"3 finite numbers per row, .* \(treasure, time, horizon\), or with 5: a command .*, got '1,-1'"),
        ("1,-1,1\n1,-1,1,1,-1", "3 finite numbers per row, .*, got the number of columns changed from 3 to 5 at row 2"),
        ("1,-1,one", "separated by commas .*, got could not convert string 'one' to float64 at row 0, column 3"),
        ("1,-1,nan", "finite numbers .*, got '1,-1,nan'"),
        ("1,-1,1\n" * 10_001, "got 10001"),
    ],
)
def test_a_front_that_does_not_fit_is_refused(sea: pf.Agent, put: Callable[..., Path], rows: str, message: str) -> None:
    file = put(authors_file(authors_network(121, 3, 4), horizon=True))
    with pytest.raises(InvalidInput, match=message):
        pf.import_agent(file, SEA, front=put(rows, "front.txt"))


def test_ranges_take_the_place_of_what_is_known_and_of_what_is_not(put: Callable[..., Path], sea: pf.Agent) -> None:
    file, front = put(authors_file(authors_network(121, 3, 4), horizon=True)), put("1,-1,1", "front.txt")
    agent = pf.import_agent(file, SEA, front=front, ranges={"time": (-40.0, -1.0), "horizon": (1.0, 40.0)})
    assert (agent.space.low.tolist(), agent.space.high.tolist()) == ([0, -40, 1], [124, -1, 40])
    assert agent.provenance["command_box"] == "the range of its training; time, horizon as given"
    with pytest.raises(InvalidInput, match="expected ranges of objectives among treasure, time, horizon, got 'fuel'"):
        pf.import_agent(file, SEA, front=front, ranges={"fuel": (0.0, 1.0)})
    for odd in (("low", "high"), (0.0, np.nan), (0.0,), 1.0, (1j, 2.0)):
        with pytest.raises(InvalidInput, match="expected the range of time to"):
            pf.import_agent(file, SEA, front=front, ranges={"time": odd})  # type: ignore[dict-item]
    own = envs.describe("mo_gymnasium:deep-sea-treasure-v0", max_steps=30)
    raw = put(morl_file(morl_network(2, 3, 4)))
    with pytest.raises(InvalidInput, match=r"a finite range for objective 0, objective 1: ranges=..., or front=..."):
        pf.import_agent(raw, own, front=front)
    ranges = {"objective 0": (0.0, 24.0), "objective 1": (-30.0, -1.0)}
    assert pf.import_agent(raw, own, front=front, ranges=ranges).space.high.tolist() == [24, -1, 30]


def sized(states: int = 121, commands: int = 2, actions: int = 4) -> Callable[[], bytes]:
    return lambda: authors_file(authors_network(states, commands, actions))


def embedded_by(*parts: nn.Module) -> Callable[[], bytes]:
    """A network whose states go through these parts."""

    def make() -> bytes:
        network = authors_network(121, 2, 4)
        network.s_emb = nn.Sequential(*parts)
        return authors_file(network)

    return make


def transposed() -> bytes:
    network = authors_network(121, 2, 4)
    network.s_emb[0].weight = nn.Parameter(torch.randn(121, 24).t())
    return authors_file(network)


def four_room() -> bytes:
    return authors_file(authors_network(121, 2, 4), "FourRoomModel")


def no_network() -> bytes:
    written = io.BytesIO()
    torch.save(nn.Linear(2, 2), written)
    return written.getvalue()


MALFORMED: dict[str, tuple[Callable[[], bytes], str]] = {
    "another environment": (sized(states=10), "network with 121 state inputs, .* got 10 state inputs"),
    "too few actions": (sized(actions=3), "the 4 actions of deep-sea-treasure, got 1 hidden layers and 3 actions"),
    "too many objectives": (sized(commands=4), "with or without a horizon, got 4 numbers"),
    "another class": (four_room, "supported classes and functions only, got 'pcn.env_setup FourRoomModel'"),
    "not a network": (no_network, "got a torch module or its weights; load it and use pf.from_torch"),
    "another activation": (
        embedded_by(nn.Linear(121, 24), nn.Tanh()),
        "classes and functions only, got '.*Tanh'",
    ),
    "no activation": (embedded_by(nn.Linear(121, 24), nn.Linear(24, 24)), "Linear, Sigmoid, got Linear, Linear"),
    "no bias": (embedded_by(nn.Linear(121, 24, bias=False), nn.Sigmoid()), "s_emb bias to be a tensor, got None"),
    "too many layers": (embedded_by(*[nn.ReLU()] * (MAX_LAYERS + 1)), "a Sequential of 2 to 16 parts"),
    "a transposed weight": (transposed, "s_emb weight to be a contiguous tensor"),
    "widths that do not fit": (embedded_by(nn.Linear(121, 20), nn.Sigmoid()), "command_weight of shape"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_no_known_network_is_refused_with_a_sentence(name: str, put: Callable[..., Path]) -> None:
    make, message = MALFORMED[name]
    with pytest.raises(InvalidInput, match=message) as refused:
        pf.import_agent(put(make()), SEA, front=put("1,-1", "front.txt"))
    assert str(refused.value).count("\n") == 0
    assert "model.pt: expected" in str(refused.value)


def changed(name: str, content: bytes | None) -> bytes:
    return rewritten(VALID, lambda inner, old: content if inner == name else old)


BROKEN: dict[str, tuple[bytes, str]] = {
    "no archive": (b"weights", "an archive of torch.save, got 7 bytes of another format"),
    "half an archive": (VALID[: len(VALID) // 2], "an archive"),
    "no pickle": (changed("data.pkl", None), "an archive of torch.save with one data.pkl"),
    "no numbers": (changed("data/0", None), "expected data/0 in the archive, got an archive without it"),
    "too few numbers": (changed("data/0", b"\0" * 8), "numbers for s_emb weight, got 2"),
    "other bytes": (changed("byteorder", b"big"), "little-endian numbers, got byte order b'big'"),
    "compressed": (rewritten(VALID, lambda _, old: old, zipfile.ZIP_DEFLATED), "got a compressed file"),
    "an empty pickle": (changed("data.pkl", b""), "a complete pickle, got a damaged pickle"),
    "half a pickle": (rewritten(VALID, lambda name, old: old[: 3000 if name == "data.pkl" else None]), "pickle"),
    "a large pickle": (changed("data.pkl", b"N" * (1 << 19)), "a pickle of at most 262144 bytes"),
    "not finite": (changed("data/1", np.full(24, np.nan, "<f4").tobytes()), "to be finite float32 numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_checkpoint_is_refused_with_a_sentence(name: str, put: Callable[..., Path]) -> None:
    content, message = BROKEN[name]
    with pytest.raises(InvalidInput, match=message):
        pf.import_agent(put(content), SEA, front=put("1,-1", "front.txt"))


def test_double_precision_is_read_as_single(put: Callable[..., Path]) -> None:
    single, double = (
        read_checkpoint(put(authors_file(network)))
        for network in (authors_network(5, 2, 3), authors_network(5, 2, 3).double())
    )
    for ours, theirs in zip(single.state, double.state, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


PROGRAMS: dict[str, bytes] = {
    "a call of what is no name": b"\x80\x02K\x01)R.",
    "a call without a tuple": b"\x80\x02ccollections\nOrderedDict\n]R.",
    "a tuple from nothing": b"\x80\x02\x86.",
    "items without a mark": b"\x80\x02}u.",
    "a key that is a tuple": b"\x80\x02})Ns.",
    "a memory that is empty": b"\x80\x02h\x05.",
    "a state for a number": b"\x80\x02K\x01}b.",
    "an extension": b"\x80\x02\x82\x01.",
    "a later protocol": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "no end": b"\x80\x02N",
    "a backslash in a name": b"\x80\x02co\\h\nsystem\n.",
    "items for a list": b"\x80\x02](X\x01\x00\x00\x00aNu.",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_that_makes_no_sense_is_refused(program: str) -> None:
    with pytest.raises(InvalidInput, match=r"expected a (complete pickle|checkpoint)"):
        read_pickle(PROGRAMS[program], {"collections OrderedDict"})


def test_deep_nesting_is_only_written_down(put: Callable[..., Path]) -> None:
    deep = b"\x80\x02)" + b"\x85" * 200_000 + b"."
    assert isinstance(read_pickle(deep, ()), tuple)
    with pytest.raises(InvalidInput, match="a network of a class among"):
        read_checkpoint(put(with_pickle(VALID, deep)))


absent = pytest.mark.skipif(not THEIRS.is_dir(), reason="the authors' checkpoints are GPLv3, and not shipped")


@absent
@pytest.mark.parametrize(
    ("name", "environment"),
    [("dst_R", "deep-sea-treasure"), ("dst_RH", "deep-sea-treasure"), ("branch-path_R", "branch-path")],
)
def test_the_authors_agents_reach_the_returns_that_they_state(name: str, environment: str, tmp_path: Path) -> None:
    file = THEIRS / f"{name}_achievable_within_1pct.txt"
    agent: Any = pf.import_agent(THEIRS / f"{name}.pt", environment, front=file)
    rows = [[float(n) for n in line.split(",")] for line in file.read_text().splitlines() if not line.startswith("#")]
    size = len(agent.environment.objectives)
    assert agent.achieved.tolist() == [row[-size:] for row in rows]
    assert agent.provenance["returns as stated"] == f"{len(rows)} of {len(rows)}"
    assert f"checkpoint_sha256: {agent.provenance['sha256']}" in file.read_text()
    found = pf.import_agent(THEIRS / f"{name}.pt", environment)
    assert found.front.tolist() == agent.front.tolist(), "also without being told"
    again = pf.load_agent(pf.save_agent(agent, tmp_path / name))
    assert pf.rollout(again, agent.front[-1]).achieved.tolist() == rows[-1][-size:]


def _saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


OTHER_KINDS = {
    "Envelope": (lambda: _saved({"q_net_state_dict": nn.Linear(1, 1).state_dict()}), "pass its q_net to pf.from_q_mod"),
    "GPI-LS": (lambda: _saved({"psi_net_0_state_dict": nn.Linear(1, 1).state_dict(), "M": []}), "use pf.from_q_table"),
    "CAPQL": (lambda: _saved({"policy_state_dict": {}, "q_net_0_state_dict": {}}), "use pf.from_morl"),
    "weights": (
        lambda: _saved(nn.Linear(1, 1).state_dict()),
        "a torch module or its weights; load it and use pf.from_",
    ),
}


@pytest.mark.parametrize(("make", "advice"), OTHER_KINDS.values(), ids=OTHER_KINDS)
def test_a_file_of_another_kind_is_named_with_what_to_do(put: Any, make: Callable[[], bytes], advice: str) -> None:
    with pytest.raises(
        InvalidInput, match=rf"model.pt: expected a PCN of MORL-Baselines or of the authors, got .*{advice}"
    ):
        pf.import_agent(put(make()), SEA)


def test_a_pcn_with_continuous_actions_is_imported_with_its_amounts(put: Callable[..., Path]) -> None:
    network = continuous_network(1, 3, 1)
    saved = save_as(network, MORL, "ContinuousActionsDefaultModel")
    front = put("-36,-78,12\n-10,-90,12\n", "front.txt")
    agent = pf.import_agent(put(saved, "water.pt"), "water-reservoir", front=front)
    assert agent.actor is not None
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, size=(200, 3)).astype(np.float32)
    states = np.linspace(0.0, 140.0, 200, dtype=np.float32)[:, None]
    with torch.no_grad():
        expected = network(torch.from_numpy(states), torch.from_numpy(commands)).numpy()
    assert np.allclose(agent.actor.amounts(states, commands), expected, atol=1e-4)
    assert pf.rollout(agent, [-36, -78, 12])[3].command[-1] == 9  # the horizon counts down
    with pytest.raises(InvalidInput, match="an environment with continuous actions"):
        pf.import_agent(put(saved, "water.pt"), "deep-sea-treasure")
    with pytest.raises(InvalidInput, match="an environment with discrete actions"):
        pf.import_agent(put(morl_file(morl_network(1, 3, 1)), "sea.pt"), "water-reservoir", front=front)


class MorlActor(nn.Module):
    """An actor as CAPQL has: two outputs, of which the second is the logarithm of a deviation."""

    def __init__(self) -> None:
        super().__init__()
        self.latent_pi = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.mean, self.log_std_linear = nn.Linear(8, 2), nn.Linear(8, 2)
        self.register_buffer("action_scale", torch.tensor([1.0, 50.0]))
        self.register_buffer("action_bias", torch.tensor([0.0, 50.0]))

    def forward(self, states: Any, weights: Any) -> Any:
        hidden = self.latent_pi(torch.cat([states, weights], dim=1))
        return torch.tanh(self.mean(hidden)) * self.action_scale + self.action_bias


def saved_actor(actor: nn.Module, **others: Any) -> bytes:
    optimizer = torch.optim.Adam(actor.parameters())
    actor(torch.ones(1, 2), torch.ones(1, 2)).sum().backward()
    optimizer.step()
    values = {"policy_state_dict": actor.state_dict(), "policy_optimizer_state_dict": optimizer.state_dict()}
    return _saved(values | {"M": [torch.tensor([1.0, 0.0])]} | others)


def test_an_actor_of_morl_baselines_is_read_from_its_file_with_its_ranges(put: Callable[..., Path]) -> None:
    torch.manual_seed(0)
    actor = MorlActor()
    file = put(saved_actor(actor))
    policy = pf.from_morl(file, ["speed", "energy"], ["turn", "thrust"])
    assert (policy.actions.low.tolist(), policy.actions.high.tolist()) == ([-1.0, 0.0], [1.0, 100.0])
    weights = np.random.default_rng(0).dirichlet([1, 1], size=50).astype(np.float32)
    states = np.linspace(-1, 1, 100, dtype=np.float32).reshape(50, 2)
    with torch.no_grad():
        expected = actor(torch.from_numpy(states), torch.from_numpy(weights)).numpy()
    assert np.allclose(policy.amounts(states, weights), expected, atol=1e-5)
    answer = pf.explain(policy, state=states[0], command=[0.5, 0.5], foil=pf.more("thrust", 0.5))
    assert answer.status.value.startswith("proven")
    assert pf.from_morl(file, ["speed", "energy"]).actions.names == ("action 0", "action 1")


@pytest.mark.parametrize(
    ("content", "objectives", "message"),
    [
        (lambda: saved_actor(MorlActor()), 4, "got 4 objectives and 4 inputs"),
        (lambda: saved_actor(MorlActor(), replay_buffer=Path()), 2, "save_replay_buffer=False"),
        (lambda: _saved({"policy_state_dict": nn.Linear(1, 1).state_dict()}), 2, "layers of an actor"),
        (lambda: _saved({"q_net_state_dict": nn.Linear(1, 1).state_dict()}), 2, "got Envelope of MORL-Baselines"),
    ],
)
def test_a_file_without_a_known_actor_is_refused(put: Any, content: Any, objectives: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pf.from_morl(put(content()), [f"objective {i}" for i in range(objectives)])

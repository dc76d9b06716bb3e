"""Any torch module is a policy; where its operations are understood, its answers can be proven."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tiers import long_except
from torch import Tensor, nn
from torch.distributions import Categorical
from torch.nn import functional as F  # noqa: N812

import paretofoil as pf
from paretofoil.agents.torch_policy import TorchPolicy, WhiteBoxTorchPolicy
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import Policy, WhiteBoxPolicy
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.proof.networks import question_network
from paretofoil.search.exact import Exact
from paretofoil.search.registry import choose_search

STATE_SIZE, HIDDEN, ACTIONS = 5, 12, 3
SPACE = pf.CommandSpace([0.0, -20.0], [10.0, 0.0], ["treasure", "time"])
STATE = np.random.default_rng(0).normal(size=STATE_SIZE)


class Module(nn.Module):
    """A module whose forward is a function of it, the states and the commands, which it brings to unit size."""

    def __init__(self, forward: Callable[..., Any], seed: int = 0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.state, self.command = nn.Linear(STATE_SIZE, HIDDEN), nn.Linear(2, HIDDEN)
            self.both, self.one = nn.Linear(STATE_SIZE + 2, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
            self.two, self.output = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, ACTIONS)
            self.value, self.scale = nn.Linear(HIDDEN, 1), nn.Linear(STATE_SIZE, HIDDEN)
            self.norm, self.bilinear = nn.LayerNorm(HIDDEN), nn.Bilinear(STATE_SIZE, 2, HIDDEN)
            self.dropout, self.prelu = nn.Dropout(0.5), nn.PReLU(HIDDEN, 0.3)
            self.attention = nn.MultiheadAttention(HIDDEN, 2, batch_first=True)
            self.batch_norm = nn.BatchNorm1d(HIDDEN)
            self.group_norm, self.rms_norm = nn.GroupNorm(3, HIDDEN), nn.RMSNorm(HIDDEN)
            self.lstm_cell, self.gru_cell = nn.LSTMCell(HIDDEN, HIDDEN), nn.GRUCell(HIDDEN, HIDDEN)
            self.rnn_cell, self.embedding = nn.RNNCell(HIDDEN, HIDDEN), nn.Embedding(5, HIDDEN)
            self.lstm = nn.LSTM(HIDDEN, HIDDEN, num_layers=2, batch_first=True)
            self.gru = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
            self.both_ways = nn.GRU(HIDDEN, HIDDEN // 2, batch_first=True, bidirectional=True)
            self.encoder = nn.TransformerEncoderLayer(
                HIDDEN, 2, 24, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            for layer in (self.command, self.both, self.output, self.one, self.two):
                layer.weight.data *= 3.0
            for buffer in (self.batch_norm.running_mean, self.batch_norm.running_var):
                buffer.uniform_(0.5, 2.0)  # type: ignore[union-attr]
        self.function = forward
        self.eval()

    def forward(self, *inputs: Any) -> Any:
        if len(inputs) == 1:
            return self.function(self, *inputs)
        return self.function(self, inputs[0], inputs[1] / torch.tensor([5.0, 10.0]) - torch.tensor([1.0, -1.0]))


def pcn(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = torch.sigmoid(m.state(s)) * torch.sigmoid(m.command(c))
    return F.log_softmax(m.output(torch.relu(m.one(hidden))), dim=1)


def upside_down(m: Any, x: Tensor) -> Tensor:
    return m.output(torch.relu(m.one(torch.relu(m.both(x)))))


def film(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.scale(s) * torch.tanh(m.command(c)) + m.state(s)
    return m.output(m.one(m.dropout(hidden)).relu())


def residual(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.both(torch.cat([s, c], dim=-1))
    hidden = hidden + F.relu(m.one(hidden))
    return m.output(hidden + F.relu(m.two(hidden)))


def dueling_q_values(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = torch.relu(m.both(torch.cat([s, c], dim=1)))
    advantage = m.output(hidden)
    return 40.0 * (m.value(hidden) + advantage - advantage.mean(dim=1, keepdim=True))


def leaky(m: Any, s: Tensor, c: Tensor) -> Tensor:
    return m.output(F.leaky_relu(m.one(F.leaky_relu(m.state(s) + m.command(c))), 0.2))


def swish(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.state(s) + m.command(c)
    return m.output(F.silu(m.one(hidden * torch.sigmoid(hidden))))


def exponential_units(m: Any, s: Tensor, c: Tensor) -> Tensor:
    return m.output(F.elu(m.one(F.elu(m.state(s) + m.command(c)))))


def named(m: Any, given: dict[str, Tensor]) -> Tensor:
    hidden = torch.relu(m.state(given["observation"]) + m.command(given["goal"] / 10.0))
    return m.output(hidden)


NAMES = {"observation": "state", "goal": "command"}
COMMON: dict[str, tuple[Callable[..., Any], Any, str]] = {
    "PCN": (pcn, "separate", "log-probabilities"),
    "upside-down RL": (upside_down, "concatenated", "logits"),
    "FiLM": (film, "separate", "logits"),
    "residual": (residual, "separate", "logits"),
    "Q-values": (dueling_q_values, "separate", "logits"),
    "LeakyReLU": (leaky, "separate", "logits"),
    "dict": (named, NAMES, "logits"),
    "SiLU": (swish, "separate", "logits"),
    "ELU": (exponential_units, "separate", "logits"),
}


def common(name: str) -> tuple[Module, TorchPolicy]:
    forward, inputs, _ = COMMON[name]
    module = Module(forward)
    return module, pf.from_torch(module, STATE, SPACE, inputs=inputs)


def random_commands(count: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).uniform(SPACE.low, SPACE.high, size=(count, 2))


def margins(scores: np.ndarray) -> np.ndarray:
    return scores - scores[:, :1]


def assert_fold_agrees(policy: TorchPolicy, state: np.ndarray, share: float = 1e-5) -> None:
    """Also well outside the box: what is carried through a layer is carried everywhere."""
    assert isinstance(policy, WhiteBoxTorchPolicy), policy.why_not
    commands = np.concatenate([random_commands(500), 3.0 * random_commands(500, 8) + [-15.0, 20.0]])
    exact = margins(policy.fold(state).logits(commands))
    given = margins(policy.log_probs(np.repeat(state[None], len(commands), axis=0), commands))
    assert np.ptp(exact) > 0.5, "a network whose commands matter"
    np.testing.assert_allclose(exact, given, atol=share * max(1.0, np.ptp(exact)))


def question(policy: Policy, foil_rank: int = 1, seed: int = 7) -> Question:
    command = random_commands(1, seed)[0]
    ranked = np.argsort(-policy.log_probs(STATE[None], command[None])[0])
    return Question(policy, STATE, command, int(ranked[foil_rank]), tuple(range(ACTIONS)), SPACE)


@pytest.mark.parametrize("name", COMMON)
def test_the_fold_of_a_common_form_agrees_with_the_module_in_any_state(name: str) -> None:
    _, policy = common(name)
    assert policy.why_not is None
    assert policy.outputs == COMMON[name][2]
    assert isinstance(policy, WhiteBoxPolicy)
    for state in (STATE, np.random.default_rng(3).normal(size=STATE_SIZE)):
        assert_fold_agrees(policy, state)


@pytest.mark.parametrize("name", long_except(COMMON, ("PCN", "LeakyReLU", "SiLU", "Q-values")))
def test_exact_answers_about_a_common_form_are_proven_and_hold(name: str) -> None:
    _, policy = common(name)
    for rank in (1, 2):
        asked = question(policy, rank)
        answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=SPACE, search=Exact())
        assert answer.proof is not None
        assert answer.proof.status != "gap"
        assert pf.verify_certificate(asked, answer.proof, samples=20_000, rebound=True).holds


def test_the_answers_of_a_torch_pcn_are_those_of_the_same_network_in_numpy() -> None:
    module, policy = common("PCN")
    scale, shift = np.array([5.0, 10.0]), np.array([1.0, -1.0])
    weight = module.command.weight.detach().double().numpy() / scale
    sizes = [part.shape for part in policy.fold(STATE).layers.weights]  # type: ignore[attr-defined]
    assert sizes == [(HIDDEN, 2), (HIDDEN, HIDDEN), (ACTIONS, HIDDEN)]
    np.testing.assert_allclose(policy.fold(STATE).layers.weights[0], weight, rtol=1e-6)  # type: ignore[attr-defined]
    bias = module.command.bias.detach().double().numpy() - (weight * scale) @ shift
    np.testing.assert_allclose(policy.fold(STATE).layers.biases[0], bias, rtol=1e-6, atol=1e-6)  # type: ignore[attr-defined]


def after(activation: Callable[[Any, Tensor], Any]) -> Callable[..., Any]:
    """The command branch goes through an activation, a layer and a ReLU."""
    return lambda m, s, c: m.output(torch.relu(m.one(activation(m, m.command(c) + m.state(s)))))


def written_in_place(m: Any, x: Tensor) -> Tensor:
    """The residual sees what the ReLU wrote."""
    hidden = nn.ReLU(inplace=True)(x)
    hidden += 1.0
    return x * 2.0 + m.two(hidden)


def reshaped(m: Any, x: Tensor) -> Tensor:
    first, second = x.view(x.shape[0], 2, -1).transpose(1, 2).chunk(2, dim=-1)
    together = torch.stack([first.squeeze(-1), 2.0 * second[..., 0]], dim=1)
    return torch.flatten(together, 1)[:, [*range(1, HIDDEN), 0]].float().contiguous()


def sigmoid_after_and_beside_tanh(m: Any, x: Tensor) -> Tensor:
    return torch.cat([torch.sigmoid(x[:, :6]), torch.tanh(x[:, 6:])], dim=1)


def control_flow(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.command(c)
    for _ in range(2 if s.sum() > 0 else 1):
        hidden = hidden.relu()
        hidden = m.one(hidden)
    return m.output(hidden)


def late_sigmoid(m: Any, s: Tensor, c: Tensor) -> Tensor:
    """A short branch meets a long one in a layer of sigmoids: what it needs is carried to there."""
    long = torch.sigmoid(m.one(torch.relu(m.command(c))))
    return m.output(long * m.state(s) + torch.sigmoid(m.command(c)))


def weights_made_of_the_command(m: Any, s: Tensor, c: Tensor) -> Tensor:
    weight = torch.tanh(m.command(c))[:, :, None] * m.value.weight
    return m.output(torch.relu(torch.bmm(weight, m.state(s)[:, :, None]).squeeze(-1) + m.one.bias))


def value_head(m: Any, s: Tensor, c: Tensor) -> Tensor:
    """What the output does not need may be anything."""
    torch.sigmoid(m.command(c))
    return upside_down(m, torch.cat([s, c], dim=1))


def planes(m: Any, c: Tensor) -> Tensor:
    image = c[:, :, None, None].expand(-1, -1, 3, 4)
    kernel = m.two.weight[:, :8].reshape(HIDDEN, 2, 2, 2)
    return F.conv2d(image, kernel, m.two.bias, stride=(1, 2)).mean(dim=(2, 3))


def assigned(m: Any, x: Tensor) -> Tensor:
    """Twice, and what was read before stays what it was."""
    before = x.clone()
    x[:, 1::2] = 0.5
    x[torch.tensor([[True, *[False] * (HIDDEN - 1)]]).expand(len(x), -1)] = -0.5
    return x + before.relu()


def normalised(x: Tensor) -> Tensor:
    return x - torch.logsumexp(x, dim=-1, keepdim=True)


FURTHER: dict[str, Callable[..., Any]] = {
    "tanh": after(lambda m, x: torch.tanh(x)),
    "PReLU": after(lambda m, x: m.prelu(x)),
    "hardtanh": after(lambda m, x: F.hardtanh(x, -0.5, 0.75)),
    "clamp": after(lambda m, x: x.clamp(max=0.3).clamp(min=-0.3)),
    "ReLU6": after(lambda m, x: F.relu6(x)),
    "abs": after(lambda m, x: x.abs()),
    "batch norm": after(lambda m, x: m.batch_norm(x)),
    "in place": after(written_in_place),
    "reshaped": after(reshaped),
    "sigmoid beside tanh": after(sigmoid_after_and_beside_tanh),
    "larger of two": after(lambda m, x: torch.maximum(x, m.two(x))),
    "smaller of two": after(lambda m, x: torch.min(x, m.two(x))),
    "a tensor that bounds": after(lambda m, x: torch.max(torch.min(m.one.bias, x), torch.tensor(-0.5))),
    "maxout": after(lambda m, x: torch.cat([x.view(-1, 2, 6).max(dim=1).values] * 2, dim=1)),
    "largest of five": after(lambda m, x: x - x[:, :5].amax(1, keepdim=True) + x[:, 2:5].min(-1, True)[0]),
    "CELU": after(lambda m, x: F.celu(x, 0.5)),
    "softplus": after(lambda m, x: F.softplus(x, beta=2.0)),
    "log of a sigmoid": after(lambda m, x: F.logsigmoid(x)),
    "skip past a ReLU behind SiLU": after(lambda m, x: F.silu(x) - torch.relu(m.two(F.silu(x)))),
    "skip past a ReLU behind ELU": after(lambda m, x: F.elu(x) - torch.relu(m.two(F.elu(x)))),
    "hard sigmoid": after(lambda m, x: F.hardsigmoid(4.0 * x)),
    "convolution": after(
        lambda m, x: F.conv1d(x[:, None], m.two.weight[:1, None, :3], m.two.bias[:1], padding=1)[:, 0]
    ),
    "planes of an image": lambda m, s, c: m.output(m.one(planes(m, c).relu())),
    "mask of the state": lambda m, s, c: torch.where(s[:, :3] > -9.0, m.output(m.command(c)), -1e9),
    "two that a mask chooses from": after(lambda m, x: torch.where(m.one.bias > 0, x, m.two(x).relu())),
    "written number": after(assigned),
    "logsumexp": lambda m, s, c: normalised(upside_down(m, torch.cat([s, c], dim=1))),
    "categorical": lambda m, s, c: Categorical(logits=m.output(m.command(c))).logits,
    "probabilities of a categorical": lambda m, s, c: Categorical(logits=m.output(m.command(c))).probs,
    "numbers": after(lambda m, x: 1.0 - torch.add(x, 2.0, alpha=0.5) / 3 - 0.25),
    "addmm": after(lambda m, x: torch.addmm(m.one.bias, x, m.one.weight.t(), beta=0.5)),
    "einsum": after(lambda m, x: torch.einsum("ni,ji->nj", x, m.two.weight)),
    "bilinear": lambda m, s, c: m.output(torch.relu(m.bilinear(s, c))),
    "control flow on the state": control_flow,
    "late sigmoid": late_sigmoid,
    "hypernetwork": weights_made_of_the_command,
    "ELU beside tanh": after(lambda m, x: F.elu(x) + torch.tanh(x)),
    "ReLU beside tanh": after(lambda m, x: torch.tanh(x) + torch.relu(x)),
    "skip past a sigmoid": after(lambda m, x: torch.sigmoid(x) + x),
    "another gate": after(lambda m, x: x * torch.sigmoid(2.0 * x)),
    "a gate of others": after(lambda m, x: x * torch.sigmoid(x).roll(1, 1)),
    "product": after(lambda m, x: x * x),
    "power": after(lambda m, x: m.one(x) ** 3),
    "skip past a ReLU": after(lambda m, x: torch.tanh(x) - torch.relu(m.two(torch.tanh(x)))),
    "value head": value_head,
    "affine": lambda m, s, c: m.output(m.command(c)),
    "exp of log_softmax": lambda m, s, c: pcn(m, s, c).exp(),
    "log of softmax": lambda m, s, c: torch.softmax(m.output(m.command(c)) / 0.5, dim=-1).log(),
}


@pytest.mark.parametrize("name", FURTHER)
def test_the_fold_of_further_operations_agrees_with_the_module(name: str) -> None:
    policy = pf.from_torch(Module(FURTHER[name]), STATE, SPACE)
    for state in (STATE, -STATE):
        assert_fold_agrees(policy, state)


def attention(m: Any, s: Tensor, c: Tensor) -> Tensor:
    tokens = torch.stack([m.state(s), m.command(c)], dim=1)
    return m.output(m.attention(tokens, tokens, tokens, need_weights=False)[0].mean(dim=1))


def hand_written_attention(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = torch.softmax(m.command(c), dim=-1) * m.state(s)
    return m.output(hidden)


def transformer(m: Any, s: Tensor, c: Tensor) -> Tensor:
    """Of four tokens, of which the third is the command."""
    past = m.scale(s)[:, None].expand(-1, 2, -1)
    tokens = torch.cat([past, torch.stack([m.command(c), m.state(s)], dim=1)], dim=1)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    return m.output(m.encoder(tokens, mask, is_causal=True)[:, -1])


def recurrent(cell: str) -> Callable[..., Any]:
    """Two steps of the past, then the command."""

    def forward(m: Any, s: Tensor, c: Tensor) -> Tensor:
        steps = torch.stack([m.state(s), m.scale(s), m.command(c)], dim=1)
        return m.output(getattr(m, cell)(steps)[0][:, -1])

    return forward


def matrices(x: Tensor, y: Tensor) -> Tensor:
    return (x.view(-1, 3, 4) @ y.view(-1, 4, 3)).sum(dim=2)[:, :ACTIONS] / 10.0


NODES: dict[str, Callable[..., Any]] = {
    "LayerNorm": after(lambda m, x: m.norm(x)),
    "LayerNorm and GELU": after(lambda m, x: F.gelu(m.norm(m.two(F.gelu(m.norm(x)))))),
    "GroupNorm": after(lambda m, x: m.group_norm(x)),
    "RMSNorm": after(lambda m, x: m.rms_norm(x)),
    "GELU by tanh": after(lambda m, x: F.gelu(x, approximate="tanh")),
    "SELU": after(lambda m, x: F.selu(x)),
    "Mish": after(lambda m, x: F.mish(x)),
    "ELU with another alpha": after(lambda m, x: F.elu(x, 0.5)),
    "LSTM cell": after(lambda m, x: m.lstm_cell(x, (m.one.bias.expand_as(x), m.two.bias.expand_as(x)))[0]),
    "GRU cell": after(lambda m, x: m.gru_cell(x, m.one.bias.expand_as(x))),
    "RNN cell": after(lambda m, x: m.rnn_cell(x)),
    "LSTM": recurrent("lstm"),
    "GRU": recurrent("gru"),
    "zeros_like": after(lambda m, x: x.relu() + torch.zeros_like(x) + x.new_ones(())),
    "embedding": lambda m, s, c: m.output((m.command(c) + m.embedding(s[:, 0].abs().to(torch.long))).relu()),
    "softmax as a gate": after(lambda m, x: torch.softmax(m.one(x), dim=-1) * x),
    "hand-written attention": hand_written_attention,
    "attention": attention,
    "transformer": transformer,
    "a product of matrices": lambda m, s, c: matrices(m.command(c), m.one(m.command(c))) + m.output(m.command(c)),
    "Categorical": lambda m, s, c: Categorical(logits=m.output(m.command(c).relu())),
}


@pytest.mark.parametrize("name", NODES)
def test_the_program_of_further_nodes_agrees_with_the_module(name: str) -> None:
    policy = pf.from_torch(Module(NODES[name]), STATE, SPACE)
    for state in (STATE, -STATE):
        assert_fold_agrees(policy, state)


@pytest.mark.parametrize("name", ["LayerNorm and GELU", "LSTM cell", "GRU", "softmax as a gate", "transformer"])
def test_bounds_of_recorded_programs_hold_for_the_module(name: str) -> None:
    policy: Any = pf.from_torch(Module(NODES[name]), STATE, SPACE)
    asked, rng = question(policy), np.random.default_rng(0)
    network = question_network(asked, "")
    low, high = asked.room
    ends = rng.uniform(low, high, size=(2, 40, 2))
    middle, width = ends.mean(axis=0), np.abs(ends[0] - ends[1]) * 10.0 ** rng.uniform(-6, 0, size=(40, 1))
    lows, highs = np.maximum(middle - width / 2, low), np.minimum(middle + width / 2, high)
    lines = network.upper_bounds(lows, highs)
    for share in [*rng.random((10, 2)), *rng.integers(0, 2, size=(6, 2))]:
        z = lows + share * (highs - lows)
        commands = asked.command + z * asked.space.scale
        scores = policy.log_probs(np.repeat(STATE[None], len(z), axis=0), commands)
        margins = scores[:, [asked.foil]] - scores[:, list(asked.rivals)]
        above = (lines.slopes * z[:, None, :]).sum(axis=2) + lines.offsets
        assert (margins <= above + 1e-4).all()  # of the module in float32


@pytest.mark.filterwarnings("ignore")  # of torch.jit
@pytest.mark.parametrize("traced", [False, True])
def test_scripted_and_traced_modules_are_recorded_by_their_graph(traced: bool) -> None:
    module, given = Plain().eval(), (torch.rand(3, STATE_SIZE), torch.rand(3, 2))
    graph: Any = torch.jit.trace(module, given) if traced else torch.jit.script(module)  # type: ignore[no-untyped-call]
    assert_fold_agrees(pf.from_torch(graph, STATE, SPACE), STATE)


def test_an_exported_program_is_recorded() -> None:
    rows = {0: torch.export.Dim.AUTO}
    given = torch.rand(3, STATE_SIZE), torch.rand(3, 2)
    exported = torch.export.export(Plain().eval(), given, dynamic_shapes=(rows, rows))
    assert_fold_agrees(pf.from_torch(exported.module(), STATE, SPACE), STATE)


class Plain(nn.Module):
    """A module without Python functions, which can be scripted."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.first, self.norm, self.last = nn.Linear(STATE_SIZE + 2, 16), nn.LayerNorm(16), nn.Linear(16, ACTIONS)

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        hidden = self.first(torch.cat([states, commands / 5.0], dim=-1)) - 0.5
        if hidden.shape[-1] == 16:
            hidden = F.gelu(self.norm(hidden))
        return self.last(hidden)


def branches_on_the_command(m: Any, s: Tensor, c: Tensor) -> Tensor:
    return m.output(m.command(c) if c.sum() > 0 else m.state(s) * 2 + m.command(c) * 1e-3)


def write_into_a_buffer(m: Any, s: Tensor, c: Tensor) -> Tensor:
    buffer = torch.zeros(len(c), STATE_SIZE + 2)
    buffer[:, :STATE_SIZE], buffer[:, STATE_SIZE:] = s, c
    return upside_down(m, buffer)


def write_into_what_is_viewed(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.command(c)
    view = hidden[:, :ACTIONS]
    hidden.relu_()
    return m.output(hidden) + view


def write_into_a_view(m: Any, s: Tensor, c: Tensor) -> Tensor:
    hidden = m.command(c)
    hidden[:, :3].relu_()
    return m.output(hidden)


def infinitely_low(m: Any, s: Tensor, c: Tensor) -> Tensor:
    logits = m.output(m.command(c))
    return torch.cat([logits, (1.0 + logits[:, :1].abs()) * float("-inf")], dim=1)


def two_probabilities(m: Any, s: Tensor, c: Tensor) -> Tensor:
    second = torch.sigmoid(m.value(m.command(c)))
    return torch.cat([1.0 - second, second], dim=1)


def written_symbol(m: Any, x: Tensor) -> Tensor:
    x[:, 0] = x[:, 1]
    return x


def written_view(m: Any, x: Tensor) -> Tensor:
    view = x[:, :6]
    x[:, 0] = 0.5
    return x + view.repeat(1, 2)


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "early line": (after(lambda m, x: F.softplus(x, threshold=2.0)), "softplus that is linear above 2"),
    "quotient": (after(lambda m, x: 1.0 / (x.abs() + 1)), "of values that depend on the command"),
    "rounding": (after(lambda m, x: x.to(torch.int64).float()), "to integers"),
    "the largest of a batch": (after(lambda m, x: x - x.max()), "number of a whole batch"),
    "where it is largest": (after(lambda m, x: x * x.max(dim=1).indices[:, None]), "when it ran with a symbolic"),
    "another logsumexp": (after(lambda m, x: x - m.one(x).logsumexp(1, keepdim=True)), "logsumexp of another tensor"),
    "a logsumexp": (after(lambda m, x: x + x.logsumexp(1, keepdim=True)), "add after logsumexp"),
    "a logarithm": (after(lambda m, x: torch.log(x.abs() + 1.0)), "log of values that depend on the command"),
    "both directions": (lambda m, s, c: m.output(m.both_ways(m.command(c)[:, None])[0][:, 0]), "in both directions"),
    "less than a logsumexp": (after(lambda m, x: x.logsumexp(1, keepdim=True) - x), "logsumexp of values that depend"),
    "a written symbol": (after(written_symbol), "setitem of values that depend"),
    "a written view of a row": (after(written_view), "setitem in place, into memory that another tensor shares"),
    "equality": (after(lambda m, x: x * (x == 0.0)), r"a comparison \(eq\)"),
    "a look at the command": (branches_on_the_command, r"a comparison \(gt\) of values that depend on the command"),
    "a number of the command": (
        lambda m, s, c: m.output(m.command(c)) * c[:, :1].sum().item(),
        "Python code that reads values",
    ),
    "a written constant": (write_into_a_buffer, "setitem"),
    "a written view": (write_into_a_view, "in place, into memory that another tensor shares"),
    "a written base": (write_into_what_is_viewed, "in place, into memory that another tensor shares"),
    "an exponential": (after(lambda m, x: torch.exp(x)), "exp of values that depend on the command"),
    "softmax over rows": (
        lambda m, s, c: m.output(m.command(c)).log_softmax(dim=0),
        "which is not the last",
    ),
    "infinite weights": (infinitely_low, "weights that are not finite"),
    "a mask of the command": (lambda m, s, c: m.output(m.command(c)).masked_fill(c[:, :1] > 0, 0.0), "a comparison"),
    "two probabilities": (two_probabilities, "probabilities that are not a softmax"),
    "a step of NumPy": (
        lambda m, s, c: m.output(m.command(torch.from_numpy(c.numpy()))),
        "Python code that reads values",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_folded_is_named_and_left_to_boundary(name: str) -> None:
    forward, why = REFUSED[name]
    policy = pf.from_torch(Module(forward), STATE, SPACE)
    assert not policy.is_white_box
    assert policy.why_not is not None
    assert re.search(why, policy.why_not), policy.why_not
    assert not isinstance(policy, WhiteBoxPolicy)
    assert choose_search("auto", policy).name == "boundary"


@pytest.mark.parametrize("name", ["an exponential", "quotient"])
def test_a_black_box_is_explained_all_the_same(name: str) -> None:
    policy = pf.from_torch(Module(REFUSED[name][0]), STATE, SPACE)
    commands = random_commands(200)
    chosen = policy.log_probs(np.repeat(STATE[None], 200, axis=0), commands).argmax(axis=1)
    foil = int(chosen[chosen != chosen[0]][0])
    answer = pf.explain(policy, state=STATE, command=commands[0], foil=foil, space=SPACE)
    assert (answer.search.name, answer.found) == ("boundary", True)
    assert policy.log_probs(STATE[None], answer.command[None])[0].argmax() == foil  # type: ignore[index]


def test_who_asks_for_a_proof_about_a_black_box_is_told_the_reason() -> None:
    policy = pf.from_torch(Module(REFUSED["an exponential"][0]), STATE, SPACE)
    with pytest.raises(InvalidInput, match=r"got TorchPolicy \(exp of values that depend"):
        pf.explain(policy, state=STATE, command=random_commands(1)[0], foil=question(policy).foil, search="exact")


def test_a_white_box_policy_is_proven_by_itself() -> None:
    _, policy = common("residual")
    asked = question(policy)
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=SPACE)
    assert answer.search.name == "exact"
    assert answer.proven_range is not None


def test_a_policy_brings_its_space_unless_another_is_given() -> None:
    _, policy = common("residual")
    asked = question(policy)
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil)
    assert answer.live.question.space is SPACE
    mine = pf.CommandSpace([0.0, -30.0], [10.0, 0.0])
    answer = pf.explain(policy, state=STATE, command=asked.command, foil=asked.foil, space=mine)
    assert answer.live.question.space is mine


def test_rows_that_mix_are_noticed_when_the_fold_is_compared() -> None:
    mixing = Module(lambda m, s, c: m.output(m.command(c - c.mean(dim=0)) + m.state(s)))
    policy = pf.from_torch(mixing, STATE, SPACE)
    assert re.search(
        r"a network whose recorded copy differs by .*, while its logits have a range of", policy.why_not or ""
    )


def test_a_scripted_module_inside_another_is_a_black_box() -> None:
    module = Module(lambda m, s, c: m.scripted(s, c))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module.scripted = torch.jit.script(Plain().eval())  # type: ignore[no-untyped-call]
    policy = pf.from_torch(module, STATE, SPACE)
    assert policy.why_not == "a scripted module inside another one, whose operations cannot be recorded"


def test_what_goes_past_python_is_not_followed() -> None:
    def scripted(x: Tensor) -> Tensor:
        return x + 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        function = torch.jit.script(scripted)
    policy = pf.from_torch(Module(after(lambda m, x: function(x))), STATE, SPACE)
    assert re.search(r"^RuntimeError when it ran with a symbolic command: .*TorchScript.*\Z", policy.why_not or "")

    def below(m: Any, x: Tensor) -> Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return x + 1.0

    policy = pf.from_torch(Module(after(below)), STATE, SPACE)
    assert policy.why_not == "aten.add.Tensor, called outside of Python, where it cannot be recorded"


def test_a_state_at_which_the_module_does_something_else_is_refused_there() -> None:
    def sometimes(m: Any, s: Tensor, c: Tensor) -> Tensor:
        hidden = m.command(c)
        return m.output(torch.relu(hidden.exp() if s.shape[0] == 1 and s[0, 0] > 100 else hidden))

    policy = pf.from_torch(Module(sometimes), STATE, SPACE)
    assert isinstance(policy, WhiteBoxTorchPolicy)
    with pytest.raises(InvalidInput, match=r"can be folded at this state, got exp .*; search='boundary' needs"):
        policy.fold(np.full(STATE_SIZE, 101.0))
    several = pf.from_torch(Module(sometimes), [STATE, np.full(STATE_SIZE, 101.0)], SPACE)
    assert not several.is_white_box


def test_a_command_that_plays_no_part_is_folded_to_constants() -> None:
    policy = pf.from_torch(Module(lambda m, s, c: m.output(m.state(s))), STATE, SPACE)
    folded = policy.fold(STATE)  # type: ignore[attr-defined]
    assert not folded.layers.weights[0].any()
    logits, given = folded.logits(random_commands(1)), policy.log_probs(STATE[None], random_commands(1))
    np.testing.assert_allclose(np.diff(logits), np.diff(given), rtol=1e-5)  # a softmax adds a number to all of them


@pytest.mark.parametrize("low", [float("-inf"), -1e9])
def test_an_action_that_the_module_masks_is_proven_out_of_reach_and_no_rival(low: float) -> None:
    mask = torch.tensor([False, False, True])
    masking = Module(lambda m, s, c: upside_down(m, torch.cat([s, c], dim=1)).masked_fill(mask, low).log_softmax(-1))
    policy = pf.from_torch(masking, STATE, SPACE)
    assert isinstance(policy, WhiteBoxTorchPolicy)
    assert policy.deviation < 1e-4, "of what is not masked"
    commands = random_commands(200)
    chosen = policy.log_probs(np.repeat(STATE[None], 200, axis=0), commands).argmax(axis=1)
    command, actions = commands[chosen == 0][0], tuple(range(ACTIONS))
    [never] = Exact().run(QuestionBatch([Question(policy, STATE, command, 2, actions, SPACE)]))
    assert never.certificate.status == "infeasible"  # type: ignore[union-attr]
    common: dict[str, Any] = {"state": STATE, "command": command, "foil": 1, "space": SPACE, "search": Exact()}
    answer, alone = (pf.explain(policy, valid_actions=valid, **common) for valid in (actions, actions[:2]))
    assert answer.status is alone.status is pf.Status.PROVEN_CLOSEST
    assert answer.quoted.distance == pytest.approx(alone.quoted.distance, abs=1e-2)


def test_a_mask_of_attention_is_below_the_smallest_scores() -> None:
    """All scores are about -3e6; the second one is masked."""

    def attending(m: Any, s: Tensor, c: Tensor) -> Tensor:
        scores = torch.cat([c - 3e6, c[:, :1] - 3e6], dim=1).masked_fill(torch.tensor([False, True, False]), -torch.inf)
        return scores.softmax(-1) * torch.cat([c, s[:, :1]], dim=1)

    policy = pf.from_torch(Module(attending).double(), STATE, SPACE, outputs="logits")
    assert isinstance(policy, WhiteBoxTorchPolicy)
    commands = random_commands(50)
    deployed = policy.log_probs(np.repeat(STATE[None], 50, axis=0), commands)
    logits = policy.fold(STATE).logits(commands)
    np.testing.assert_allclose(np.diff(deployed), np.diff(logits), atol=1e-6)


def test_a_network_that_is_too_large_for_a_proof_is_a_black_box(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paretofoil.agents.recorder.MAX_UNITS", 2 * HIDDEN)
    assert pf.from_torch(Module(named), STATE, SPACE, inputs=NAMES).is_white_box
    large = pf.from_torch(Module(upside_down), STATE, SPACE, inputs="concatenated")
    assert large.why_not == "more than 24 activations, too many for a proof"


LOGITS = Module(upside_down)
OUTPUTS: dict[str, Callable[..., Any]] = {
    "logits": lambda m, x: upside_down(m, x),
    "log-probabilities": lambda m, x: upside_down(m, x).log_softmax(-1),
    "probabilities": lambda m, x: upside_down(m, x).softmax(-1),
}


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_what_a_module_gives_is_detected_and_gives_the_same_log_probabilities(outputs: str) -> None:
    policy = pf.from_torch(Module(OUTPUTS[outputs]), STATE, SPACE, inputs="concatenated")
    assert (policy.outputs, policy.detected, policy.is_white_box) == (outputs, True, True)
    assert f"returns {outputs} (detected)" in repr(policy)
    commands = random_commands(20)
    states = np.repeat(STATE[None], 20, axis=0)
    given = policy.log_probs(states, commands)
    np.testing.assert_allclose(np.exp(given).sum(axis=1), 1.0, rtol=1e-5)
    reference = pf.from_torch(LOGITS, STATE, SPACE, inputs="concatenated").log_probs(states, commands)
    np.testing.assert_allclose(given, reference, atol=1e-4)


def test_what_the_user_says_is_not_detected_but_must_be_so() -> None:
    policy = pf.from_torch(LOGITS, STATE, SPACE, inputs="concatenated", outputs="q-values")
    assert repr(policy).startswith("<WhiteBoxTorchPolicy: Module that returns q-values, folds to ")
    with pytest.raises(InvalidInput, match=r"expected a module that returns probabilities, got a row of \("):
        pf.from_torch(LOGITS, STATE, SPACE, inputs="concatenated", outputs="probabilities")
    softmax = Module(OUTPUTS["probabilities"])
    scores = pf.from_torch(softmax, STATE, SPACE, inputs="concatenated", outputs="logits")
    assert scores.why_not == "a softmax at the end, for outputs='logits'"


def test_probabilities_of_zero_are_actions_that_cannot_be() -> None:
    never = Module(lambda m, s, c: F.pad(torch.softmax(m.output(m.command(c)), dim=1), (0, 1)))
    policy = pf.from_torch(never, STATE, SPACE)
    assert policy.outputs == "probabilities"
    assert np.isneginf(policy.log_probs(STATE[None], random_commands(1))[0, -1])


HEADS: dict[Any, Callable[[Tensor], Any]] = {
    0: lambda scores: (scores, scores[:, :1]),
    1: lambda scores: [scores[:, :1], scores],
    "pi": lambda scores: {"pi": scores, "value": scores[:, :1]},
    "logits": lambda scores: Categorical(logits=scores),
}


@pytest.mark.parametrize("head", HEADS)
def test_of_several_outputs_the_one_that_is_named_counts(head: Any) -> None:
    several = Module(lambda m, x: HEADS[head](upside_down(m, x)))
    policy = pf.from_torch(several, STATE, SPACE, inputs="concatenated", head=head)
    plain = pf.from_torch(LOGITS, STATE, SPACE, inputs="concatenated")
    asked = (np.repeat(STATE[None], 9, axis=0), random_commands(9))
    np.testing.assert_allclose(margins(policy.log_probs(*asked)), margins(plain.log_probs(*asked)), atol=1e-5)
    assert_fold_agrees(policy, STATE)


def test_names_of_arguments_say_which_is_the_command_whatever_their_order() -> None:
    class CommandFirst(nn.Module):
        def forward(self, desired: Tensor, seen: Tensor) -> Tensor:
            return LOGITS(torch.cat([seen, desired], dim=1))

    policy = pf.from_torch(CommandFirst(), STATE, SPACE, inputs={"seen": "state", "desired": "command"})
    plain = pf.from_torch(LOGITS, STATE, SPACE, inputs="concatenated")
    asked = (np.repeat(STATE[None], 9, axis=0), random_commands(9))
    np.testing.assert_array_equal(policy.log_probs(*asked), plain.log_probs(*asked))


@pytest.mark.filterwarnings("ignore:Guards may run slower")  # torch's, on the first release of Python 3.13
def test_a_compiled_module_is_followed_as_it_was_written(capfd: pytest.CaptureFixture[str]) -> None:
    compiled = torch.compile(LOGITS, backend="eager")
    policy = pf.from_torch(compiled, STATE, SPACE, inputs="concatenated")  # type: ignore[arg-type]
    assert_fold_agrees(policy, STATE)
    assert capfd.readouterr().err == "", "nothing is said of what could not be compiled"


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_module_is_deployed_in_its_own_precision(dtype: torch.dtype) -> None:
    seen = []

    def forward(m: Any, x: Tensor) -> Tensor:
        seen.append(x.dtype)
        return upside_down(m, x)

    policy = pf.from_torch(Module(forward).to(dtype), STATE, SPACE, inputs="concatenated")
    assert set(seen) == {dtype}
    assert policy.is_white_box == (dtype != torch.bfloat16), "so few bits are too far from the fold"


def test_large_batches_are_asked_in_parts_and_gradients_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def forward(m: Any, x: Tensor) -> Tensor:
        seen.append((len(x), torch.is_grad_enabled()))
        return upside_down(m, x)

    policy = pf.from_torch(Module(forward), STATE, SPACE, inputs="concatenated")
    whole = policy.log_probs(np.repeat(STATE[None], 25, axis=0), random_commands(25))
    monkeypatch.setattr("paretofoil.agents.torch_policy.BATCH", 10)
    seen.clear()
    parts = policy.log_probs(np.repeat(STATE[None], 25, axis=0), random_commands(25))
    assert seen == [(10, False), (10, False), (5, False)]
    np.testing.assert_allclose(parts, whole, atol=1e-5)


def test_a_module_in_training_mode_is_refused_where_it_matters() -> None:
    with pytest.raises(
        InvalidInput, match=r"in evaluation mode \(call eval\(\) on it\), got Dropout 'dropout' in train"
    ):
        pf.from_torch(Module(film).train(), STATE, SPACE)
    harmless = nn.Sequential(nn.Linear(STATE_SIZE + 2, 8), nn.ReLU(), nn.Linear(8, ACTIONS)).train()
    assert pf.from_torch(harmless, STATE, SPACE, inputs="concatenated").is_white_box
    random = Module(lambda m, s, c: m.output(F.dropout(m.command(c), 0.5)))
    with pytest.raises(InvalidInput, match="different results: call eval"):
        pf.from_torch(random, STATE, SPACE)


@pytest.mark.parametrize(
    ("subject", "options", "message"),
    [
        (len, {}, "expected a torch module, got builtin"),
        (LOGITS, {"inputs": "stacked"}, "expected inputs that are"),
        (LOGITS, {"inputs": {"observation": "state"}}, "expected inputs that are"),
        (LOGITS, {"inputs": "concatenated", "outputs": "logit"}, r"'logit' \(did you mean logits\?\)"),
        (
            LOGITS,
            {"inputs": "concatenated", "state": [1.0]},
            "takes 3 numbers a row, 1 of the state and 2 of the",
        ),
        (
            LOGITS,
            {"inputs": "concatenated", "state": [[[1.0]]]},
            r"finite vectors \(flatten images and dicts\), got shape",
        ),
        (LOGITS, {"inputs": "concatenated", "state": {"map": [1.0]}}, "flatten images and dicts\\), got dict"),
        (Module(lambda m, s, c: m.output(m.command(c))[:, 0]), {}, r"returns the shape \(1, actions\), got the shape"),
        (Module(lambda m, s, c: m.output(m.command(c)).squeeze()), {}, r"got the shape \(3,\)"),
        (Module(lambda m, s, c: (c, c)), {}, r"returns one tensor \(.*head=0.*\), got a tuple of 2"),
        (Module(lambda m, s, c: torch.distributions.Normal(c, 1.0)), {}, r"\(.*head='mean'\), got Normal"),
        (nn.Linear(3, 3), {}, r"inputs='separate'\), got TypeError: .*; pass inputs='concatenated' if it takes one"),
        (LOGITS, {"space": [0, 1]}, r"expected space=CommandSpace\(...\), .*, got space=\[0, 1\]"),
        (LOGITS, {"space": None}, "got space=None"),
        (Module(lambda m, s, c: {"pi": c, "v": c}), {}, "got a dict of pi, v"),
        (Module(lambda m, s, c: {"pi": c, "v": c}), {"head": "logits"}, "an output 'logits', got a dict of pi, v"),
        (Module(lambda m, s, c: (c, c)), {"head": 2}, "an output 2, got a tuple of 2"),
        (Module(lambda m, s, c: c), {"head": 0}, "an output 0, got one tensor"),
        (
            Module(lambda m, s, c: m.output(m.state(s))),
            {"state": [1.0]},
            r"takes states \(N, 1\) and commands \(N, 2\)",
        ),
        (Module(lambda m, s, c: m.output(m.command(c)) * float("nan")), {}, r"NaN or infinity under the command \(\d"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(subject: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pf.from_torch(subject, **{"state": STATE, "space": SPACE, **options})


def test_a_state_may_be_a_tensor_with_gradients() -> None:
    state = torch.tensor(STATE, dtype=torch.float32, requires_grad=True)
    assert pf.from_torch(Module(COMMON["PCN"][0]), state, SPACE).is_white_box


def test_logits_of_1_and_0_are_not_taken_for_probabilities() -> None:
    policy = pf.from_torch(Module(lambda m, s, c: (c[:, :1] > 0) * torch.tensor([1.0, 0.0])), STATE, SPACE)
    assert policy.outputs == "logits"


def _values(factor: float) -> nn.Module:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    with torch.no_grad():
        network[-1].weight *= factor
        network[-1].bias *= factor
    return network


def test_q_values_on_another_scale_have_the_same_answers() -> None:
    space, answers = pf.CommandSpace([0, 0], [1, 1], ["a", "b"]), []
    for factor in (1.0, 0.01):
        policy = pf.from_torch(_values(factor), [0.3, 0.2], space, inputs="concatenated", outputs="q-values")
        answers.append([pf.explain(policy, state=[0.3, 0.2], command=[0.5, 0.5], foil=foil) for foil in (0, 1)])
    for large, small in zip(*answers, strict=True):
        assert large.status == small.status
        assert small.question.kappa == pytest.approx(0.01 * large.question.kappa)
    large, small = answers[0][1], answers[1][1]
    assert large.status is pf.Status.PROVEN_CLOSEST
    np.testing.assert_allclose(large.command, small.command)


def test_one_output_and_actors_are_refused_with_what_to_use_instead() -> None:
    space = pf.CommandSpace([0, 0], [1, 1], ["a", "b"])
    with pytest.raises(
        InvalidInput, match="at least two actions, got one output; if it is the logit of one of two actions"
    ):
        pf.from_torch(nn.Linear(4, 1), [0.0, 0.0], space, inputs="concatenated")
    actor = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
    with pytest.raises(InvalidInput, match=r"got a Tanh as the last layer; for continuous actions, pass actio"):
        pf.from_torch(actor, [0.0, 0.0], space, inputs="concatenated")
    assert pf.from_torch(actor, [0.0, 0.0], space, inputs="concatenated", outputs="logits").is_white_box

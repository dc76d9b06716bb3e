"""Texts of every kind, each with the reader that checks it."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from arguments import arguments
from checkpoints import authors_file, authors_network, morl_file, morl_network
from ordinary import Network, onnx_model
from valued import random_envelope
from weighing import agent as weighing
from witness import (
    AnswerReader,
    Facts,
    FlipMapReader,
    InfluenceReader,
    NeverReader,
    ProfileReader,
    alterations,
)

import paretofoil as pf
from paretofoil.agents.agent import HORIZON, rollouts
from paretofoil.explanation.influence import influence_episode
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search import Boundary, Exact

SMALL = ("deep-sea-treasure", "collect-two", "branch-path", "reward-line", "resource-gathering", "breakable-bottles")
"""Agents whose questions are settled in a moment."""
RESTRICTED: list[dict[str, Any]] = [
    {},
    {"keep": (0,)},
    {"sparse": True},
    {"kappa": 0.0},
    {"norm": "l1"},
    {"k": 3},
    {"range": (0.3, 0.1)},
    {"norm": "linf"},
    {"min_change": 0.05},
    {"search": Boundary(max_queries=300)},
    {"search": Exact(max_boxes=30, start=None)},
    {"search": "nearest-front"},
]
SHORT: dict[str, Any] = {"samples": 2000, "seconds": 0.3}
NOTICED = (AssertionError, ValueError, KeyError, IndexError, AttributeError, TypeError, StopIteration)
"""What a reader raises about a text that it cannot read or that is not true."""


@dataclass(frozen=True, eq=False)
class Paragraph:
    """A text, and the reader of any text about the same value."""

    text: str
    reader: Callable[[str], Any]

    def examine(self) -> set[str]:
        return self.reader(self.text).examine()  # type: ignore[no-any-return]

    def count_noticed(self) -> tuple[int, int]:
        """Return how many alterations of a number are noticed, and how many there are."""
        texts = list(alterations(self.text))
        return len(texts) - len(self.missed()), len(texts)

    def missed(self) -> list[str]:
        """Return the altered texts that are taken for true."""
        return [text for text in alterations(self.text) if not self.notices(text)]

    def notices(self, text: str) -> bool:
        try:
            self.reader(text).examine()
        except NOTICED:
            return True
        return False


def of_answer(facts: Facts, answer: pf.Answer) -> Iterator[Paragraph]:
    """Yield the paragraphs of an answer, of its alternatives and of the answer in another norm, each for itself."""
    for each in (replace(answer, other_norms=()), *answer.alternatives, *answer.other_norms):
        yield Paragraph(each.paragraph(), partial(AnswerReader, facts, each))


def chosen_options(agent: pf.Agent, decision: pf.Decision, options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `explain`; a range is given by shares of the last objective's width."""
    chosen = dict(options)
    if "range" in chosen:
        below, above = np.array(chosen.pop("range")) * agent.space.scale[-1]
        last = float(decision.command[-1])
        chosen["ranges"] = {agent.space.names[-1]: (last - below, last + above)}
    return arguments(**chosen)


def explained(agent: pf.Agent, decision: pf.Decision, options: dict[str, Any]) -> Iterator[Paragraph]:
    facts = Facts.of(agent, decision, options.get("box", "reachable"))
    for answer in pf.explain_decision(agent, decision, **chosen_options(agent, decision, options)):
        yield from of_answer(facts, answer)


@cache
def decisions_of(agent: pf.Agent, commands: int = 8) -> list[pf.Decision]:
    """Return decisions with foils, in an order that spreads over commands and steps."""
    front = agent.front[np.linspace(0, len(agent.front) - 1, min(len(agent.front), commands)).astype(int)]
    decisions = [d for episode in rollouts(agent, list(front)) for d in episode if len(d.valid_actions) > 1]
    return [decisions[i] for i in np.random.default_rng(0).permutation(len(decisions))]


def spread(agents: list[pf.Agent], make: Callable[..., Iterator[Paragraph]]) -> Iterator[Paragraph]:
    """Take the agents in turn, with the options in turn."""
    turns = [iter(decisions_of(agent)) for agent in agents]
    for (agent, decisions), options in zip(
        itertools.cycle(zip(agents, turns, strict=True)), itertools.cycle(RESTRICTED)
    ):
        decision = next(decisions, None)
        if decision is None:
            return
        yield from make(agent, decision, options)


def of_episodes() -> Iterator[Paragraph]:
    yield from spread([pf.load_agent(name) for name in SMALL], explained)


def own_decision(agent: pf.Agent, decision: pf.Decision, seed: int) -> pf.Decision:
    """Return a decision in the same state, with a command and a collected return of the user's own."""
    rng = np.random.default_rng(seed)
    other = np.round(rng.uniform(agent.space.low, agent.space.high), 3)
    command = decision.command if seed % 3 else other
    collected = decision.collected * (1, 1, 0, 2)[seed % 4]
    return agent.decision_at(decision.state, command, collected)


def of_own_decisions() -> Iterator[Paragraph]:
    seeds = itertools.count()

    def make(agent: pf.Agent, decision: pf.Decision, options: dict[str, Any]) -> Iterator[Paragraph]:
        yield from explained(agent, own_decision(agent, decision, next(seeds)), options)

    yield from spread([pf.load_agent(name) for name in SMALL], make)


@cache
def with_horizon(name: str, gain: float = 4.0) -> pf.Agent:
    """Return a shipped agent that also heeds a horizon: each unit of its command layer has a weight for it."""
    agent = pf.load_agent(name)
    assert isinstance(agent.policy, PCNPolicy)
    (weight, bias), *rest = agent.policy.command
    lengths = np.array([len(episode) for episode in rollouts(agent, agent.front)], dtype=np.float64)
    column = np.random.default_rng(0).normal(size=len(bias)) * gain / lengths.max()
    layers = (
        (np.column_stack([weight, column]).astype(np.float32), (bias - column * lengths.mean()).astype(np.float32)),
        *rest,
    )
    front = np.column_stack([agent.front, np.maximum(lengths // 2, 1)])  # it stops at 1 half way
    space = pf.CommandSpace(
        [*agent.space.low, 1.0], [*agent.space.high, float(lengths.max())], (*agent.space.objectives, HORIZON)
    )
    return pf.Agent(f"{name} with a horizon", replace(agent.policy, command=layers), agent.environment, space, front)


def of_horizon_agents() -> Iterator[Paragraph]:
    yield from spread([with_horizon(name) for name in SMALL], explained)


@cache
def imported_agents() -> list[pf.Agent]:
    """Return agents from checkpoints of MORL-Baselines and of the authors, with and without a horizon."""
    files = {
        "authors": authors_file(authors_network(121, 2, 4)),
        "authors-horizon": authors_file(authors_network(121, 3, 4), horizon=True),
        "morl": morl_file(morl_network(2, 3, 4)),
    }
    agents = []
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            file = Path(folder) / f"{name}.pt"
            file.write_bytes(content)
            front = Path(folder) / f"{name}.txt"
            commands = [[8.2, -3], [11.5, -5], [20.3, -13]] if name == "authors" else [[8, -9, 3], [16, -9, 9]]
            front.write_text("\n".join(",".join(map(str, command)) for command in commands))
            agents.append(pf.import_agent(file, "deep-sea-treasure", front=front))
    return agents


@cache
def imported_policies(name: str) -> list[Any]:
    """Return the network of a shipped agent as a torch module, an ONNX model and a function."""
    agent = pf.load_agent(name)
    assert isinstance(agent.policy, PCNPolicy)
    network, state = Network(agent.policy.arrays()).eval(), pf.rollout(agent, agent.front[0])[0].state

    def call(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.tensor(states).float(), torch.tensor(commands).float()).numpy()  # type: ignore[no-any-return]

    with TemporaryDirectory() as folder:
        file = Path(folder) / "network.onnx"
        file.write_bytes(onnx_model(agent.policy.arrays()).SerializeToString())
        return [pf.from_torch(network, state, agent.space), pf.from_onnx(file, state, agent.space), call]


class AsPolicy:
    """A function with the method of a policy."""

    def __init__(self, function: Any) -> None:
        self.log_probs = getattr(function, "log_probs", function)


def of_imported() -> Iterator[Paragraph]:
    agents = spread(imported_agents(), explained)
    policies = of_policies()
    for pair in itertools.zip_longest(agents, policies):
        yield from filter(None, pair)


def of_policies() -> Iterator[Paragraph]:
    turns = itertools.cycle(RESTRICTED)
    for decisions in zip(*(decisions_of(pf.load_agent(name)) for name in SMALL[:3]), strict=False):
        for name, decision in zip(SMALL, decisions, strict=False):
            agent = pf.load_agent(name)
            for policy, options in zip(imported_policies(name), turns, strict=False):
                given = chosen_options(agent, decision, options)
                answers = pf.explain_decision(
                    policy, decision, space=agent.space, actions=agent.actions, front=agent.front, **given
                )
                phrases = [f"chosen {action}" for action in agent.actions]
                facts = Facts(decision, AsPolicy(policy), agent.space, agent.actions, phrases)
                for answer in answers:
                    yield from of_answer(facts, answer)


ACTIONS = ("up", "down", "left", "right")
PHRASES = tuple(f"chosen {action}" for action in ACTIONS)
WEIGHED: list[dict[str, Any]] = [{}, {"keep": ["ore"]}, {"ranges": {"ore": (0.1, 0.45)}}, {"sparse": True}, {"k": 2}]
WEIGHTS = pf.CommandSpace.preferences(["fuel", "ore", "time"])


def constant(table: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of the state that returns the table."""
    return lambda state: table


@cache
def weighing_policies() -> list[tuple[Any, np.ndarray]]:
    """Return policies that take preferences, and a state of each: tables, networks of values and of probabilities."""
    policies: list[tuple[Any, np.ndarray]] = []
    for seed in range(6):
        table = 10.0 * np.random.default_rng(seed).normal(size=(4, 3, 3))
        policies.append((pf.from_q_table(constant(table)), np.zeros(1)))
        policies.append((random_envelope(seed, 3), np.zeros(1)))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            network = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
        network[0].weight.data *= 6
        state = np.array([0.5, 0.2])
        policies.append((pf.from_torch(network, state=state, space=WEIGHTS, inputs="concatenated"), state))
    return policies


def weighing_decisions() -> Iterator[tuple[Any, pf.Decision]]:
    rng = np.random.default_rng(0)
    while True:
        for policy, state in weighing_policies():
            weights = np.round(rng.dirichlet([3, 3, 3]), 3)
            weights[1] = min(max(weights[1], 0.15), 0.4)
            weights[2] = 1 - weights[0] - weights[1]
            if weights[2] < 0:
                continue
            scores = policy.log_probs(state[None].astype(np.float32), weights[None])[0]
            yield policy, pf.Decision(state, weights, (0, 1, 2, 3), int(scores.argmax()), np.zeros(3))


def of_preferences() -> Iterator[Paragraph]:
    agents = itertools.cycle(decisions_of(weighing))
    for (policy, decision), options in zip(weighing_decisions(), itertools.cycle(WEIGHED)):
        answers = pf.explain_decision(policy, decision, space=WEIGHTS, actions=ACTIONS, **arguments(**options))
        for answer in answers:
            yield from of_answer(Facts(decision, policy, WEIGHTS, ACTIONS, PHRASES), answer)
        yield from explained(weighing, next(agents), {})


def of_influence() -> Iterator[Paragraph]:
    agents = [pf.load_agent(name) for name in (*SMALL, "minecart")]
    agents += [*map(with_horizon, SMALL[:2]), *imported_agents()[:2]]
    turns = [iter(decisions_of(agent)) for agent in agents]
    weighed, seeds = weighing_decisions(), itertools.count()
    while True:
        for agent, decisions in zip(agents, turns, strict=True):
            decision, seed = next(decisions, None), next(seeds)
            if decision is None:
                continue
            if seed % 4 == 3 and not agent.horizon and agent.environment.finite:
                decision = own_decision(agent, decision, seed)
            yield of_one_influence(Facts.of(agent, decision), pf.influence(agent, decision, **SHORT))
        policy, decision = next(weighed)
        found = pf.influence(policy, decision, space=WEIGHTS, actions=ACTIONS, **SHORT)
        yield of_one_influence(Facts(decision, policy, WEIGHTS, ACTIONS, PHRASES), found)
        agent = agents[next(seeds) % 4]
        episode = pf.rollout(agent, agent.front[next(seeds) % len(agent.front)])
        profile = influence_episode(agent, episode, samples=1000, seconds=0.05)
        yield Paragraph(str(profile), partial(ProfileReader, agent, episode, profile))


def of_one_influence(facts: Facts, influence: Any) -> Paragraph:
    return Paragraph(str(influence), partial(InfluenceReader, facts, influence))


def of_never() -> Iterator[Paragraph]:
    agents = [*(pf.load_agent(name) for name in SMALL), with_horizon(SMALL[0])]
    widths = itertools.cycle([0.0, 0.01, 0.05])
    for part in itertools.count():
        for agent in agents:
            decisions = decisions_of(agent)[(part * 5) : (part * 5 + 1 + part % 7)]
            if not decisions:
                return
            for action in agent.actions:
                width = next(widths)
                claim = pf.never(agent, action, states=decisions, width=width, seconds=0.2, max_boxes=3000)
                yield Paragraph(claim.sentence(), partial(NeverReader, agent, decisions, claim))


def of_flip_maps() -> Iterator[Paragraph]:
    agents = [*(pf.load_agent(name) for name in SMALL[:4]), *map(with_horizon, SMALL[:3])]
    searches = itertools.cycle([Boundary(max_queries=300), "auto", Exact(max_boxes=10, start=None)])
    for point in range(max(len(agent.front) for agent in agents)):
        for agent in agents:
            if point >= len(agent.front):
                continue
            episode = pf.rollout(agent, agent.front[point])
            if len(episode) > 15:
                continue
            flips = pf.explain_episode(agent, episode, search=next(searches))
            reader = FlipMapReader(agent, episode, flips)
            yield Paragraph(reader.text, partial(FlipMapReader, agent, episode, flips))


KINDS: dict[str, Callable[[], Iterator[Paragraph]]] = {
    "episodes": of_episodes,
    "own decisions": of_own_decisions,
    "horizon agents": of_horizon_agents,
    "imported agents": of_imported,
    "preferences": of_preferences,
    "influence": of_influence,
    "never": of_never,
    "flip maps": of_flip_maps,
}


def paragraphs(kind: str, count: int) -> Iterator[Paragraph]:
    """Yield so many texts of a kind."""
    return itertools.islice(KINDS[kind](), count)

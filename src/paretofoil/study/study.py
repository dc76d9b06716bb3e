"""Studies: agents, searches and a rule for the cases. Their configuration determines the rows."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from itertools import product
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import numpy as np

from paretofoil.agents import Agent, list_agents, load_agent
from paretofoil.agents.agent import rollouts
from paretofoil.core import __version__
from paretofoil.core.amounts import query_amounts
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Count, brief, read_value
from paretofoil.core.options import DEFAULTS
from paretofoil.core.policy import is_white_box, query, tells_values
from paretofoil.core.question import KAPPA, Question
from paretofoil.core.search import Search
from paretofoil.explanation.outcome import check_outcome, outcome
from paretofoil.pcn.policy import PCNActor, PCNPolicy
from paretofoil.search.exact import Exact
from paretofoil.search.registry import choose_search, search_classes
from paretofoil.study.case import STRESS, Case, CaseRule, OutcomeQuestion, enumerate_cases, make_case_questions


@dataclass(frozen=True, eq=False)
class Study:
    """A batch of questions: agents, searches that answer, and a rule for the cases."""

    agents: tuple[Agent, ...]
    searches: Mapping[str, Search]
    """The searches by label, which rows and tables use."""
    rule: CaseRule = STRESS
    seed: int = 0
    """Seed of the environments; each search has its own."""
    kappa: float | None = None
    """Margin by which foils must win; None for the default of each agent."""
    only: frozenset[Case] | None = None
    """Ask only these of the rule's cases; None for all."""
    sources: Mapping[str, str] | None = None
    """The name or folder from which each agent was loaded, so that the study can be resumed from its file."""

    def __post_init__(self) -> None:
        names = [agent.name for agent in self.agents]
        if not names or len(set(names)) != len(names):
            raise InvalidInput.expected("at least one agent, each with its own name", names)
        if not self.searches:
            raise InvalidInput.expected("at least one search", dict(self.searches))
        if self.rule.outcomes:
            others = [label for label, search in self.searches.items() if not isinstance(search, Exact)]
            if others or self.kappa is not None:
                got = ", ".join(others) or f"kappa={self.kappa}"
                raise InvalidInput.expected("only the search exact and no kappa, because the foils are outcomes", got)
            for agent, text in product(self.agents, self.rule.outcomes):
                check_outcome(agent, outcome(text), "exact", DEFAULTS)

    def cases(self, agent: Agent) -> Iterator[tuple[Case, Decision]]:
        """Yield every case of one agent with its decision."""
        cases = enumerate_cases(agent, self.rule, self.seed)
        return ((case, decision) for case, decision in cases if self.only is None or case in self.only)

    def count(self, agent: Agent) -> int:
        """Return the number of cases of one agent."""
        return sum(1 for _ in self.cases(agent))

    def questions(
        self, agent: Agent, cases: Iterable[tuple[Case, Decision]] | None = None
    ) -> Iterator[tuple[Case, Question | OutcomeQuestion]]:
        """Yield every case of one agent, or some cases in the order of `cases`, with its question."""
        chosen, rule = self.cases(agent) if cases is None else cases, self.rule
        if rule.outcomes:
            return ((case, OutcomeQuestion(agent, d, rule.outcomes[case.foil], rule.box)) for case, d in chosen)
        return make_case_questions(agent, chosen, self.kappa, self.rule.box)

    def configuration(self) -> dict[str, Any]:
        """Return the configuration as JSON values. Studies with equal configurations have equal rows.

        A default kappa is stored as a number. It is None for action values, where each decision has its own kappa, and
        for outcomes, which have none.
        """
        own = self.rule.outcomes or any(a.actor or tells_values(a.discrete_policy) for a in self.agents)
        default = None if own else KAPPA
        return {
            "paretofoil": __version__,
            "agents": {agent.name: fingerprint(agent) for agent in self.agents},
            "searches": {label: describe_search(search) for label, search in self.searches.items()},
            "rule": describe_rule(self.rule),
            "seed": self.seed,
            "kappa": default if self.kappa is None else self.kappa,
            "only": None if self.only is None else [list(astuple(case)) for case in sorted(self.only)],
        }


def make_study(
    agents: Sequence[str | Path | Agent],
    searches: Sequence[str] | Mapping[str, Search],
    rule: CaseRule = STRESS,
    *,
    seed: int = 0,
    kappa: float | None = None,
    only: Iterable[Case] | None = None,
) -> Study:
    """Return a study of agents and searches given by name: `make_study(["branch-path"], ["cf-zoo", "exact"])`."""
    loaded, sources = [], {}
    for item in agents:
        agent = item if isinstance(item, Agent) else load_agent(item)
        loaded.append(agent)
        if not isinstance(item, Agent):
            sources[agent.name] = str(item) if str(item) in list_agents() else str(Path(item).resolve())
    if not loaded:
        raise InvalidInput.expected("at least one agent", list(agents))
    if not isinstance(searches, Mapping):
        black_box = [agent.policy for agent in loaded if not is_white_box(agent.policy)]
        policy = black_box[0] if black_box else loaded[0].policy  # "auto" must suit every agent
        searches = {label: choose_search(label, policy, seed) for label in searches}
    return Study(tuple(loaded), searches, rule, seed, kappa, None if only is None else frozenset(only), sources)


@dataclass(frozen=True)
class Configuration:
    """The stored form of a configuration."""

    paretofoil: str
    agents: dict[str, str]
    searches: dict[str, dict[str, Any]]
    rule: CaseRule
    seed: Count
    kappa: float | None
    only: tuple[tuple[str, Count, Count, Count], ...] | None
    """Cases as (agent, front, step, foil)."""


def read_configuration(stored: Any) -> dict[str, Any]:
    """Return a stored configuration after checking all fields. Older files have `times` for `steps`."""
    rule = stored.get("rule") if isinstance(stored, Mapping) else None
    if isinstance(rule, Mapping):
        stored = {**stored, "rule": {"steps" if name == "times" else name: value for name, value in rule.items()}}
    read_value(Configuration, stored, "the configuration of a study")
    return dict(stored)


def restore_study(configuration: Mapping[str, Any], sources: Mapping[str, str], path: str | Path) -> Study:
    """Return the study of a file. It is an error if an agent or a search has changed since."""
    stored = read_value(Configuration, configuration, "the configuration of a study")
    missing = [name for name in stored.agents if name not in sources]
    if missing:
        raise InvalidInput(
            f"expected agents that were loaded by name or folder, got {brief(missing)}, which a program defined; "
            "call run_study with the same study in that program"
        )
    study = make_study(
        [sources[name] for name in stored.agents],
        {label: restore_search(description) for label, description in stored.searches.items()},
        stored.rule,
        seed=stored.seed,
        kappa=stored.kappa,
        only=None if stored.only is None else (Case(*case) for case in stored.only),
    )
    check_same(configuration, json.loads(json.dumps(study.configuration())), path)
    return study


def check_same(stored: Mapping[str, Any], current: Mapping[str, Any], path: str | Path) -> None:
    """Raise an error if two configurations differ, because their rows must not be mixed."""
    part, old, new = "", stored, current
    while isinstance(old, Mapping) and isinstance(new, Mapping):
        key = next((key for key in {**old, **new} if old.get(key) != new.get(key)), None)
        if key is None:
            return
        part, old, new = f"{part}: {key}" if part else key, old.get(key), new.get(key)  # type: ignore[assignment]
    raise InvalidInput(
        f"expected the settings of the study in {path} ({part} = {brief(old)}), got {part} = {brief(new)}; "
        "choose a new file for a new study (--out)"
    )


def describe_rule(rule: CaseRule) -> dict[str, Any]:
    """Return a rule as JSON values, without outcomes if it has none."""
    return {name: value for name, value in asdict(rule).items() if value != ()}


def describe_search(search: Any) -> dict[str, Any]:
    """Return the class and the fields of a search as JSON values, including nested searches and settings."""
    if not is_dataclass(search) or isinstance(search, type):
        raise InvalidInput.expected("a search that is a dataclass, whose fields are its settings", repr(search))
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    described = {name: describe_search(value) if is_dataclass(value) else value for name, value in values.items()}
    return {"class": type(search).__name__, **described}


MAX_WORK = 1_000_000
"""Largest whole number among the settings of a stored search, because a file must not make it run for ever."""
MAX_WORK_OF = {"max_boxes": 10_000_000, **dict.fromkeys(("binary_search_steps", "max_iter", "bisections"), 1_000)}
MAX_WORK_OF |= {"max_halving": 100, "max_doubling": 100}
"""Other limits: of settings that cost less, and of settings that multiply each other."""
MAX_VALUES = 1_000
"""Largest number of values of one setting."""


def restore_search(description: Mapping[str, Any]) -> Any:
    """Return the search that `describe_search` described."""
    name, classes = read_value(str, description.get("class"), "the class of a search"), search_classes()
    if name not in classes:
        raise InvalidInput(
            f"expected a registered search, got {brief(name)}, which a program defined; "
            "call run_study with the same study in that program"
        )
    kind: Any = classes[name]
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    unknown = [key for key in description if key != "class" and key not in names]
    if unknown:
        raise InvalidInput.expected(f"settings of {name} among {', '.join(names)}", brief(unknown[0]))
    settings = {key: _read_setting(key, hints[key], value) for key, value in description.items() if key != "class"}
    try:
        return kind(**settings)
    except TypeError as error:
        raise InvalidInput.expected(f"a value for every setting of {name}", error) from None


def _read_setting(name: str, hint: Any, value: Any) -> Any:
    """Return a setting with its declared type; a nested search is restored."""
    plain = (bool, int, float, str, NoneType)
    nested = next((kind for kind in (hint, *get_args(hint)) if isinstance(kind, type) and kind not in plain), None)
    if isinstance(value, Mapping) or (nested and value is not None):
        setting = restore_search(value) if isinstance(value, Mapping) else value
        if nested and not isinstance(setting, nested):
            raise InvalidInput.expected(f"{name} to be a {nested.__name__}", brief(value))
        return setting
    setting = read_value(hint, value, name)
    if isinstance(setting, tuple) and len(setting) > MAX_VALUES:
        raise InvalidInput.expected(f"{name} of at most {MAX_VALUES:,} values", f"{len(setting):,}")
    most = MAX_WORK_OF.get(name, MAX_WORK)
    if name != "seed" and any(type(item) is int and abs(item) > most for item in np.atleast_1d(setting).tolist()):
        raise InvalidInput.expected(f"{name} of at most {most:,}", brief(value))
    return setting


def fingerprint(agent: Agent) -> str:
    """Return a hash of all that determines an agent's answers: weights, front, commands, environment, names."""
    environment = agent.environment
    parts = [environment.name, environment.gym_id, environment.max_steps, sorted(environment.kwargs.items())]
    digest = hashlib.sha256(repr([*parts, environment.actions, agent.space.objectives]).encode())
    features = [(o.feature, o.whole) for o in agent.space.command_objectives]
    if any(map(any, features)):
        digest.update(repr(features).encode())
    for name, array in (*_arrays(agent), ("front", agent.front), ("low", agent.space.low), ("high", agent.space.high)):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _arrays(agent: Agent) -> list[tuple[str, np.ndarray]]:
    """Return the weights of a PCN, or 256 outputs of any other policy in states that it visits."""
    if isinstance(agent.policy, PCNPolicy | PCNActor):
        return sorted(agent.policy.arrays().items())
    issued = agent.front[:4] if len(agent.front) else ((agent.space.low + agent.space.high) / 2)[None]
    visited = [decision.state for episode in rollouts(agent, issued, seed=0) for decision in episode.decisions]
    states = np.stack(visited)[np.arange(256) % len(visited)]
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, (256, agent.space.dim))
    actor = agent.actor
    scores = query_amounts(actor, states, commands) if actor else query(agent.discrete_policy, states, commands)
    return [("answers", np.round(scores.astype(np.float64), 4) + 0.0)]  # + 0.0 turns -0.0 into 0.0

"""Studies: agents, searches and a rule for the cases. Their configuration determines the rows."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from paretofoil.agents import Agent, list_agents, load_agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.constants import KAPPA
from paretofoil.core.document import (
    Reader,
    by_name,
    finite,
    flag,
    integer,
    one_of,
    optional,
    record,
    renamed,
    several,
    text,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import MAX_INTEGER, brief
from paretofoil.core.policy import is_white_box, tells_values
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.core.version import __version__
from paretofoil.explanation.pose import Box
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search.registry import choose_search, search_classes
from paretofoil.study.case import STRESS, Case, CaseRule, enumerate_cases, make_case_questions


@dataclass(frozen=True, eq=False)
class Study:
    """A batch of questions: agents, the searches that answer, and a rule for the cases."""

    agents: tuple[Agent, ...]
    searches: Mapping[str, Search]
    """By the label that rows and tables use."""
    rule: CaseRule = STRESS
    seed: int = 0
    """Seed of the environments; each search has its own."""
    kappa: float | None = None
    """Margin by which foils must win; None for the default of each agent."""
    only: frozenset[Case] | None = None
    """Ask only these of the rule's cases; None for all."""
    sources: Mapping[str, str] | None = None
    """Name or folder that each agent was loaded from, so that the study can be resumed from its file."""

    def __post_init__(self) -> None:
        names = [agent.name for agent in self.agents]
        if not names or len(set(names)) != len(names):
            raise InvalidInput.expected("at least one agent, with different names", names)
        if not self.searches:
            raise InvalidInput.expected("at least one search", dict(self.searches))

    def questions(self, agent: Agent) -> Iterator[tuple[Case, Question]]:
        """Yield every case of one agent with its question."""
        cases = enumerate_cases(agent, self.rule, self.seed)
        chosen = ((case, decision) for case, decision in cases if self.only is None or case in self.only)
        yield from make_case_questions(agent, chosen, self.kappa, self.rule.box)

    def configuration(self) -> dict[str, Any]:
        """Return the configuration as JSON values. Studies with equal configurations have equal rows.

        A default kappa is stored as its number, unless an agent has action values: each decision then has its own.
        """
        default = None if any(tells_values(agent.policy) for agent in self.agents) else KAPPA
        return {
            "paretofoil": __version__,
            "agents": {agent.name: fingerprint(agent) for agent in self.agents},
            "searches": {label: describe_search(search) for label, search in self.searches.items()},
            "rule": asdict(self.rule),
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


def _read_case(value: Any) -> Case:
    if not isinstance(value, list) or len(value) != 4:
        raise InvalidInput.expected("a case as [agent, front, step, foil]", brief(value))
    return Case(text(value[0]), *map(count, value[1:]))


def _read_description(value: Any) -> Any:
    """Return the stored description of a search; `restore_search` reads its settings."""
    record({"class": text})(value)
    return value


count = within(integer, 0, MAX_INTEGER)
_read_fields = record(
    {
        "paretofoil": text,
        "agents": by_name(text),
        "searches": by_name(_read_description),
        "rule": record(
            {**dict.fromkeys(("commands", "steps", "foils"), optional(count)), "box": one_of(*get_args(Box))}
        ),
        "seed": count,
        "kappa": optional(finite),
        "only": optional(several(_read_case)),
    }
)


def upgrade_configuration(stored: Any) -> Any:
    """Return a stored configuration with the names of this version; older files say `times` for `steps`."""
    rule = stored.get("rule") if isinstance(stored, Mapping) else None
    return {**stored, "rule": renamed(rule, times="steps")} if isinstance(rule, Mapping) else stored


def read_configuration(stored: Any) -> dict[str, Any]:
    """Return a stored configuration, of this version or an older one, with every field checked."""
    return _read_fields(upgrade_configuration(stored))


def restore_study(configuration: Mapping[str, Any], sources: Mapping[str, str], path: str | Path) -> Study:
    """Return the study of a file. An agent or a search that has changed since is an error."""
    stored = read_configuration(configuration)
    missing = [name for name in stored["agents"] if name not in sources]
    if missing:
        raise InvalidInput(
            f"expected agents that were loaded by name or folder, got {brief(missing)}, defined in Python; "
            "call run_study with the same study there"
        )
    study = make_study(
        [sources[name] for name in stored["agents"]],
        {label: restore_search(description) for label, description in stored["searches"].items()},
        CaseRule(**stored["rule"]),
        seed=stored["seed"],
        kappa=stored["kappa"],
        only=stored["only"],
    )
    check_same(configuration, json.loads(json.dumps(study.configuration())), path)
    return study


def check_same(stored: Mapping[str, Any], current: Mapping[str, Any], path: str | Path) -> None:
    """Raise an error that names the first difference of two configurations: their rows must not be mixed."""
    part, old, new = "", stored, current
    while isinstance(old, Mapping) and isinstance(new, Mapping):
        key = next((key for key in {**old, **new} if old.get(key) != new.get(key)), None)
        if key is None:
            return
        part, old, new = f"{part}: {key}" if part else key, old.get(key), new.get(key)  # type: ignore[assignment]
    raise InvalidInput(
        f"expected the study that is in {path} ({part} = {_shorten(old)}), got {part} = {_shorten(new)}; "
        "write another study to another file (--out)"
    )


def _shorten(value: Any) -> str:
    words = "none" if value is None else str(value)
    return words if len(words) <= 80 else f"{words[:77]}..."


def describe_search(search: Any) -> dict[str, Any]:
    """Return the class and the fields of a search as JSON values; searches and settings inside it likewise."""
    if not is_dataclass(search) or isinstance(search, type):
        raise InvalidInput.expected("a search that is a dataclass, whose fields are its settings", repr(search))
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    described = {name: describe_search(value) if is_dataclass(value) else value for name, value in values.items()}
    return {"class": type(search).__name__, **described}


MOST_WORK = 1_000_000
"""Largest number of queries, steps or the like in a stored search: a file must not make a search run for ever."""
MOST_WORK_OF = {"max_boxes": 10_000_000, **dict.fromkeys(("binary_search_steps", "max_iter", "bisections"), 1_000)}
MOST_WORK_OF |= {"max_halving": 100, "max_doubling": 100}
"""Other limits, of settings that cost less or that multiply each other."""


def restore_search(description: Mapping[str, Any]) -> Any:
    """Return the search that `describe_search` described."""
    name, classes = _read_description(description)["class"], search_classes()
    if name not in classes:
        raise InvalidInput(
            f"expected a registered search, got {brief(name)}, defined in Python; "
            "call run_study with the same study there"
        )
    kind: Any = classes[name]
    hints = get_type_hints(kind)
    readers = {field.name: _setting(field.name, hints[field.name]) for field in fields(kind)}
    unknown = [key for key in description if key != "class" and key not in readers]
    if unknown:
        raise InvalidInput.expected(f"settings of {name} among {', '.join(readers)}", brief(unknown[0]))
    settings = record({}, readers)(description)
    try:
        return kind(**settings)
    except TypeError as error:
        raise InvalidInput.expected(f"all settings of {name}", error) from None


def _setting(name: str, hint: Any) -> Reader:
    """Return the reader of a search's setting for its declared type."""
    most = MOST_WORK_OF.get(name, MOST_WORK)
    whole = count if name == "seed" else within(integer, -most, most)
    plain: dict[Any, Reader] = {bool: flag, float: finite, str: text, int: whole}
    if hint in plain:
        return plain[hint]
    kinds = get_args(hint)
    if get_origin(hint) is Literal:
        return one_of(*kinds)
    if get_origin(hint) is tuple:
        return several(_setting(name, kinds[0]), most=1_000)
    if NoneType in kinds:
        return optional(_setting(name, next(kind for kind in kinds if kind is not NoneType)))
    return lambda value: _nested(value, hint)


def _nested(value: Any, hint: Any) -> Any:
    """Return a search inside a search; a value of any other declared type is returned as it is."""
    made = restore_search(value) if isinstance(value, Mapping) else tuple(value) if isinstance(value, list) else value
    if isinstance(hint, type) and not isinstance(made, hint):
        raise InvalidInput.expected(f"a {hint.__name__}", brief(value))
    return made


def fingerprint(agent: Agent) -> str:
    """Return a hash of everything that determines an agent's answers: weights, front, commands, environment, names."""
    environment = agent.environment
    parts = [environment.name, environment.gym_id, environment.max_steps, sorted(environment.kwargs.items())]
    digest = hashlib.sha256(repr([*parts, environment.actions, agent.space.objectives]).encode())
    for name, array in (*_arrays(agent), ("front", agent.front), ("low", agent.space.low), ("high", agent.space.high)):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _arrays(agent: Agent) -> list[tuple[str, np.ndarray]]:
    """Return the weights of a PCN; for any other policy 256 of its outputs in states it visits."""
    if isinstance(agent.policy, PCNPolicy):
        return sorted(agent.policy.arrays().items())
    issued = agent.front[:4] if len(agent.front) else ((agent.space.low + agent.space.high) / 2)[None]
    visited = [decision.state for episode in rollouts(agent, issued, seed=0) for decision in episode.decisions]
    states = np.stack(visited)[np.arange(256) % len(visited)]
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, (256, agent.space.dim))
    scores = np.asarray(agent.policy.log_probs(states, commands), dtype=np.float64)
    return [("answers", np.round(scores, 4) + 0.0)]  # + 0.0 turns -0.0 into 0.0

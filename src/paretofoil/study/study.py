"""Studies: agents, searches and a rule for the cases; everything that decides what the rows will be."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import numpy as np

from paretofoil.agents import Agent, list_agents, load_agent
from paretofoil.agents.rollout import rollouts
from paretofoil.core.constants import KAPPA
from paretofoil.core.document import (
    MAX_INTEGER,
    Reader,
    brief,
    by_name,
    finite,
    flag,
    integer,
    one_of,
    optional,
    record,
    several,
    text,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.policy import is_white_box, tells_values
from paretofoil.core.question import Question
from paretofoil.core.search import Search
from paretofoil.core.version import __version__
from paretofoil.explanation.pose import Box
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search.registry import choose_search, search_classes
from paretofoil.study.case import STRESS, Case, CaseRule, enumerate_cases, pose_cases


@dataclass(frozen=True, eq=False)
class Study:
    """What is asked, of whom, and by which searches."""

    agents: tuple[Agent, ...]
    searches: Mapping[str, Search]
    """Each under the label that tables and rows call it by."""
    rule: CaseRule = STRESS
    seed: int = 0
    """Of chance in the environments; a search brings its own seed."""
    kappa: float | None = None
    """By how much foils must win; None for what is usual of each agent."""
    only: frozenset[Case] | None = None
    """Only these of the cases that the rule gives; all of them if None."""
    sources: Mapping[str, str] | None = None
    """For each agent's name what it was loaded from, so that a study can be resumed from its file alone."""

    def __post_init__(self) -> None:
        names = [agent.name for agent in self.agents]
        if not names or len(set(names)) != len(names):
            raise InvalidInput.expected("at least one agent, each with a name of its own", names or "none")
        if not self.searches:
            raise InvalidInput.expected("at least one search", "none")

    def questions(self, agent: Agent) -> Iterator[tuple[Case, Question]]:
        """Every case of one agent as a question."""
        cases = enumerate_cases(agent, self.rule, self.seed)
        chosen = ((case, decision) for case, decision in cases if self.only is None or case in self.only)
        yield from pose_cases(agent, chosen, self.kappa, self.rule.box)

    def configuration(self) -> dict[str, Any]:
        """As JSON: two studies with the same configuration give the same rows.

        A kappa that is left out is told as the number that it is, unless each moment of an agent of values has its own.
        """
        usual = None if any(tells_values(agent.policy) for agent in self.agents) else KAPPA
        return {
            "paretofoil": __version__,
            "agents": {agent.name: fingerprint(agent) for agent in self.agents},
            "searches": {label: describe_search(search) for label, search in self.searches.items()},
            "rule": asdict(self.rule),
            "seed": self.seed,
            "kappa": usual if self.kappa is None else self.kappa,
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
    """A study from names: `make_study(["branch-path"], ["cf-zoo", "exact"])`."""
    loaded, sources = [], {}
    for item in agents:
        agent = item if isinstance(item, Agent) else load_agent(item)
        loaded.append(agent)
        if not isinstance(item, Agent):
            sources[agent.name] = str(item) if str(item) in list_agents() else str(Path(item).resolve())
    if not loaded:
        raise InvalidInput.expected("at least one agent", "none")
    if not isinstance(searches, Mapping):
        closed = [agent.policy for agent in loaded if not is_white_box(agent.policy)]
        decisive = closed[0] if closed else loaded[0].policy  # "auto" must suit every agent
        searches = {label: choose_search(label, decisive, seed) for label in searches}
    kept = None if only is None else frozenset(only)
    return Study(tuple(loaded), searches, rule, seed, kappa, kept, sources)


def _read_case(value: Any) -> Case:
    if not isinstance(value, list) or len(value) != 4:
        raise InvalidInput.expected("a case as agent, front, step, foil", brief(value))
    return Case(text(value[0]), *map(count, value[1:]))


def _described(value: Any) -> Any:
    """A search as it stands in a file; it is restored when it is needed."""
    record({"class": text})(value)
    return value


count = within(integer, 0, MAX_INTEGER)
_configuration = record(
    {
        "paretofoil": text,
        "agents": by_name(text),
        "searches": by_name(_described),
        "rule": record(
            {**dict.fromkeys(("commands", "steps", "foils"), optional(count)), "box": one_of(*get_args(Box))}
        ),
        "seed": count,
        "kappa": optional(finite),
        "only": optional(several(_read_case)),
    }
)
"""What `Study.configuration` wrote, field by field."""


def upgrade_configuration(stored: Any) -> Any:
    """Return a stored configuration with the names of this version; older files say `times` for `steps`."""
    rule = stored.get("rule") if isinstance(stored, Mapping) else None
    if not isinstance(rule, Mapping) or "times" not in rule:
        return stored
    return {**stored, "rule": {("steps" if key == "times" else key): value for key, value in rule.items()}}


def read_configuration(stored: Any) -> dict[str, Any]:
    """Return a stored configuration, of this version or an older one, with every field checked."""
    read: dict[str, Any] = _configuration(upgrade_configuration(stored))
    return read


def restore_study(configuration: Mapping[str, Any], sources: Mapping[str, str], path: str | Path) -> Study:
    """The study of a file, to go on with it; whatever has changed since is refused."""
    read = read_configuration(configuration)
    missing = [name for name in read["agents"] if name not in sources]
    if missing:
        raise InvalidInput(
            f"expected agents that were loaded by name or folder, got {brief(missing)} made in Python; run it there"
        )
    study = make_study(
        [sources[name] for name in read["agents"]],
        {label: restore_search(described) for label, described in read["searches"].items()},
        CaseRule(**read["rule"]),
        seed=read["seed"],
        kappa=read["kappa"],
        only=read["only"],
    )
    check_same(configuration, json.loads(json.dumps(study.configuration())), path)
    return study


def check_same(stored: Mapping[str, Any], now: Mapping[str, Any], path: str | Path) -> None:
    """Rows of different configurations are never mixed: say which part differs."""
    part, old, new = "", cast(Any, stored), cast(Any, now)
    while isinstance(old, Mapping) and isinstance(new, Mapping):
        differs = [key for key in {**old, **new} if old.get(key) != new.get(key)]
        if not differs:
            return
        part, old, new = f"{part}: {differs[0]}" if part else differs[0], old.get(differs[0]), new.get(differs[0])
    raise InvalidInput(
        f"expected the study that is in {path} ({part} = {_brief(old)}), got another ({_brief(new)}); "
        "answers are never mixed: write it somewhere else (--out)"
    )


def _brief(value: Any) -> str:
    words = "none" if value is None else str(value)
    return words if len(words) <= 80 else f"{words[:77]}..."


def describe_search(search: Any) -> dict[str, Any]:
    """The class and the fields of a search, as JSON; searches and settings inside it likewise."""
    if not is_dataclass(search) or isinstance(search, type):
        raise InvalidInput.expected("a search that is a dataclass, its fields being its configuration", repr(search))
    values = {field.name: getattr(search, field.name) for field in fields(search)}
    described = {name: describe_search(value) if is_dataclass(value) else value for name, value in values.items()}
    return {"class": type(search).__name__, **described}


MOST_WORK = 1_000_000
"""Queries, steps or whatever else a search's setting counts: a file cannot ask for more, or it would never end."""
MOST_WORK_OF = {"max_boxes": 10_000_000, **dict.fromkeys(("binary_search_steps", "max_iter", "bisections"), 1_000)}
MOST_WORK_OF |= {"max_halving": 100, "max_doubling": 100}
"""Of settings that are cheaper, or that multiply each other."""


def restore_search(description: Mapping[str, Any]) -> Any:
    """What `describe_search` described."""
    name, kinds = _described(description)["class"], search_classes()
    if name not in kinds:
        got = f"{brief(name)}, which was made in Python"
        raise InvalidInput(f"expected searches of this library, got {got}; run it there")
    kind = kinds[name]
    hints = get_type_hints(kind)
    readers = {field.name: _setting(field.name, hints[field.name]) for field in fields(kind)}  # type: ignore[arg-type]
    unknown = [key for key in description if key != "class" and key not in readers]
    if unknown:
        raise InvalidInput.expected(f"settings of {name} among {', '.join(readers)}", brief(unknown[0]))
    settings = record({}, readers)(description)
    try:
        return kind(**settings)
    except TypeError as error:
        raise InvalidInput.expected(f"all settings of {name}", error) from None


def _setting(name: str, hint: Any) -> Reader:
    """The reader of a search's setting, by the type that it is declared with."""
    plain: dict[Any, Reader] = {bool: flag, float: finite, str: text, int: _work(name)}
    kinds = get_args(hint)
    if hint in plain:
        return plain[hint]
    if get_origin(hint) is Literal:
        return one_of(*kinds)
    if get_origin(hint) is tuple:
        return several(_setting(name, kinds[0]), most=1_000)
    if NoneType in kinds:
        return optional(_setting(name, next(kind for kind in kinds if kind is not NoneType)))
    return lambda value: _restored(value, hint)


def _work(name: str) -> Reader:
    most = MOST_WORK_OF.get(name, MOST_WORK)
    return count if name == "seed" else within(integer, -most, most)


def _restored(value: Any, hint: Any) -> Any:
    """A search inside a search; what its author declared in another way is left as it is."""
    made = restore_search(value) if isinstance(value, Mapping) else tuple(value) if isinstance(value, list) else value
    if isinstance(hint, type) and not isinstance(made, hint):
        raise InvalidInput.expected(f"a {hint.__name__}", brief(value))
    return made


def fingerprint(agent: Agent) -> str:
    """A hash of all that decides an agent's answers and their words: weights, front, commands, environment, names."""
    environment = agent.environment
    parts = [environment.name, environment.gym_id, environment.max_steps, sorted(environment.kwargs.items())]
    digest = hashlib.sha256(repr([*parts, environment.actions, agent.space.objectives]).encode())
    for name, array in (*_arrays(agent), ("front", agent.front), ("low", agent.space.low), ("high", agent.space.high)):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _arrays(agent: Agent) -> list[tuple[str, np.ndarray]]:
    """The weights of a PCN. Of another policy, whatever it is made of, its answers: 256 of them, in states it meets."""
    if isinstance(agent.policy, PCNPolicy):
        return sorted(agent.policy.arrays().items())
    issued = agent.front[:4] if len(agent.front) else ((agent.space.low + agent.space.high) / 2)[None]
    met = [decision.state for episode in rollouts(agent, issued, seed=0) for decision in episode.decisions]
    states = np.stack(met)[np.arange(256) % len(met)]
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, (256, agent.space.dim))
    scores = np.asarray(agent.policy.log_probs(states, commands), dtype=np.float64)
    return [("answers", np.round(scores, 4) + 0.0)]  # + 0.0: no -0.0

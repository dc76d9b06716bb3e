"""Studies: agents, searches and a rule for the cases; everything that decides what the rows will be."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from paretofoil.agents import Agent, load_agent
from paretofoil.errors import InvalidInput
from paretofoil.explanation import pose
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.question import KAPPA, Question
from paretofoil.search import SEARCH_CLASSES, Search, choose_search
from paretofoil.study.case import STRESS, Case, CaseRule, enumerate_cases


@dataclass(frozen=True, eq=False)
class Study:
    """What is asked, of whom, and by which searches."""

    agents: tuple[Agent, ...]
    searches: Mapping[str, Search]
    """Each under the label that tables and rows call it by."""
    rule: CaseRule = STRESS
    seed: int = 0
    """Of chance in the environments; a search brings its own seed."""
    kappa: float = KAPPA
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
        for case, decision in enumerate_cases(agent, self.rule, self.seed):
            if self.only is not None and case not in self.only:
                continue
            yield case, pose(agent.policy, decision, case.foil, agent.space, agent.front, kappa=self.kappa)

    def configuration(self) -> dict[str, Any]:
        """As JSON: two studies with the same configuration give the same rows."""
        return {
            "agents": {agent.name: fingerprint(agent) for agent in self.agents},
            "searches": {label: describe_search(search) for label, search in self.searches.items()},
            "rule": asdict(self.rule),
            "seed": self.seed,
            "kappa": self.kappa,
            "only": None if self.only is None else [list(astuple(case)) for case in sorted(self.only)],
        }


def make_study(
    agents: Sequence[str | Path | Agent],
    searches: Sequence[str] | Mapping[str, Search],
    rule: CaseRule = STRESS,
    *,
    seed: int = 0,
    kappa: float = KAPPA,
    only: Iterable[Case] | None = None,
) -> Study:
    """A study from names: `make_study(["branch-path"], ["cf-zoo", "exact"])`."""
    loaded, sources = [], {}
    for item in agents:
        agent = item if isinstance(item, Agent) else load_agent(item)
        loaded.append(agent)
        if not isinstance(item, Agent):
            sources[agent.name] = str(Path(item).resolve()) if Path(item).is_dir() else str(item)
    if not loaded:
        raise InvalidInput.expected("at least one agent", "none")
    if not isinstance(searches, Mapping):
        searches = {label: choose_search(label, loaded[0].policy, seed) for label in searches}
    kept = None if only is None else frozenset(only)
    return Study(tuple(loaded), searches, rule, seed, kappa, kept, sources)


def restore_study(configuration: Mapping[str, Any], sources: Mapping[str, str]) -> Study:
    """The study of a file, to go on with it; whatever has changed since is refused."""
    names = list(configuration["agents"])
    missing = [name for name in names if name not in sources]
    if missing:
        raise InvalidInput(
            f"expected agents that were loaded by name or folder, got {missing} made in Python; run it there"
        )
    rule = CaseRule(**configuration["rule"])
    study = make_study(
        [sources[name] for name in names],
        {label: restore_search(described) for label, described in configuration["searches"].items()},
        rule,
        seed=configuration["seed"],
        kappa=configuration["kappa"],
        only=None if configuration["only"] is None else [Case(*case) for case in configuration["only"]],
    )
    check_same(configuration, study.configuration())
    return study


def check_same(stored: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Rows of different configurations are never mixed: say which part differs."""
    for part in {**stored, **now}:
        old, new = stored.get(part), now.get(part)
        if new == old:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            differs = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
            first = differs[0]
            part, old, new = f"{part}: {first}", old.get(first, "none"), new.get(first, "none")
        raise InvalidInput(
            f"expected the study that is in the file ({part} = {old}), got another ({new}); write it into a new file"
        )


def restore_search(description: Mapping[str, Any]) -> Search:
    """The search that `describe_search` described."""
    kinds = {kind.__name__: kind for kind in SEARCH_CLASSES}
    settings = dict(description)
    name = settings.pop("search")
    if name not in kinds:
        raise InvalidInput(f"expected searches of this library, got {name}, which was made in Python; run it there")
    found: Search = kinds[name](**settings)
    return found


def describe_search(search: Search) -> dict[str, Any]:
    if not is_dataclass(search) or isinstance(search, type):
        raise InvalidInput.expected("a search that is a dataclass, its fields being its configuration", repr(search))
    return {"search": type(search).__name__, **asdict(search)}


def fingerprint(agent: Agent) -> str:
    """A hash of all that decides an agent's answers: weights, front, command box, environment."""
    digest = hashlib.sha256(f"{agent.environment.name} {agent.environment.max_steps}".encode())
    for name, array in (*_arrays(agent), ("front", agent.front), ("low", agent.space.low), ("high", agent.space.high)):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _arrays(agent: Agent) -> list[tuple[str, np.ndarray]]:
    if isinstance(agent.policy, PCNPolicy):
        return sorted(agent.policy.arrays().items())
    import joblib

    return [("policy", np.frombuffer(joblib.hash(agent.policy, hash_name="sha1").encode(), dtype=np.uint8))]

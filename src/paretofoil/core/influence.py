"""Influence: how much the command decides at one moment, or whether the state alone does."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.display import show
from paretofoil.core.document import (
    Reader,
    finite,
    flag,
    integer,
    objective,
    one_of,
    optional,
    record,
    several,
    sized,
    text,
    whole,
    within,
)
from paretofoil.core.errors import InvalidInput
from paretofoil.core.frame import as_frame
from paretofoil.core.json import MAX_INTEGER, brief, plain, read_document, write_document
from paretofoil.core.limit import Stop

SCHEMA = "paretofoil/influence/1"
CONFIDENCE = 0.95
"""Of the intervals around what samples say."""

Verdict = Literal["inert", "decides", "open"]
"""Proven that no command changes the action; some command is known that does; or neither."""


@dataclass(frozen=True)
class Share:
    """In how much of the region an action is chosen: what is proven, and what samples say."""

    action: int
    lower: float
    """Proven: it is chosen in at least this share of the region ..."""
    upper: float
    """... and in at most this; 0 and 1 if nothing is proven."""
    sampled: int
    """How many of the sampled commands choose it."""
    likely_low: float
    likely_high: float
    """The exact confidence interval (Clopper and Pearson) that the sample gives, at 95 %."""


@dataclass(frozen=True)
class Turn:
    """A value of one objective at which another action is chosen; asked of the policy itself."""

    value: float
    action: int


@dataclass(frozen=True)
class Alone:
    """What one objective does, all others staying what the command says."""

    objective: int
    lower: float
    upper: float
    """Proven: another action is chosen in at least, and at most, this share of its range; 0 and 1 if nothing is."""
    sampled: float
    """The same at evenly spaced values."""
    down: Turn | None
    up: Turn | None
    """The nearest values that were found below and above the command's; None if no value tried changes the action."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The command nearest to the one in question that was found to change the action: the direction of least change."""

    command: np.ndarray
    action: int
    distance: float
    """Scaled, as everywhere."""

    def to_dict(self) -> dict[str, Any]:
        return {"command": self.command.tolist(), "action": self.action, "distance": self.distance}


@dataclass(frozen=True)
class Scores:
    """The four scores of the paper's authors: the policy's probabilities against their mean over a fan of probes."""

    kl: float
    """Kullback and Leibler's divergence from the mean, in nats."""
    tv: float
    """Total variation: half of the sum of absolute differences."""
    js: float
    """Jensen and Shannon's divergence, in nats."""
    flip: float
    """The share of probes under which another action is chosen."""
    probes: int


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """Does the command matter here? In how much of the region each valid action is chosen, and what turns it."""

    agent: str
    time: int
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    chosen: int
    command: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """The region that shares are shares of."""
    shares: tuple[Share, ...]
    """One for each valid action."""
    samples: int
    inert: bool
    """Whether it is proven that every command of the region makes the agent choose this action."""
    proven: bool
    """Whether anything is: the bounds of a black box are 0 and 1."""
    alone: tuple[Alone, ...]
    """One for each objective that has a range here."""
    nearest: Nearest | None
    scores: Scores
    stop: Stop
    boxes: int
    slack: float
    """How far the deployed policy's margins may be from the float64 ones for the proof to hold ..."""
    deviation: float
    """... and how far they were measured to be."""
    seconds: float
    preferences: bool = False
    """Whether commands are weights that sum to 1."""

    @property
    def verdict(self) -> Verdict:
        if self.inert:
            return "inert"
        others = [share for share in self.shares if share.action != self.chosen]
        known = self.nearest is not None or any(share.sampled or share.lower > 0 for share in others)
        return "decides" if known else "open"

    @property
    def undecided(self) -> float:
        """The share of the region in which it is not proven what is chosen."""
        return max(0.0, 1.0 - sum(share.lower for share in self.shares))

    @property
    def changed(self) -> tuple[float, float]:
        """In at least, and at most, which share of the region another action than this is chosen: proven."""
        own = self.share_of(self.chosen)
        return max(0.0, 1.0 - own.upper), min(1.0, 1.0 - own.lower)

    def share_of(self, action: int) -> Share:
        """Of a valid action."""
        return next(share for share in self.shares if share.action == action)

    def __str__(self) -> str:
        return str(show(self, "sentence"))

    def __repr__(self) -> str:
        low, high = self.changed
        return f"<Influence at t = {self.time}: {self.verdict}, {low:.3f} to {high:.3f} of commands change the action>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def to_dict(self) -> dict[str, Any]:
        values = {name: plain(getattr(self, name)) for name in _READERS if name not in _RECORDS}
        records = {name: [asdict(item) for item in getattr(self, name)] for name in _RECORDS}
        derived = {
            "preferences": self.preferences,
            "scores": asdict(self.scores),
            "verdict": self.verdict,
            "undecided": self.undecided,
        }
        return {"schema": SCHEMA, "sentence": str(self), **values, **records, **derived, "changed": list(self.changed)}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Influence":
        with whole(values, SCHEMA, "influence"):
            read = cls(**record(_READERS, {"preferences": flag})(values))
            _check_fit(read)
            return read

    @classmethod
    def from_json(cls, document: str) -> "Influence":
        return cls.from_dict(read_document(document, "an influence"))


def _made(kind: type, readers: dict[str, Reader]) -> Reader:
    read = record(readers)
    return lambda value: kind(**read(value))


_share, _count = within(finite, 0.0, 1.0), within(integer, 0, MAX_INTEGER)
_turn = optional(_made(Turn, {"value": finite, "action": _count}))
_RECORDS = ("objectives", "shares", "alone")
_READERS: dict[str, Reader] = {
    "agent": text,
    **dict.fromkeys(("time", "chosen", "boxes"), _count),
    "samples": within(integer, 1, MAX_INTEGER),
    "objectives": several(objective),
    "actions": several(text),
    **dict.fromkeys(("command", "low", "high"), sized(None)),
    "shares": several(
        _made(
            Share,
            {
                **dict.fromkeys(("action", "sampled"), _count),
                **dict.fromkeys(("lower", "upper", "likely_low", "likely_high"), _share),
            },
        )
    ),
    **dict.fromkeys(("inert", "proven"), flag),
    "alone": several(
        _made(
            Alone,
            {
                "objective": _count,
                **dict.fromkeys(("lower", "upper", "sampled"), _share),
                **dict.fromkeys(("down", "up"), _turn),
            },
        )
    ),
    "nearest": optional(_made(Nearest, {"command": sized(None), "action": _count, "distance": finite})),
    "scores": _made(Scores, {**dict.fromkeys(("kl", "tv", "js", "flip"), finite), "probes": _count}),
    "stop": lambda value: Stop(one_of(*(stop.value for stop in Stop))(value)),
    **dict.fromkeys(("slack", "deviation", "seconds"), finite),
}


def _check_fit(read: Influence) -> None:
    """Every action has a name, every number its objective, and shares can be true together."""
    valid = [share.action for share in read.shares]
    turns = [turn.action for alone in read.alone for turn in (alone.down, alone.up) if turn is not None]
    used = [*valid, *turns, *([] if read.nearest is None else [read.nearest.action])]
    if not all(action < len(read.actions) for action in used) or len(set(valid)) < len(valid):
        raise InvalidInput.expected(f"different actions from 0 to {len(read.actions) - 1}", brief(used))
    if read.chosen not in valid:
        raise InvalidInput.expected("a chosen action that is valid", read.chosen)
    size = len(read.objectives)
    vectors = [read.command, read.low, read.high, *([] if read.nearest is None else [read.nearest.command])]
    if any(vector.size != size for vector in vectors) or any(alone.objective >= size for alone in read.alone):
        raise InvalidInput.expected(f"commands of {size} objectives", "others")
    for lower, upper in [(part.lower, part.upper) for part in read.shares] + [(a.lower, a.upper) for a in read.alone]:
        if lower > upper:
            raise InvalidInput.expected("shares with lower <= upper", f"{lower} and {upper}")
    if sum(share.lower for share in read.shares) > 1 + 1e-9 or sum(s.sampled for s in read.shares) != read.samples:
        raise InvalidInput.expected("shares that sum to 1, and as many sampled commands as there are", "others")
    if read.inert and read.share_of(read.chosen).lower < 1:
        raise InvalidInput.expected("a chosen action with a share of 1 where no command matters", "less")


PROFILE_SCHEMA = "paretofoil/influence-profile/1"


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceProfile:
    """How much the command decides at each moment of an episode."""

    agent: str
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    command: np.ndarray
    """The command that was issued at the start."""
    achieved: np.ndarray
    moments: tuple[Influence, ...]

    def inert(self) -> list[int]:
        """The moments at which no command changes the action: proven."""
        return [moment.time for moment in self.moments if moment.inert]

    def __str__(self) -> str:
        return str(show(self, "sentence"))

    def __repr__(self) -> str:
        count = f"{len(self.moments)} moments, {len(self.inert())} of them inert"
        return f"<InfluenceProfile of {self.agent}: {count}>"

    def _repr_html_(self) -> str:
        return str(show(self, "html"))

    def plot(self, path: Any = None) -> Any:
        """The shares of the actions over time, as a matplotlib figure."""
        return show(self, "plot", path)

    def to_frame(self) -> Any:
        """One line for each moment and valid action, as a pandas DataFrame (pandas must be installed)."""
        return as_frame(
            {
                "time": moment.time,
                "verdict": moment.verdict,
                "chosen": moment.actions[moment.chosen],
                **asdict(share),
                "action": moment.actions[share.action],
                "samples": moment.samples,
                **asdict(moment.scores),
            }
            for moment in self.moments
            for share in moment.shares
        )

    def to_dict(self) -> dict[str, Any]:
        names = ("agent", "actions", "command", "achieved", "moments")
        values = {name: plain(getattr(self, name)) for name in names}
        objectives = [asdict(objective) for objective in self.objectives]
        return {"schema": PROFILE_SCHEMA, "sentence": str(self), **values, "objectives": objectives}

    def to_json(self, indent: int | None = None) -> str:
        return write_document(self.to_dict(), indent)

    @classmethod
    def from_json(cls, document: str) -> "InfluenceProfile":
        values = read_document(document, "an influence profile")
        with whole(values, PROFILE_SCHEMA, "influence profile"):
            read = cls(**_PROFILE(values))
            if any(m.objectives != read.objectives or m.actions != read.actions for m in read.moments):
                raise InvalidInput.expected("moments with the same objectives and actions", "others")
            if read.command.size != len(read.objectives):
                raise InvalidInput.expected(f"a command of {len(read.objectives)} numbers", read.command.size)
            return read


_PROFILE = record(
    {
        "agent": text,
        "objectives": several(objective),
        "actions": several(text),
        **dict.fromkeys(("command", "achieved"), sized(None)),
        "moments": several(Influence.from_dict),
    }
)

"""Influence: how much the command matters in one state, and along an episode."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.decision import EpisodeReport
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import Count, Document, Fraction, as_frame, brief, plain
from paretofoil.core.options import Stop

CONFIDENCE = 0.95
"""Confidence level of the intervals of sampled shares."""

Verdict = Literal["inert", "decides", "open"]
"""inert: it is proven that no command changes the action; decides: a known command changes it; open: neither."""


@dataclass(frozen=True)
class Share:
    """The share of the search region in which an action is chosen, proven and sampled."""

    action: Count
    lower: Fraction
    upper: Fraction
    """Proven bounds of the share; 0 and 1 if nothing is proven."""
    sampled: Count
    """Number of sampled commands that choose the action."""
    likely_low: Fraction
    likely_high: Fraction
    """The exact confidence interval of the sample (Clopper and Pearson), at 95 %."""


@dataclass(frozen=True)
class Switch:
    """A value of one objective at which another action is chosen, verified on the policy."""

    value: float
    action: Count


@dataclass(frozen=True)
class SingleObjective:
    """The effect of one objective while the others stay as in the command."""

    objective: Count
    lower: Fraction
    upper: Fraction
    """Proven bounds of the share of its range in which another action is chosen; 0 and 1 if nothing is proven."""
    sampled: Fraction
    """The share of evenly spaced values of the objective under which another action is chosen."""
    down: Switch | None
    up: Switch | None
    """The nearest switches below and above the command's value; None if none was found."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest command found that changes the action."""

    command: np.ndarray
    action: Count
    distance: float
    """Scaled distance."""


@dataclass(frozen=True)
class Scores:
    """The four scores of the paper's authors, which compare the actions' probabilities with their mean over probes."""

    kl: float
    """Kullback-Leibler divergence of the probabilities from their mean, in nats."""
    tv: float
    """Total variation: half the sum of absolute differences."""
    js: float
    """Jensen-Shannon divergence, in nats."""
    flip: float
    """The share of probes under which another action is chosen."""
    probes: Count


@dataclass(frozen=True, eq=False, repr=False)
class Influence(Document):
    """How much the command matters in one state: the share of the search region that chooses each valid action."""

    SCHEMA: ClassVar[str] = "paretofoil/influence/2"
    EARLIER: ClassVar = {"paretofoil/influence/1": {"time": "step"}}

    agent: str
    step: Count
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    chosen: Count
    command: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """The search region."""
    shares: tuple[Share, ...]
    """One for each valid action."""
    samples: Annotated[int, msgspec.Meta(ge=1)]
    inert: bool
    """Whether it is proven that every command of the search region chooses this action."""
    proven: bool
    """Whether anything is proven; the bounds of a black-box policy are 0 and 1."""
    alone: tuple[SingleObjective, ...]
    """The effect of each objective that can vary in the search region."""
    nearest: Nearest | None
    scores: Scores
    stop: Stop
    boxes: Count
    slack: float
    """Allowed difference between margins of the deployed policy and of its float64 version."""
    deviation: float
    """The largest such difference that was measured."""
    assumed: float
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""
    seconds: float
    preferences: bool = False
    """Whether commands are weights that sum to 1."""
    collected: np.ndarray | None = None
    """Return collected before the decision; None if there was none, or if it was not recorded."""
    constraints: tuple[str, ...] = ()
    """Constraints between the numbers of a command in the search region, such as "a <= b"."""

    @property
    def verdict(self) -> Verdict:
        if self.inert:
            return "inert"
        others = [share for share in self.shares if share.action != self.chosen]
        is_decided = self.nearest is not None or any(share.sampled or share.lower > 0 for share in others)
        return "decides" if is_decided else "open"

    @property
    def undecided(self) -> float:
        """The share of the search region in which no action is proven to be chosen."""
        return max(0.0, 1.0 - sum(share.lower for share in self.shares))

    @property
    def changed(self) -> tuple[float, float]:
        """Proven bounds of the share of the search region in which another action is chosen."""
        own = self.share_of(self.chosen)
        return max(0.0, 1.0 - own.upper), min(1.0, 1.0 - own.lower)

    def share_of(self, action: int) -> Share:
        """Return the share of a valid action."""
        return next(share for share in self.shares if share.action == action)

    def __repr__(self) -> str:
        low, high = self.changed
        return f"<Influence at t = {self.step}: {self.verdict}, {low:.3f} to {high:.3f} of commands change the action>"

    def derived(self) -> dict[str, Any]:
        values = {"sentence": str(self), "verdict": self.verdict, "undecided": self.undecided}
        return {**values, "changed": plain(self.changed)}

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**super().upgrade(values), "assumed": values.get("slack")}

    def check(self) -> None:
        """Check that every action has a name and every number an objective, and that the shares are consistent."""
        valid = [share.action for share in self.shares]
        switches = [switch.action for line in self.alone for switch in (line.down, line.up) if switch is not None]
        actions = [*valid, *switches, *([] if self.nearest is None else [self.nearest.action])]
        if not all(action < len(self.actions) for action in actions) or len(set(valid)) < len(valid):
            raise InvalidInput.expected(f"different actions from 0 to {len(self.actions) - 1}", brief(actions))
        if self.chosen not in valid:
            raise InvalidInput.expected("a chosen action that is valid", self.chosen)
        dim = len(self.objectives)
        commands = [self.command, self.low, self.high, *([] if self.nearest is None else [self.nearest.command])]
        commands += [] if self.collected is None else [self.collected]
        if any(command.size != dim for command in commands):
            sizes = [command.size for command in commands]
            raise InvalidInput.expected(f"commands of {dim} numbers", f"commands of {sizes} numbers")
        if any(line.objective >= dim for line in self.alone):
            raise InvalidInput.expected(f"objectives from 0 to {dim - 1}", [line.objective for line in self.alone])
        bounds = [(s.lower, s.upper) for s in self.shares] + [(line.lower, line.upper) for line in self.alone]
        for lower, upper in bounds:
            if lower > upper:
                raise InvalidInput.expected("shares with lower <= upper", f"{lower} and {upper}")
        if (total := sum(share.lower for share in self.shares)) > 1 + 1e-9:
            raise InvalidInput.expected("lower bounds of shares that sum to at most 1", total)
        if (sampled := sum(share.sampled for share in self.shares)) != self.samples:
            raise InvalidInput.expected(f"counts of sampled commands with the sum {self.samples}", sampled)
        if self.inert and self.share_of(self.chosen).lower < 1:
            own = self.share_of(self.chosen).lower
            raise InvalidInput.expected("a chosen action with a share of 1 where no command matters", own)


@dataclass(frozen=True, eq=False, repr=False)
class InfluenceProfile(EpisodeReport):
    """How much the command matters at each step of an episode."""

    SCHEMA: ClassVar[str] = "paretofoil/influence-profile/2"
    EARLIER: ClassVar = {"paretofoil/influence-profile/1": {"moments": "steps"}}

    steps: tuple[Influence, ...]

    def inert(self) -> list[int]:
        """Return the steps at which it is proven that no command changes the action."""
        return [influence.step for influence in self.steps if influence.inert]

    def __repr__(self) -> str:
        return f"<InfluenceProfile of {self.agent}: {len(self.steps)} steps, {len(self.inert())} of them inert>"

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each step and valid action (pandas must be installed)."""
        return as_frame(
            {
                "step": influence.step,
                "verdict": influence.verdict,
                "chosen": influence.actions[influence.chosen],
                **asdict(share),
                "action": influence.actions[share.action],
                "samples": influence.samples,
                **asdict(influence.scores),
            }
            for influence in self.steps
            for share in influence.shares
        )

    def derived(self) -> dict[str, Any]:
        return {"sentence": str(self)}

    def check(self) -> None:
        super().check()
        for influence in self.steps:
            if influence.objectives != self.objectives or influence.actions != self.actions:
                names, given = ([o.name for o in one.objectives] + list(one.actions) for one in (self, influence))
                expected = f"the profile's objectives and actions {brief(names)} at every step"
                raise InvalidInput.expected(expected, f"{brief(given)} at step {influence.step}")


@dataclass(frozen=True, eq=False)
class AmountRange:
    """The smallest and largest amount of one dimension of continuous actions, over all commands."""

    name: str
    unit: str
    chosen: float
    """The amount under the command of the decision."""
    least: float
    most: float
    """The smallest and the largest amount that was found on the policy."""
    least_command: np.ndarray
    most_command: np.ndarray
    """The commands with these amounts."""
    lowest: float
    highest: float
    """Proven bounds of the amount over all commands; the ends of the dimension's range if nothing is proven."""


@dataclass(frozen=True, eq=False, repr=False)
class AmountInfluence(Document):
    """How much the command matters in one state for continuous actions: the proven range of each amount."""

    SCHEMA: ClassVar[str] = "paretofoil/amount-influence/1"

    objectives: tuple[Objective, ...]
    command: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """The search region."""
    ranges: tuple[AmountRange, ...]
    """One for each dimension of the actions."""
    proven: bool
    """Whether `lowest` and `highest` are proven; those of a black-box policy are not."""
    assumed: float
    """The rounding error, as a share of an action's range, that the proof assumes; 0 if it is derived."""
    samples: Count
    boxes: Count
    seconds: float

    def __repr__(self) -> str:
        parts = (f"{r.name} {r.least:.4g} to {r.most:.4g}" for r in self.ranges)
        return f"<AmountInfluence: {', '.join(parts)}, {'proven' if self.proven else 'sampled'}>"

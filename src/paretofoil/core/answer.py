"""Answers: the counterfactual command of a question, or none, with its proof and rollouts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Literal

import numpy as np

from paretofoil.core.amounts import Limit
from paretofoil.core.command import Norm, Objective, as_vector
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import UNSTORED, Bound, Count, Document, Fraction, brief, plain, plain_fields, show
from paretofoil.core.options import Stop
from paretofoil.core.question import Question

DELIVERED = 0.01
"""A command is delivered if the rollout misses each objective by at most this share of its range."""


class Status(Enum):
    """What is known about the closest command."""

    FOUND = "found"
    PROVEN_CLOSEST = "proven closest"
    PROVEN_INFEASIBLE = "proven infeasible"
    NOT_FOUND = "not found"


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """A command under which the policy chooses the foil, or under which the episode has the outcome."""

    command: np.ndarray
    """The command, in the units of the objectives."""
    distance: float
    """Scaled distance from the original command: |D^-1 (R_cf - R_t)|."""
    margin: float
    """M_f: the margin by which the foil wins; for an outcome, the smallest margin of an action in its rollout."""
    probabilities: np.ndarray
    """Probability of each action; 0 for actions that are not valid."""
    values: np.ndarray | None = None
    """Value of each action, if the policy returns action values."""


@dataclass(frozen=True, eq=False)
class QuestionRecord:
    """The question of an answer, without the policy."""

    command: np.ndarray
    """R_t, the command of the decision."""
    objectives: tuple[Objective, ...]
    actions: tuple[str, ...]
    """Names of all actions."""
    phrases: tuple[str, ...]
    """What the agent would have done, for each action: "gone down", "stayed"."""
    valid_actions: tuple[int, ...]
    chosen: Count
    foil: Count | None
    """None if the foil is an outcome."""
    kappa: float
    """Margin by which the foil must win."""
    norm: Norm
    probabilities: np.ndarray
    """Probability of each action under the original command; 0 for actions that are not valid."""
    low: np.ndarray
    high: np.ndarray
    """The search region."""
    values: np.ndarray | None = None
    """Value of each action under the original command, if the policy returns action values."""
    agent: str = ""
    """Name of the agent; empty for a policy."""
    step: Count | None = None
    """Step of the episode; None outside of an episode."""
    collected: np.ndarray | None = None
    """Return collected before the decision; None if there was none, or if it was not recorded."""
    outside: tuple[int, ...] = ()
    """Objectives of the original command outside the range on which the agent was trained."""
    kept: tuple[int, ...] = ()
    """Objectives that must not change."""
    held: tuple[int, ...] = ()
    """Objectives with a range set by the user."""
    free: tuple[int, ...] = ()
    """The only objectives that may change, if a sparse answer was requested; empty if all may change."""
    preferences: bool = False
    """Whether commands are preferences: weights that sum to 1."""
    probability: float | None = None
    """The probability that the foil must have at least; None if it must win by kappa."""
    amounts: tuple[Limit, ...] = ()
    """The limits of a foil on continuous actions. Action 0 is then the foil, and each limit is a rival. The value of a
    rival is minus the margin of its limit."""
    outcome: str | None = None
    """The outcome of the episode that is the foil, in words; None if the foil is an action."""
    constraints: tuple[str, ...] = ()
    """Linear constraints on commands of the search region, such as "a <= b"."""

    def amounts_at(self, values: np.ndarray | None) -> dict[str, float]:
        """Return the amounts of continuous actions by name, given the values of the actions."""
        if values is None:
            return {}
        return {limit.name: limit.amount_at(-float(values[k])) for k, limit in enumerate(self.amounts, start=1)}

    @property
    def later(self) -> bool:
        """Whether the decision comes after the first step, so that the command is for the rest of the episode."""
        return bool(self.step) or self.collected is not None

    @property
    def column(self) -> int | None:
        """Index of the foil among the actions; for continuous actions, among the directions of `direction_names`."""
        return self.amounts[0].direction if self.amounts else self.foil

    @property
    def foil_name(self) -> str:
        """The name of the action, or the outcome in words."""
        return self.outcome or "" if self.foil is None else self.actions[self.foil]


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """The search that gave an answer."""

    name: str
    seed: Count
    stop: Stop = Stop.COMPLETE
    """Why it stopped."""
    queries: dict[str, Count] = field(default_factory=dict)
    """Number of queries of the policy, by phase."""
    seconds: float = 0.0
    """Wall time; questions that are answered together share it equally."""


ProofStatus = Literal["optimal", "infeasible", "gap"]


@dataclass(frozen=True, repr=False)
class Certificate:
    """A proof that no command of the search region closer than `lower` makes the foil win by kappa.

    If the foil is an outcome, the proof says that no such command leads to it.
    """

    status: ProofStatus
    """optimal: upper - lower <= tolerance; infeasible: the search region has no valid command; gap: the search stopped
    at a limit, or at commands that float32 cannot tell apart."""
    lower: Bound
    """Proven lower bound of the scaled distance; infinite if the search region has no valid command."""
    upper: Bound
    """Scaled distance of the closest command, checked on the policy; infinite if none was found."""
    tolerance: float
    """The gap that was requested."""
    boxes: Count
    """Number of boxes of commands that were bounded."""
    seconds: float
    """Duration of the proof."""
    kappa: float
    """Margin by which the foil must win."""
    slack: float
    """Allowed difference between margins of the deployed policy and of its float64 version: the proof is for
    kappa - slack."""
    deviation: float
    """The largest such difference that was measured, on random commands and on the answers."""
    pad: float
    """Added to the bounds of the margins to cover float64 rounding."""
    norm: Norm
    """How distance is measured."""
    rounding: Literal["derived", "measured"] = "measured"
    """derived: the proof includes the rounding errors of the deployed policy. measured: the proof assumes that these
    errors are at most the slack, which is several times the largest measured error."""
    why_measured: str = ""
    """Why the rounding errors are not derived."""

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def gap(self) -> float:
        """How much closer than `upper` a valid command could be; 0 if no command in the search region is valid."""
        return 0.0 if np.isinf(self.lower) else self.upper - self.lower

    @property
    def assumed(self) -> float:
        """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""
        return self.slack if self.rounding == "measured" else 0.0

    @property
    def assumptions(self) -> str:
        """The assumptions of the proof, as text."""
        if self.rounding == "derived":
            return "None: the rounding errors of the deployed policy are derived and are part of the proof."
        return (
            f"The proof is for margins of {self.kappa:g} - {self.slack:g}. It assumes that rounding errors change the "
            f"margins of the deployed policy by at most {self.slack:g} (largest one measured: {self.deviation:.1e})."
            f"{f' They are not derived because {self.why_measured}.' if self.why_measured else ''}"
        )

    def __repr__(self) -> str:
        return f"<Certificate: {self.status}, distance {self.lower:.4g} to {self.upper:.4g}, {self._boxes}>"

    @property
    def _boxes(self) -> str:
        return "1 box" if self.boxes == 1 else f"{self.boxes} boxes"

    def __str__(self) -> str:
        if self.status == "infeasible":
            return f"proven: no command of the region is valid ({self._boxes}, {self.seconds:.2f} s)"
        if self.status == "optimal":
            claim = f"no valid command is closer than {self.lower:.4f}, and one is found at {self.upper:.4f}"
            return f"proven: {claim} ({self._boxes}, {self.seconds:.2f} s)"
        found = f"one is found at {self.upper:.4f}" if np.isfinite(self.upper) else "none is found"
        return f"proven so far: no valid command is closer than {self.lower:.4f}, and {found} ({self._boxes})"

    def to_dict(self) -> dict[str, Any]:
        return {**plain_fields(self), "gap": plain(self.gap), "assumptions": self.assumptions}


@dataclass(frozen=True, eq=False)
class ProvenRange:
    """A box of commands around the quoted one, all proven to make the foil win by kappa.

    For preferences, the proof covers the commands of the box that sum to 1.
    """

    low: np.ndarray
    high: np.ndarray
    assumed: float = 0.0
    """The rounding error, in margins, that the proof assumes because it is measured; 0 if it is derived."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", as_vector(self.low, "the lower side of the proven range"))
        object.__setattr__(self, "high", as_vector(self.high, "the upper side of the proven range", self.low.size))
        if (self.low > self.high).any():
            got = f"{self.low.tolist()} and {self.high.tolist()}"
            raise InvalidInput.expected("a proven range with low <= high", got)

    def holds(self, commands: np.ndarray) -> np.ndarray:
        """Return which of the commands (N, d) lie inside."""
        return np.logical_and(commands >= self.low, commands <= self.high).all(axis=-1)  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Consequence:
    """The outcome of issuing a command in the state of a decision; means over repeated rollouts."""

    achieved: np.ndarray
    """Return of the whole episode, including the part before the decision."""
    error: np.ndarray
    """Standard error of each mean; 0 in deterministic environments."""
    steps: float
    """Number of further steps of the episode."""
    finished: float
    """Share of rollouts that terminated before the step limit."""
    repeats: Count
    met: Fraction | None = None
    """Share of rollouts with the outcome that is the foil; None if the foil is an action."""

    def __post_init__(self) -> None:
        if self.error.size != self.achieved.size:
            raise InvalidInput.expected(f"{self.achieved.size} standard errors", self.error.size)
        if self.repeats < 1:
            raise InvalidInput.expected("at least 1 rollout", self.repeats)


@dataclass(frozen=True, eq=False)
class Attainable:
    """The closest attainable command that was found: the agent takes the foil and then delivers the command.

    If none was found, one may still exist, unless it is proven that there is none.
    """

    num_rollouts: Count
    """Number of commands that were rolled out because the foil is their first action."""
    command: np.ndarray | None = None
    """The command to issue at the decision; None, like all fields below, if none was found."""
    total: np.ndarray | None = None
    """The same command for the whole episode: `command` plus the return collected before the decision."""
    distance: float | None = None
    """Scaled distance from the original command."""
    deviation: float | None = None
    """The largest difference between the command and the return, as a share of an objective's range."""
    consequence: Consequence | None = None
    """Outcome of the command, from a separate rollout."""
    proven_none: bool = False
    """Whether it is proven that no command of the search region is attainable."""
    proven_closest: bool = False
    """Whether it is proven that no attainable command is more than 1 % closer than this one before rounding."""
    lower_bound: float = 0.0
    """Proven: no attainable command of the search region is closer than this scaled distance."""
    assumed: float = 0.0
    """The rounding error, in margins, that these proofs assume because it is measured; 0 if it is derived."""

    def __post_init__(self) -> None:
        parts = (self.command, self.total, self.distance, self.deviation, self.consequence)
        missing = [part is None for part in parts]
        if any(missing) != all(missing):
            names = "command, total, distance, deviation, consequence"
            raise InvalidInput.expected(f"all of {names}, or none", f"{sum(missing)} of them missing")

    @property
    def found(self) -> bool:
        return self.command is not None


@dataclass(frozen=True, eq=False)
class Start:
    """An answer as a change of the command at the start of the episode."""

    issued: np.ndarray
    """The command that was issued at the start."""
    command: np.ndarray
    """The command to issue instead: the quoted command plus the return collected before the decision."""
    leads_here: bool | None
    """Whether an episode under that command reaches the state of the decision; None in stochastic environments."""


@dataclass(frozen=True, eq=False)
class Rollouts:
    """The outcomes of commands, rolled out from the state of the decision."""

    quoted: Consequence | None = None
    original: Consequence | None = None
    start: Start | None = None
    """None at the first step of an episode."""
    attainable: Attainable | None = None
    """None if no attainable command was searched for."""


@dataclass(frozen=True, eq=False)
class Live:
    """Objects of the process that computed an answer; they are not stored."""

    question: Question
    scene: Callable[[], np.ndarray] | None = None
    """Return a picture of the environment in the state of the decision."""
    clearance: float = 0.0
    """Added to kappa to allow for the noise of the policy. Proven ranges allow for it, too."""
    agent: Any = None
    """The agent; None if the question was about a policy."""
    met: Callable[[np.ndarray], np.ndarray] | None = None
    """Commands (N, d) -> share (N,) of their rollouts with the outcome that is the foil."""


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Document):
    """The smallest change of the command that makes the policy choose the foil, or the result that none was found.

    The foil may also be an outcome of the whole episode. The call that returned the answer verified it on the policy.
    """

    SCHEMA: ClassVar[str] = "paretofoil/answer/3"
    EARLIER: ClassVar = {"paretofoil/answer/1": {}, "paretofoil/answer/2": {}}

    status: Status
    """What is known about the closest command."""
    question: QuestionRecord
    search: SearchRecord
    quoted: Counterfactual | None = None
    """The command in short numbers, which is shown and rolled out. The proven range is around it."""
    closest: Counterfactual | None = None
    """The closest command found, before rounding. Proofs and tables of studies are about this command."""
    proof: Certificate | None = None
    """What is proven about `closest` and the search region."""
    proven_range: ProvenRange | None = None
    """Commands around the quoted one, all proven to make the foil win."""
    rollouts: Rollouts | None = None
    alternatives: tuple["Answer", ...] = ()
    """Further answers that change other objectives, or change them in other directions."""
    other_norms: tuple["Answer", ...] = ()
    """If this answer is not proven: the proven answer to the same question in the norm linf, if there is one."""
    requested: Count = 1
    """Number of answers that were requested."""
    live: Live | None = field(default=None, metadata=UNSTORED)
    """The question with its policy; None for an answer that was read from JSON."""

    @property
    def found(self) -> bool:
        return self.quoted is not None

    @property
    def command(self) -> np.ndarray | None:
        """R_cf, the quoted command."""
        return None if self.quoted is None else self.quoted.command

    @property
    def change(self) -> np.ndarray | None:
        """The quoted command minus the original one, in the units of the objectives."""
        return None if self.quoted is None else self.quoted.command - self.question.command

    @property
    def lower_bound(self) -> float:
        """No valid command is closer than this; 0 if nothing is proven, infinite if there is none."""
        return 0.0 if self.proof is None else self.proof.lower

    @property
    def total_queries(self) -> int:
        return sum(self.search.queries.values())

    def __repr__(self) -> str:
        actions = self.question.actions
        distance = "" if self.quoted is None else f", distance {self.quoted.distance:.4g}"
        instead = f" instead of {actions[self.question.chosen]!r}" if self.question.outcome is None else ""
        return f"<Answer: {self.question.foil_name!r}{instead}: {self.status.value}{distance}, by {self.search.name}>"

    def paragraph(self) -> str:
        """Return the answer as a paragraph: changes, probabilities, outcomes of rollouts, and caveats."""
        return str(show(self, "paragraph"))

    def plot(self, path: Any = None, *, axes: tuple[str | int, str | int] | None = None) -> Any:
        """Return a matplotlib figure of the commands that flip the decision, with this answer and the environment.

        The axes are two objectives by name or number; by default those that the answer changes most.
        """
        return show(self, "plot", path, axes=axes)

    def explore(self) -> Any:
        """Return the web page as a widget for notebooks, opened at this question. It needs the extra `notebook`."""
        return show(self, "explore")

    def derived(self) -> dict[str, Any]:
        return {"sentence": str(self), "change": plain(self.change), "lower_bound": plain(self.lower_bound)}

    @classmethod
    def upgrade(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        return _from_schema_1(values) if values["schema"] == "paretofoil/answer/1" else values

    def check(self) -> None:
        """Raise an error unless all arrays and indices fit the objectives and actions of the question."""
        question, rollouts = self.question, self.rollouts or Rollouts()
        dim, num_actions = len(question.objectives), len(question.actions)
        parts = {
            **{name: getattr(self, name) for name in ("question", "quoted", "closest", "proven_range")},
            **{f"rollouts.{name}": getattr(rollouts, name) for name in ("start", "attainable")},
        }
        per_objective = dict.fromkeys(("command", "low", "high", "collected", "issued", "total"), (dim, "objectives"))
        per_action = dict.fromkeys(("phrases", "probabilities", "values"), (num_actions, "actions"))
        for path, part in parts.items():
            for name, (size, of) in (per_objective | per_action).items():
                value = getattr(part, name, None)
                if value is not None and np.shape(value) != (size,):
                    raise InvalidInput.expected(f"{path}.{name} for {size} {of}", f"shape {np.shape(value)}")
        for name in ("outside", "kept", "held", "free"):
            _check_indices(f"question.{name}", getattr(question, name), dim)
        foils = () if question.foil is None else (question.foil,)
        _check_indices("actions", (question.chosen, *foils, *question.valid_actions), num_actions)
        if (question.foil is None) == (question.outcome is None):
            got = f"{question.foil} and {brief(question.outcome)}"
            raise InvalidInput.expected("either question.foil or question.outcome", got)
        if question.amounts and (num_actions != 1 + len(question.amounts) or question.foil or question.values is None):
            expected = "with limits on amounts: foil 0, values, and one action more than there are limits"
            got = f"foil {question.foil}, {num_actions} actions and {len(question.amounts)} limits"
            raise InvalidInput.expected(expected, got)
        if (self.quoted is None) != (self.closest is None):
            got = "only the closest" if self.quoted is None else "only the quoted"
            raise InvalidInput.expected("both a quoted and a closest command, or neither", got)
        consequences = {"quoted": rollouts.quoted, "original": rollouts.original}
        if rollouts.attainable is not None:
            consequences["attainable.consequence"] = rollouts.attainable.consequence
        for name, rollout in consequences.items():
            if rollout is not None and dim - rollout.achieved.size not in (0, 1):  # a horizon is not a return
                raise InvalidInput.expected(f"rollouts.{name} for {dim} objectives", rollout.achieved.size)


def _check_indices(name: str, indices: tuple[int, ...], count: int) -> None:
    if not all(0 <= index < count for index in indices):
        raise InvalidInput.expected(f"{name} from 0 to {count - 1}", brief(list(indices)))


def _from_schema_1(old: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an answer of the first schema, which was flat, to the current schema."""

    def take(**names: str) -> dict[str, Any]:
        return {new: old[name] for new, name in names.items() if name in old}

    def same(*names: str) -> dict[str, Any]:
        return take(**{name: name for name in names})

    status = {"proven optimal": "proven closest", "not found within the budget": "not found"}
    words = old.get("status", old.get("outcome"))
    proof = old.get("certificate")
    if isinstance(proof, dict):
        proof = {**proof, **{name: "infinity" for name in ("lower", "upper") if proof.get(name, 0) is None}}
    quoted = closest = None
    if old.get("command") is not None:
        quoted = same("command", "distance", "margin")
        quoted |= take(probabilities="counterfactual_probabilities", values="counterfactual_values")
        # The first schema has the margin and probabilities of the quoted command only.
        closest = {**quoted, **take(command="closest", distance="closest_distance")}
    rollouts = take(quoted="consequence", original="original_consequence", start="start", attainable="attainable")
    if isinstance(rollouts.get("attainable"), Mapping):
        names = {"tried": "num_rollouts", "asked": "total", "missed": "deviation"}
        rollouts["attainable"] = {names.get(name, name): value for name, value in rollouts["attainable"].items()}
    return {
        "status": status.get(words, words) if isinstance(words, str) else words,
        "question": {
            **take(command="original", free="alone", step="step" if "step" in old else "time"),
            **same("objectives", "actions", "phrases", "valid_actions", "chosen", "foil", "kappa", "norm", "low"),
            **same("high", "probabilities", "values", "agent", "outside", "kept", "held", "preferences"),
        },
        "search": {**take(name="search"), **same("seed", "stop", "queries", "seconds")},
        "quoted": quoted,
        "closest": closest,
        "proof": proof,
        "proven_range": old.get("proven_range"),
        "rollouts": rollouts if any(value is not None for value in rollouts.values()) else None,
        **take(alternatives="alternatives", requested="wanted"),
    }

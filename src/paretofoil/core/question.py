"""Questions (a state, a command and a foil) and their margins (paper, "Optimization Objective")."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paretofoil.core.command import (
    CONSTRAINT_SLACK,
    CommandSpace,
    Norm,
    as_points,
    as_vector,
    directions,
    format_numbers,
    length,
    project,
    reach,
)
from paretofoil.core.errors import InvalidInput, as_whole
from paretofoil.core.policy import IMPOSSIBLE, Policy, PolicyAtStates, QueryAtStates, as_scores, query, tells_values

KAPPA = 0.05
"""Default margin by which the foil must win (paper, Table "CF-ZOO hyperparameters")."""
CHUNK = 1 << 16
"""Queries per call of the policy, so that they fit into memory."""
MAX_POINTS = 100_000
"""If all commands of a region are whole and at most this many, they are enumerated."""
_SEVERAL = -1
"""The key of recorded margins of several questions."""
NOISE = 1e-12
"""Coordinates of changes of preferences up to this are rounding errors."""


@dataclass(frozen=True, eq=False, repr=False)
class Question:
    """Which change of the command makes the policy choose the foil in this state?"""

    policy: Policy
    state: np.ndarray
    command: np.ndarray
    """R_t, the return that remains to be collected."""
    foil: int
    valid_actions: tuple[int, ...]
    space: CommandSpace
    front: np.ndarray = None  # type: ignore[assignment]
    """(F, d): the points of the front minus the collected return, R_j - R_col; may be empty."""
    kappa: float = KAPPA
    low: np.ndarray = None  # type: ignore[assignment]
    high: np.ndarray = None  # type: ignore[assignment]
    """The search region: by default the smallest box that contains the command space and the command."""
    probability: float | None = None
    """The probability that the foil must have at least; None if it must win by kappa. With a probability, the
    margin is the foil's log-odds minus the log-odds of this probability, and kappa is 0."""
    norm: Norm = "l2"
    """Norm that measures scaled changes; l2 in the paper."""
    kept: tuple[int, ...] = ()
    """Objectives that must not change: the search region has no width there."""
    held: tuple[int, ...] = ()
    """Objectives whose range in the search region was set by the user."""
    trained: CommandSpace | None = None
    """The box of commands on which the policy was trained, if it differs from the space."""

    def __post_init__(self) -> None:
        state = np.asarray(self.state, dtype=np.float32)
        if state.ndim != 1 or not np.isfinite(state).all():
            raise InvalidInput.expected("a state that is a finite vector", f"shape {state.shape}: {state}")
        command = self.space.checked(as_vector(self.command, "the command", self.space.dim), "the command")
        valid = tuple(sorted({as_whole(a, "valid actions as whole numbers") for a in self.valid_actions}))
        if not valid or valid[0] < 0:
            raise InvalidInput.expected(
                "at least one valid action, and numbers of at least 0", list(self.valid_actions)
            )
        if self.foil not in valid:
            raise InvalidInput.expected(f"a foil among the valid actions {list(valid)}", self.foil)
        if self.norm not in ("l1", "l2", "linf"):
            raise InvalidInput.expected("a norm among l1, l2, linf", repr(self.norm))
        if self.space.simplex and self.norm != "l2":
            raise InvalidInput.expected("the norm l2 for changes of preferences", repr(self.norm))
        if not (np.isfinite(self.kappa) and self.kappa >= 0):
            raise InvalidInput.expected("a margin kappa of at least 0", self.kappa)
        if self.probability is not None:
            if not 0 < self.probability < 1 or self.kappa:
                got = f"{self.probability} with kappa {self.kappa:g}"
                raise InvalidInput.expected("a probability between 0 and 1, with kappa = 0", got)
            if tells_values(self.policy):
                got = f"the values of {type(self.policy).__name__}"
                raise InvalidInput.expected("a policy with probabilities, for a probability of the foil", got)
        if not self.space.allows(command[None])[0]:
            rules = [*self.space.constraint_texts, *(f"{o.name} whole" for o in self.space.objectives if o.whole)]  # type: ignore[union-attr]
            what = "a state" if all(o.feature for o in self.space.objectives) else "a command"  # type: ignore[union-attr]
            raise InvalidInput.expected(f"{what} with {', '.join(rules)}", format_numbers(command))
        front = as_points(() if self.front is None else self.front, "a front of points", command.size)
        front = self.space.checked(front, "the front")
        low = np.minimum(self.space.low, command) if self.low is None else as_vector(self.low, "low", command.size)
        high = np.maximum(self.space.high, command) if self.high is None else as_vector(self.high, "high", command.size)
        if self.space.simplex:  # dividing by the sum moves a command by its last digits
            low, high = np.minimum(low, command), np.maximum(high, command)
        if (low > command).any() or (high < command).any():
            raise InvalidInput.expected("a search region that contains the command", f"{low} to {high}")
        values = {"state": state, "command": command, "valid_actions": valid, "front": front, "low": low, "high": high}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def rivals(self) -> list[int]:
        """The valid actions that the foil must beat."""
        return [action for action in self.valid_actions if action != self.foil]

    @property
    def log_odds(self) -> float:
        """The logarithm of the odds that the foil must have."""
        assert self.probability is not None
        return float(np.log(self.probability) - np.log1p(-self.probability))

    @cached_property
    def basis(self) -> np.ndarray:
        """The change of the command for each coordinate of a scaled change z, as columns (d, d).

        In a box it is the scale D. Changes of preferences are rotated: those that keep the sum come first.
        """
        return directions(self.high > self.low) if self.space.simplex else np.diag(self.space.scale)

    @cached_property
    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest box of scaled changes z that contains the search region: (d,), <= 0, and (d,), >= 0."""
        if self.space.simplex:
            return reach(self.basis, self.command, self.low, self.high)
        scale = self.space.scale
        return (self.low - self.command) / scale, (self.high - self.command) / scale

    def project(self, commands: np.ndarray) -> np.ndarray:
        """Return commands (N, d) of the search region that are near the given ones.

        Under constraints, a command outside is moved towards the question's own command until they are fulfilled.
        """
        space, own = self.space, self.command
        commands = space.project(commands, self.low, self.high)
        if space.is_box or space.simplex:
            return commands
        slopes, bounds = space.half_spaces
        room, way = bounds - slopes @ own, (commands - own) @ slopes.T  # (K,), (N, K)
        share = np.divide(room, way, out=np.ones_like(way), where=way > np.maximum(room, CONSTRAINT_SLACK))
        commands = own + np.clip(share, 0.0, 1.0).min(axis=1, initial=1.0)[:, None] * (commands - own)
        rounded = np.where(space.whole, np.round(commands), commands)
        inwards = np.where(space.whole, own + np.trunc(commands - own), commands)
        rounded = np.where(space.allows(rounded)[:, None], rounded, inwards)
        return np.where(space.allows(rounded)[:, None], rounded, own)

    def points(self, most: int = MAX_POINTS) -> np.ndarray | None:
        """Return all commands (N, d) of the search region, the closest first, if the numbers that may change are whole.

        Return None if some are not, or if there are more than `most` commands.
        """
        free, low, high = self.high > self.low, np.ceil(self.low), np.floor(self.high)
        if not self.space.whole.any() or (free & ~self.space.whole).any():
            return None
        if np.where(free, high - low + 1.0, 1.0).prod() > most:
            return None
        sides = zip(low, high, self.command, free, strict=True)
        axes = [np.arange(first, last + 1) if moves else [own] for first, last, own, moves in sides]
        commands = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
        commands = commands[self.space.allows(commands)]
        return commands[np.argsort(self.space.distance(commands, self.command, self.norm), kind="stable")]

    def __repr__(self) -> str:
        foil = f"action {self.foil}, of {len(self.valid_actions)} valid ones"
        return f"<Question: why not {foil}, under the command {format_numbers(self.command)}?>"


class QuestionBatch:
    """Questions about one policy that are searched together. Searches query the policy through it only.

    Searches use scaled coordinates z = D^-1 (R - R_t), in which each search region is a box around 0. Preferences,
    constraints and whole numbers restrict the region to a part of the box. A change outside this part stands for a
    change near it inside. Queries are counted for each question and phase.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        first = questions[0]
        policies = len({id(q.policy) for q in questions})
        if policies > 1:
            raise InvalidInput.expected("questions about one policy", f"{policies} policies")
        kinds = {(q.space.dim, q.space.shape, q.norm, q.probability) for q in questions}
        if len(kinds) > 1:
            expected = "questions that agree in [number of objectives, shape of the command space, norm, probability]"
            raise InvalidInput.expected(expected, " and ".join(sorted(str(list(kind)) for kind in kinds)))
        self.questions = list(questions)
        self.norm = first.norm
        self.num_questions, self.dim = len(questions), first.space.dim
        self.commands = np.stack([q.command for q in questions])  # (Q, d)
        self.scale = np.stack([q.space.scale for q in questions])  # (Q, d)
        self.low, self.high = (np.stack(ends) for ends in zip(*(q.room for q in questions), strict=True))  # (Q, d)
        self._plane: _Plane | _RestrictedRegion | None = None
        if not first.space.is_box:
            self._plane = (_Plane if first.space.simplex else _RestrictedRegion)(questions)
        self.kappa = np.array([q.kappa for q in questions])  # (Q,): the margins that searches must reach
        self.clearance = 0.0
        self.foils = np.array([q.foil for q in questions])  # (Q,)
        self.states = np.stack([q.state for q in questions])  # (Q, S)
        self._query = _query_at(first.policy, self.states)
        self._handicaps: np.ndarray | None = None
        self._counts = defaultdict[str, np.ndarray](lambda: np.zeros(self.num_questions, dtype=np.int64))
        self._evidence: defaultdict[int, list[tuple[np.ndarray, np.ndarray, np.ndarray]]] | None = None

    def keep_clear(self, clearance: float) -> None:
        """Increase the margin that searches must reach, to allow for the noise of the policy."""
        self.kappa, self.clearance = self.kappa + clearance, self.clearance + clearance

    def project(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return changes near z (N, d) that lie inside the search regions of the questions in rows (N,)."""
        if self._plane is not None:
            return self._plane.changes_to(rows, self._plane.commands_at(rows, z))
        return np.clip(z, self.low[rows], self.high[rows])

    def holds(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return which changes z (N, d) lie inside the search regions of the questions in rows (N,)."""
        inside = ((z >= self.low[rows]) & (z <= self.high[rows])).all(axis=1)
        if self._plane is not None:
            inside &= (np.abs(self.project(rows, z) - z) <= NOISE).all(axis=1)
        return inside

    def commands_at(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the commands (N, d) after scaled changes z (N, d) of the questions in rows (N,)."""
        if self._plane is not None:
            return self._plane.commands_at(rows, z)
        return self.commands[rows] + z * self.scale[rows]

    def changes_to(self, rows: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the scaled changes z (N, d) to commands (N, d), which may lie outside of the search regions."""
        if self._plane is not None:
            return self._plane.changes_to(rows, commands)
        return (commands - self.commands[rows]) / self.scale[rows]

    def margins(self, rows: np.ndarray, z: np.ndarray, phase: str) -> np.ndarray:
        """Return the margins M_f (N,) after scaled changes z (N, d) of the questions in rows (N,); one query each."""
        return self.margins_at(rows, self.commands_at(rows, z), phase)

    def margins_at(self, rows: np.ndarray, commands: np.ndarray, phase: str) -> np.ndarray:
        """Return the margins M_f (N,) at commands (N, d)."""
        if len(rows) <= CHUNK:
            margins = self.margins_of(rows, self.scores_at(rows, commands, phase))
            if self._evidence is not None and len(rows):
                alone = int(rows[0]) if (rows == rows[0]).all() else _SEVERAL
                self._evidence[alone].append((rows, commands, margins))
            return margins
        parts = [slice(start, start + CHUNK) for start in range(0, len(rows), CHUNK)]
        return np.concatenate([self.margins_at(rows[part], commands[part], phase) for part in parts])

    def scores_at(self, rows: np.ndarray, commands: np.ndarray, phase: str) -> np.ndarray:
        """Return the scores (N, num_actions) at commands (N, d) of the questions in rows (N,); one query each."""
        self._counts[phase] += np.bincount(rows, minlength=self.num_questions)
        return self._query(rows, commands)

    def margins_of(self, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the margins M_f (N,) of scores (N, num_actions): the foil's score minus the largest of its rivals.

        If the foil must have a probability, the margin is its log-odds minus the log-odds of that probability.
        """
        handicap = self._handicap(scores.shape[1])[rows]
        foil_scores, rivals = scores[np.arange(len(rows)), self.foils[rows]].astype(np.float64), scores + handicap
        if self.questions[0].probability is None:
            return foil_scores - rivals.max(axis=1)
        return log_odds(foil_scores[:, None] - rivals) - self.questions[0].log_odds

    def keep_evidence(self) -> None:
        """Record all margins from now on, so that proofs can be compared with them."""
        self._evidence = self._evidence or defaultdict(list)

    def evidence(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the scaled changes (N, d) of a question at which the policy was queried, and its margins (N,)."""
        kept = self._evidence or defaultdict(list)
        parts = [(c[rows == row], m[rows == row]) for rows, c, m in kept[_SEVERAL]]
        parts += [(c, m) for _, c, m in kept[row]]
        commands = np.concatenate([np.zeros((0, self.dim)), *(c for c, _ in parts)])
        margins = np.concatenate([np.zeros(0), *(m for _, m in parts)])
        return self.changes_to(np.full(len(commands), row), commands), margins

    def _handicap(self, num_actions: int) -> np.ndarray:
        """Return numbers (Q, num_actions) to add to scores: 0 for rivals, -1e30 for the foil and invalid actions."""
        if self._handicaps is None:
            self._handicaps = np.full((self.num_questions, num_actions), IMPOSSIBLE, dtype=np.float32)
            for row, question in enumerate(self.questions):
                if question.valid_actions[-1] >= num_actions:
                    raise InvalidInput.expected(f"actions from 0 to {num_actions - 1}", list(question.valid_actions))
                self._handicaps[row, question.rivals] = 0.0
        return self._handicaps

    def spend(self, rows: np.ndarray, phase: str, count: int) -> None:
        """Add evaluations of a white-box search to the queries of these questions."""
        self._counts[phase][rows] += count

    def queries(self, row: int) -> Counter[str]:
        """Return the number of queries of one question, by phase."""
        return Counter({phase: int(counts[row]) for phase, counts in self._counts.items() if counts[row]})

    def distances(self, z: np.ndarray) -> np.ndarray:
        """Return the norm of scaled changes z (..., d)."""
        return length(z, self.norm)


def log_odds(margins: np.ndarray) -> np.ndarray:
    """Return the logarithm (N,) of the odds of an action with these margins (N, rivals): -logsumexp(-margins)."""
    least = margins.min(axis=1)
    odds: np.ndarray = least - np.log(np.exp(least[:, None] - margins).sum(axis=1))
    return odds


class _Plane:
    """Conversion between rotated changes z and preferences, for the questions of a batch."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.bases = np.stack([q.basis for q in questions])  # (Q, d, d)
        self.commands, self.low, self.high = (
            np.stack([getattr(q, name) for q in questions]) for name in ("command", "low", "high")
        )

    def commands_at(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        moved = self.commands[rows] + (self.bases[rows] * z[:, None, :]).sum(axis=2)
        return project(moved, self.low[rows], self.high[rows])

    def changes_to(self, rows: np.ndarray, commands: np.ndarray) -> np.ndarray:
        change = commands - self.commands[rows]
        turned = (self.bases[rows] * change[:, :, None]).sum(axis=1)  # the columns are orthonormal
        return np.where(np.abs(turned) > NOISE, turned, 0.0)


class _RestrictedRegion:
    """Conversion between scaled changes z and commands, where constraints or whole numbers exclude some commands."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions

    def commands_at(self, rows: np.ndarray, z: np.ndarray) -> np.ndarray:
        commands = np.empty_like(z)
        for row in np.unique(rows):
            some, question = rows == row, self.questions[row]
            commands[some] = question.project(question.command + z[some] * question.space.scale)
        return commands

    def changes_to(self, rows: np.ndarray, commands: np.ndarray) -> np.ndarray:
        change = np.empty_like(commands)
        for row in np.unique(rows):
            some, question = rows == row, self.questions[row]
            change[some] = (commands[some] - question.command) / question.space.scale
        return change


def _query_at(policy: Policy, states: np.ndarray) -> QueryAtStates:
    """Return a function that queries a policy at some of the states and checks its scores."""
    if not isinstance(policy, PolicyAtStates):
        return lambda rows, commands: query(policy, states[rows], commands)
    ask = policy.at(states)
    return lambda rows, commands: as_scores(ask(rows, commands), commands)

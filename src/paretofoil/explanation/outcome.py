"""Outcomes as foils: conditions on the whole episode, written as text or functions, and answers about them."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.amounts import fixed_limits
from paretofoil.core.answer import DELIVERED, Answer, Certificate, Counterfactual, Live, SearchRecord, Status
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.options import DEFAULTS, NO_LIMITS, Limits, Options, Stop, describe_options, now
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.envs.batch import tabulate
from paretofoil.explanation.ask import action_names, record_question
from paretofoil.explanation.episodes import can_bound, is_provable, require_deterministic
from paretofoil.explanation.outcome_search import (
    GAP,
    SAME,
    Conditions,
    Event,
    OutcomeSearch,
    OutcomeSearchResult,
    Proof,
)
from paretofoil.explanation.questions import make_region
from paretofoil.explanation.verify import counterfactual, round_command
from paretofoil.search.registry import AUTO

Predicate = Callable[[np.ndarray], Any]
"""A function of an observation, `decision.state`."""
EXACT, ROLLOUTS = "exact", "rollouts"
"""The searches for outcomes: with a proof, and without."""
_OPTIONS = ("box", "norm", "keep", "ranges", "attainable")
"""The options that apply to outcomes."""
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True, repr=False)
class Outcome:
    """Conditions on an episode, as a foil. Create them with the function `outcome`."""

    text: str
    """The clauses, joined by commas."""
    predicates: tuple[tuple[Predicate, bool], ...] = ()
    """Functions of an observation, each with True if such a state must be visited, and False if it must not."""
    share: float = 0.5
    """Share of the rollouts that must meet the outcome, in a stochastic environment."""

    def __repr__(self) -> str:
        return f"<Outcome: {self}>"

    def __str__(self) -> str:
        """Return the clauses, including those for functions."""
        words = [f"{'visits' if required else 'never visits'} {_name(p)}" for p, required in self.predicates]
        return ", ".join(filter(None, [self.text, *words]))


def outcome(
    text: str = "",
    *,
    visits: Predicate | Iterable[Predicate] = (),
    never_visits: Predicate | Iterable[Predicate] = (),
    share: float = 0.5,
) -> Outcome:
    """Return an outcome of an episode, as a foil: `explain(agent, [8, -8], foil=outcome("treasure >= 50"))`.

    Args:
        text: Clauses joined by commas or "and", all of which must hold: "treasure >= 50, time <= 10" (limits of the
            return; costs are positive), "dominates treasure=8 time=8", "steps <= 10", "ends" (before the step limit),
            "takes down", "never takes down", "takes release >= 30" (for a continuous action), "visits (3, 4)", "never
            visits (3, 4)", "delivers" (what the command asks for, up to 1 % of each objective's range).
        visits: Functions of an observation. For each of them, the episode must visit a state for which it is true.
        never_visits: Functions of an observation. The episode must not visit any state for which one of them is true.
        share: Share of the rollouts that must meet the outcome, in a stochastic environment.
    """
    predicates = [(p, required) for some, required in ((visits, True), (never_visits, False)) for p in _each(some)]
    if not isinstance(text, str):
        raise InvalidInput.expected('an outcome such as "treasure >= 50, time <= 10"', repr(text))
    clauses = ", ".join(part for part in map(str.strip, _split(text)) if part)
    if not clauses and not predicates:
        raise InvalidInput.expected('an outcome such as "treasure >= 50, time <= 10"', repr(text))
    if not 0.0 < share <= 1.0:
        raise InvalidInput.expected("a share above 0 and at most 1", share)
    return Outcome(clauses, tuple(predicates), float(share))


def _each(predicates: Predicate | Iterable[Predicate]) -> list[Predicate]:
    several = [predicates] if callable(predicates) else list(predicates)
    for predicate in several:
        if not callable(predicate):
            raise InvalidInput.expected("a function of an observation", repr(predicate))
    return several


def _name(predicate: Predicate) -> str:
    name = getattr(predicate, "__name__", "")
    return name if name.isidentifier() else "one of the given states"


def _split(text: str) -> list[str]:
    """Return the clauses of a text, joined by commas or "and". A comma inside parentheses does not end a clause."""
    return re.split(r",(?![^()]*\))|\s+and\s+", text)


def read_outcome(outcome: Outcome, agent: Agent) -> Conditions:
    """Return an outcome as conditions on an agent's episode; raise InvalidInput for an unknown clause."""
    return _Reader(agent).read(outcome)


class _Reader:
    """Collects the conditions that the clauses of an outcome state, for one agent."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.objectives = agent, agent.environment.objectives
        self.names = [objective.name for objective in self.objectives]
        count = len(self.names)
        self.low, self.high = np.full(count, -np.inf), np.full(count, np.inf)
        self.steps = [0.0, np.inf]
        self.dominated: list[np.ndarray] = []
        self.events: list[Event] = []
        self.deviation: np.ndarray | None = None

    def read(self, outcome: Outcome) -> Conditions:
        for clause in _split(outcome.text) if outcome.text else ():
            self._read_clause(clause.strip())
        for i in np.flatnonzero(self.low > self.high):
            limits = sorted(self._sign(int(i)) * np.array([self.low[i], self.high[i]]), reverse=True)
            got = "at least {:g} and at most {:g}".format(*limits)
            raise InvalidInput.expected(f"a lower limit of {self.names[i]} that is not above its upper limit", got)
        self.events += [Event(required, visits=predicate) for predicate, required in outcome.predicates]
        if self.steps[1] < self.agent.environment.max_steps:
            self.events.append(Event(True))  # an episode that is shorter than the step limit ends by itself
        scale = self.agent.space.scale
        tolerance = SAME * np.where(self.agent.space.simplex, 1.0, scale[: len(self.names)])
        points = np.reshape(self.dominated, (-1, len(self.names)))
        least, most = self.steps
        return Conditions(
            self.low, self.high, tolerance, points, most, least, tuple(self.events), outcome.share, None, self.deviation
        )

    def _sign(self, objective: int) -> float:
        return -1.0 if self.objectives[objective].cost else 1.0

    def _read_clause(self, clause: str) -> None:
        compared = re.fullmatch(rf"(.+?)\s*(<=|>=|=)\s*({_NUMBER})", clause)
        word, _, rest = clause.removeprefix("never ").partition(" ")
        required, rest = not clause.startswith("never "), rest.strip()
        if clause == "delivers" and not self.agent.space.simplex:
            self.deviation = DELIVERED * self.agent.space.scale[: len(self.names)]
        elif word == "ends" and not rest:
            self.events.append(Event(required))
        elif word == "takes" and self.agent.actor is not None:
            self.events.append(Event(required, limits=fixed_limits(rest, self.agent.actor.actions)))
        elif word == "takes" and rest in self.agent.actions:
            self.events.append(Event(required, action=self.agent.actions.index(rest)))
        elif word == "visits" and rest:
            self.events.append(Event(required, visits=self._place(rest)))
        elif word == "dominates" and required:
            self._read_point(clause, rest)
        elif compared and compared[1] in self.names:
            which = self.names.index(compared[1])
            self._limit(which, compared[2], self._sign(which) * self._number(compared[3]))
        elif compared and compared[1] == "steps":
            self.steps[0] = max(self.steps[0], self._number(compared[3]) if compared[2] != "<=" else 0.0)
            self.steps[1] = min(self.steps[1], self._number(compared[3]) if compared[2] != ">=" else np.inf)
        else:
            raise self._unreadable(clause)

    def _limit(self, objective: int, sign: str, number: float) -> None:
        """Limit the return of an objective; `number` is a return, negative for a cost."""
        cost = self.objectives[objective].cost
        if sign == "=" or (sign == ">=") != cost:
            self.low[objective] = max(self.low[objective], number)
        if sign == "=" or (sign == "<=") != cost:
            self.high[objective] = min(self.high[objective], number)

    def _read_point(self, clause: str, text: str) -> None:
        """Read a point that the return must dominate, such as "treasure=8 time=8"."""
        names = "|".join(re.escape(name) for name in sorted(self.names, key=len, reverse=True))
        pair = rf"({names})\s*=\s*({_NUMBER})"
        pairs = re.findall(pair, text)
        if re.sub(pair, "", text).strip() or sorted(name for name, _ in pairs) != sorted(self.names):
            example = f'"dominates {" ".join(f"{name}=1" for name in self.names)}"'
            raise InvalidInput.expected(f"a point with every objective, such as {example}", repr(clause))
        point = np.zeros(len(self.names))
        for name, number in pairs:
            which = self.names.index(name)
            point[which] = self._sign(which) * self._number(number)
        self.low = np.maximum(self.low, point)
        self.dominated.append(point)

    def _number(self, text: str) -> float:
        number = float(text)
        if not np.isfinite(number):
            raise InvalidInput.expected("a finite number in an outcome", repr(text))
        return number

    def _place(self, text: str) -> Predicate:
        """Return a function that is true for the observations of a place such as (3, 4).

        The place is the first attribute of the environment's states.
        """
        entry = self.agent.environment
        if not entry.finite:
            got = f"{text!r} in {entry.name}"
            raise InvalidInput.expected("an environment with finitely many states (or visits=FUNCTION)", got)
        table, attribute = tabulate(entry), entry.state[0]
        places = [np.atleast_1d(state[attribute]).tolist() for state in table.states]
        numbers = [float(number) for number in re.findall(_NUMBER, text)]
        plain = re.fullmatch(rf"\(?\s*{_NUMBER}(\s*,\s*{_NUMBER})*\s*,?\s*\)?", text)
        same = {table.observations[i].tobytes() for i, place in enumerate(places) if plain and place == numbers}
        if not same:
            example = f"({', '.join(f'{number:g}' for number in places[-1])})"
            raise InvalidInput.expected(f"a {attribute} of {entry.name}, such as {example}", repr(text))
        return lambda observation: observation.tobytes() in same

    def _unreadable(self, clause: str) -> InvalidInput:
        """Return the error for an unknown clause, which suggests the nearest clause."""
        actor, names = self.agent.actor, self.agent.actions
        if actor is not None:
            names = tuple(f"{name} >= {high / 2:g}" for name, high in zip(names, actor.actions.high, strict=True))
        actions = [f"{verb} {action}" for verb in ("takes", "never takes") for action in names]
        compared = re.search(rf"([<>=]+)\s*({_NUMBER})", clause)
        sign, number = compared.groups() if compared else (">=", "1")
        sign = {">": ">=", "<": "<=", "==": "="}.get(sign, sign)
        limits = [f"{name} {sign} {number}" for name in (*self.names, "steps")]
        clauses = [*limits, *actions, "ends", "never ends", "delivers", "visits (0, 0)", "dominates"]
        takes = "".join(f"takes {action}, " for action in names[:1])
        examples = f"{self.names[0]} >= 1, steps <= 10, ends, {takes}visits (0, 0)"
        return InvalidInput.expected(f"clauses such as {examples}", did_you_mean(clause, clauses))


def check_outcome(
    agent: Agent, outcome: Outcome, method: Any, options: Options, decision: Decision | None = None
) -> None:
    """Raise an error, before any search, if an outcome cannot be a foil for this agent.

    With a decision, also raise an error if the episode after it already meets the outcome.
    """
    read_outcome(outcome, agent)
    _choose_proof(agent, method, NO_LIMITS, options)
    if decision is not None and is_met(agent, decision, outcome):
        raise InvalidInput.expected("an outcome that the episode does not meet already", repr(str(outcome)))


def _search_for(agent: Agent, decision: Decision, outcome: Outcome, options: Options, *effort: float) -> OutcomeSearch:
    """Return the search for an outcome. `effort` is its deadline and its limit of boxes."""
    conditions = read_outcome(outcome, agent)
    if decision.snapshot is None:
        raise InvalidInput.expected("a decision of a rollout, which has the state of the environment", repr(decision))
    question = make_region(agent, decision, replace(options, kappa=0.0))
    return OutcomeSearch(agent, decision, question, conditions, *effort)


def is_met(agent: Agent, decision: Decision, outcome: Outcome) -> bool:
    """Return whether the rest of the episode after a decision already meets an outcome."""
    return _search_for(agent, decision, outcome, DEFAULTS).meets(decision.command)


def explain_outcome(
    agent: Agent,
    decision: Decision,
    outcome: Outcome,
    method: Any,
    limits: Limits,
    options: Options,
    max_boxes: float = np.inf,
) -> Answer:
    """Return the closest command under which the rest of the episode meets an outcome, or a proof that there is none.

    Each command of the answer is confirmed by rollouts of its own.
    """
    start = now()
    kind = _choose_proof(agent, method, limits, options)
    search = _search_for(agent, decision, outcome, options, limits.deadline(), max_boxes)
    question = search.question
    if search.meets(question.command):
        what = f"an outcome that the episode under {question.command.tolist()} does not meet"
        raise InvalidInput.expected(what, f"{str(outcome)!r}, which it already meets")
    result = search.run(kind)
    batch, row = QuestionBatch([question]), np.zeros(1, dtype=int)

    def counterfactual_at(command: np.ndarray) -> Counterfactual:
        [scores] = batch.scores_at(row, command[None], "verify")
        return replace(counterfactual(batch, 0, command, scores), margin=search.least_margin(command))

    def first_met(commands: np.ndarray) -> np.ndarray | None:
        return next((command for command in commands if search.meets(command)), None)

    [scores] = batch.scores_at(row, question.command[None], "original")
    proof = _certificate(result, question, now() - start) if kind else None
    status, stop, quoted, closest = Status.NOT_FOUND, result.stop, None, None
    if result.closest is None and proof is not None and proof.status == "infeasible":
        status = Status.PROVEN_INFEASIBLE
    elif result.closest is not None and not search.meets(result.closest):
        stop = Stop.NOT_CONFIRMED
    elif result.closest is not None:
        status = Status.PROVEN_CLOSEST if proof is not None and proof.status == "optimal" else Status.FOUND
        closest = counterfactual_at(result.closest)
        quoted = counterfactual_at(round_command(question, result.closest, first_met))
    names = action_names(agent.actions, len(scores))
    queries = {**batch.queries(0), "rollouts": search.queries}
    return Answer(
        status,
        record_question(question, scores, names, agent.phrases, outcome=str(outcome)),
        SearchRecord(EXACT if kind == "closest" else ROLLOUTS, 0, stop, queries, now() - start),
        quoted,
        closest,
        proof,
        live=Live(question, met=search.shares),
    )


def _choose_proof(agent: Agent, method: Any, limits: Limits, options: Options) -> Proof | None:
    """Return what the search can prove about the answer; raise an error for options that outcomes do not support."""
    if method not in (AUTO, EXACT, ROLLOUTS):
        raise InvalidInput.expected(f"a search for outcomes among {AUTO}, {EXACT}, {ROLLOUTS}", repr(method))
    if limits.queries is not None:
        raise InvalidInput.expected(
            "a time limit (seconds) for a question about an outcome", f"{limits.queries:,} queries"
        )
    for name in (info.name for info in describe_options()):
        if name not in _OPTIONS and getattr(options, name) != getattr(DEFAULTS, name):
            got = f"{name}={getattr(options, name)!r}"
            raise InvalidInput.expected(f"only the options {', '.join(_OPTIONS)} for an outcome", got)
    if method == ROLLOUTS:
        return None
    try:
        require_deterministic(agent)
    except InvalidInput:
        if method == EXACT:
            raise
        return None
    if is_provable(agent):
        return "closest"
    if method == EXACT:
        what = "finitely many states and a white-box policy, for a proof about outcomes"
        got = f"{agent.name} in {agent.environment.name} (use search='auto' or 'rollouts')"
        raise InvalidInput.expected(what, got)
    return "radius" if can_bound(agent) else None


def _certificate(result: OutcomeSearchResult, question: Question, seconds: float) -> Certificate:
    return Certificate(
        status="optimal" if result.is_closest else "infeasible" if np.isinf(result.lower_bound) else "gap",
        lower=result.lower_bound,
        upper=result.distance,
        tolerance=0.0 if result.closest is None else GAP * result.distance,
        boxes=result.boxes,
        seconds=seconds,
        kappa=0.0,
        slack=result.assumed,
        deviation=result.deviation,
        pad=0.0,
        norm=question.norm,
        rounding="measured" if result.assumed else "derived",
    )

"""Every number of a paragraph is read back from the text, and compared with the policy and the environment."""

import itertools
import re
from typing import Any

import numpy as np
import pytest
import reading
from arguments import arguments
from tiers import long_except

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.command import length
from paretofoil.explanation.questions import reachable_region
from paretofoil.search import Boundary, Exact

EXACT: list[dict[str, Any]] = [
    {},
    {"keep": (0,)},
    {"sparse": True},
    {"kappa": 0.0},
    {"norm": "l1"},
    {"k": 3},
    {"range": (0.3, 0.1)},
    {"min_change": 0.05},
    {"kappa": 1.0},
    {"norm": "linf"},
    {"range": (0.05, 0.5), "keep": (0,)},
    {"box": "paper"},
    {"box": "paper", "sparse": True, "norm": "l1"},
]
FEW = Boundary(max_queries=300)
QUICK = [{"search": FEW, **options} for options in EXACT[:2] + EXACT[5:7]] + [{"search": "nearest-front"}]
CUT_SHORT = [{"search": Exact(max_boxes=boxes, start=None)} for boxes in (1, 30)]
CHEAP = [{}, *CUT_SHORT, {"box": "paper"}, *QUICK, {"keep": (0,)}, {"norm": "linf"}, {"kappa": 0.0}]
NUM_ANSWERS = {
    "branch-path": 32,
    "breakable-bottles": 22,
    "breakable-bottles-realised": 8,
    "collect-two": 42,
    "deep-sea-treasure": 45,
    "deep-sea-treasure-early": 45,
    "fruit-tree": 10,
    "minecart": 15,
    "minecart-early": 15,
    "resource-gathering": 36,
    "resource-gathering-realised": 12,
    "reward-line": 45,
}
"""At least so many answers are read, with as many kinds of restrictions as there are."""
SAMPLES = 1000


def test_three_hundred_answers_are_read() -> None:
    assert sum(NUM_ANSWERS.values()) >= 300
    assert set(NUM_ANSWERS) == set(pf.list_agents())


def moments(agent: pf.Agent) -> list[pf.Decision]:
    """Decisions with foils, in an order that spreads over commands and moments."""
    commands = agent.front[np.linspace(0, len(agent.front) - 1, min(len(agent.front), 8)).astype(int)]
    decisions = [d for episode in rollouts(agent, list(commands)) for d in episode if len(d.valid_actions) > 1]
    return [decisions[i] for i in np.random.default_rng(0).permutation(len(decisions))]


def explain(agent: pf.Agent, decision: pf.Decision, options: dict[str, Any]) -> list[pf.Answer]:
    chosen = dict(options)
    if "range" in chosen:  # of the last objective, by shares of its width below and above the command
        below, above = np.array(chosen.pop("range")) * agent.space.scale[-1]
        last = float(decision.command[-1])
        chosen["ranges"] = {agent.space.names[-1]: (last - below, last + above)}
    return pf.explain_decision(agent, decision, **arguments(**chosen))


@pytest.mark.parametrize("name", long_except(NUM_ANSWERS, ("branch-path", "deep-sea-treasure", "collect-two")))
def test_every_number_of_a_paragraph_is_true(name: str) -> None:
    agent, num_read = pf.load_agent(name), 0
    kinds = CHEAP if name in ("fruit-tree", "minecart", "minecart-early") else EXACT + QUICK + CUT_SHORT
    for decision, options in zip(moments(agent), itertools.cycle(kinds)):
        for found in explain(agent, decision, options):
            for answer in (found, *found.alternatives):
                Witness(agent, decision, answer, options.get("box", "reachable")).examine()  # type: ignore[attr-defined]
                num_read += 1
        if num_read >= NUM_ANSWERS[name]:
            return
    pytest.fail(f"only {num_read} answers were read")


class Witness:
    """Knows what the policy and the environment say, and asks the paragraph about each of its sentences."""

    def __init__(self, agent: pf.Agent, decision: pf.Decision, answer: pf.Answer, box: str) -> None:
        self.agent, self.decision, self.answer = agent, decision, answer
        self.box = agent.paper_space if box == "paper" else None
        self.scale = (self.box or agent.space).scale
        self.objectives = agent.space.objectives
        self.said = reading.read(answer.paragraph())
        self.command = self.told(decision.command, "change")
        self.rng = np.random.default_rng(0)

    def examine(self) -> None:
        for kind, says in self.said.items():
            check = getattr(self, kind.replace(" ", "_"), None)
            if check is not None:
                check(says)
        assert str(self.answer) in self.answer.paragraph()
        assert ("change" in self.said) == (self.answer.command is not None)
        changed = self.command != self.decision.command
        assert changed.any() == (self.answer.command is not None)

    def told(self, before: np.ndarray, kind: str) -> np.ndarray:
        """The command in the very numbers that are told; what is not told is as before."""
        told = before.copy()
        if kind in self.said:
            for i, change in reading.changes(self.said[kind]["changes"], self.objectives).items():
                told[i] = change.new
        return told

    def scores(self, commands: np.ndarray) -> np.ndarray:
        states = np.repeat(self.decision.state[None], len(commands), axis=0)
        return np.asarray(self.agent.policy.log_probs(states, commands), dtype=np.float64)

    def margins(self, commands: np.ndarray) -> np.ndarray:
        scores, foil = self.scores(commands), self.answer.question.foil
        rivals = [a for a in self.decision.valid_actions if a != foil]
        return scores[:, foil] - scores[:, rivals].max(axis=1)

    def shares_at(self, command: np.ndarray) -> np.ndarray:
        scores = self.scores(command[None])[0][list(self.decision.valid_actions)]
        weights = np.zeros(len(self.agent.actions))
        weights[list(self.decision.valid_actions)] = np.exp(scores - scores.max())
        return weights / weights.sum()

    def check_shares(self, says: dict[str, str], command: np.ndarray) -> None:
        shares, names = self.shares_at(command), self.agent.actions
        assert reading.fits(says["share"], shares[names.index(says["chosen"])]), says
        assert reading.fits(says["foil_share"], shares[names.index(says["foil"])]), says

    def situation(self, says: dict[str, str]) -> None:
        assert says["chosen"] == self.agent.actions[self.decision.action]
        assert (" from here on" in says["command"]) == (self.decision.step > 0) or says["command"].startswith("Already")
        listed = says["command"].replace(" from here on", "").replace(" and already ", " and Already ")
        remaining, _, excess = listed.removeprefix("Asked for ").partition("Already ")
        over = reading.quantities(excess, self.objectives).numbers if excess else {}
        for i, (number, off) in over.items():
            assert abs(number - self.decision.command[i]) <= off + 1e-9, says
            assert number * (-1 if self.objectives[i].cost else 1) < 0
        rest = [i for i in range(len(self.objectives)) if i not in over]
        self.check_quantities(remaining.removesuffix(" and "), self.decision.command, rest)
        self.check_shares(says, self.decision.command)

    def check_quantities(self, listed: str, numbers: np.ndarray, which: list[int] | None = None) -> None:
        """Check that numbers are right to their last digit, and that those of which nothing is said are 0."""
        which = list(range(len(numbers))) if which is None else which
        written = reading.quantities(listed, self.objectives[: len(numbers)]) if listed else reading.Quantities()
        for i, (number, off) in written.numbers.items():
            assert abs(number - numbers[i]) <= 1.001 * off + 1e-9 * self.scale[i], (listed, numbers)
        rest = [numbers[i] for i in which if i not in written.numbers]
        assert written.nothing_else == bool(rest)
        assert np.abs(rest).max(initial=0.0) < 1e-8

    def change(self, says: dict[str, str]) -> None:
        kappa, foil = self.answer.question.kappa, self.answer.question.foil
        for size in (1, 2, 7):
            margins = self.margins(np.repeat(self.command[None], size, axis=0))
            assert (margins >= kappa).all()
            assert (margins > 0).all()
        assert self.shares_at(self.command).argmax() == foil
        assert says["did"].startswith(self.agent.phrases[foil])
        assert ("here" in says) == (self.decision.step > 0)
        assert self.command == pytest.approx(self.answer.command, rel=1e-9, abs=1e-12)
        for i, told in reading.changes(says["changes"], self.objectives).items():
            old, new = self.decision.command[i], told.new
            assert abs(told.old - old) <= 0.05 * abs(new - old) + 1e-8, says
            assert (told.new - told.old) * (new - old) > 0
            if told.size is not None:
                assert told.size == pytest.approx(told.new - told.old, rel=1e-9), says

    def outside(self, says: dict[str, str]) -> None:
        """What was trained on is the agent's own box, whichever is searched."""
        beyond = np.flatnonzero(self.agent.space.outside(self.decision.command)).tolist()
        assert beyond == [reading.about(name, self.objectives) for name in reading.items(says["names"])]

    def never(self, says: dict[str, str]) -> None:
        assert says["foil"] == self.agent.actions[self.answer.question.foil]
        kappa = float(says.get("margin", 0.0))
        assert kappa == self.answer.question.kappa
        self.assumption(says, self.answer.proof.assumed)
        low, high = self.region(says)
        points = np.concatenate([self.rng.uniform(low, high, size=(SAMPLES, len(low))), corners(low, high)])
        assert (self.margins(points) < kappa).all()

    def assumption(self, says: dict[str, str], assumed: float) -> None:
        """Check that the errors that a proof allows for are not overstated."""
        assert ("assumed" in says) == (assumed > 0)
        assert float(says.get("assumed", 0.0)) <= assumed

    def region(self, says: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the search region: what can still be fulfilled, or the paper's box, with what the text restricts."""
        command = self.decision.command
        low, high = reachable_region(self.agent.space, command, self.decision.collected)
        if self.box is not None:
            low, high = np.minimum(self.box.low, command), np.maximum(self.box.high, command)
        fixed = self.named(says["kept"]) if "kept" in says else []
        if "alone" in says:
            fixed += [i for i in range(len(command)) if i not in self.named(says["alone"])]
        for i in fixed:
            low[i] = high[i] = command[i]
        if "held" in says:
            for i, ends in reading.spans(says["held"], self.objectives).items():
                low[i], high[i] = ends
        return low, high

    def named(self, names: str) -> list[int]:
        return [reading.about(name, self.objectives) for name in reading.items(names)]

    def its_region(self, says: dict[str, str]) -> None:
        low, high = self.region(self.said["never"])
        listed = self.said["situation"]["command"].removeprefix("Asked for ").replace(" from here on", "")
        asked = reading.quantities(re.split(r"(?: and a|A)lready ", listed)[0], self.objectives).numbers
        for i, (lowest, highest) in reading.spans(says["spans"], self.objectives).items():
            assert low[i] - 1e-9 <= lowest < highest <= high[i] + 1e-9
            assert highest - lowest >= 0.8 * (high[i] - low[i])
            if i in asked:
                assert lowest - 1e-12 <= asked[i][0] <= highest + 1e-12, "the region holds the command as it is written"
            low[i] = high[i] = self.decision.command[i]
        assert (np.abs(high - low) <= 1e-6 * self.scale).all()
        assert ("rest" in says) == (len(reading.items(says["spans"])) < len(low))
        assert ("here" in says) == (self.decision.step > 0)

    def odds(self, says: dict[str, str]) -> None:
        assert np.exp(self.answer.question.kappa) <= float(says["times"]) <= 1.01 * np.exp(self.answer.question.kappa)

    def shares(self, says: dict[str, str]) -> None:
        self.check_shares(says, self.command)

    def unchanged(self, says: dict[str, str]) -> None:
        names = [o.name.lower() for o in self.objectives]
        i = names.index(says["name"].lower().removeprefix("the risk of ").removeprefix("the chance of "))
        assert np.flatnonzero(self.command == self.decision.command).tolist() == [i]

    def others_unchanged(self, says: dict[str, str]) -> None:
        assert np.count_nonzero(self.command == self.decision.command) > 1

    def consequence(self, says: dict[str, str]) -> None:
        assert ("whole" in says) == (self.decision.step > 0)
        self.check_runs(says["led"], self.command, says.get("notes", ""))
        self.check_runs(says["before"], self.decision.command, "")
        asked = self.decision.command + self.decision.collected
        delivered = np.allclose(self.runs(self.decision.command)[0], asked, rtol=1e-5, atol=1e-8)
        assert ("asked" in says) == delivered

    def same_consequence(self, says: dict[str, str]) -> None:
        self.check_runs(says["led"], self.command, says.get("notes", ""))
        self.check_runs(says["led"], self.decision.command, "")

    def check_runs(self, listed: str, command: np.ndarray, notes: str) -> None:
        mean, error, finished = self.runs(command)
        self.check_quantities(listed, mean)
        for item in reading.items(listed):
            if "±" in item:
                objective = self.objectives[i := reading.about(item, self.objectives)]
                spread = item.partition("± ")[2]
                written = abs(reading.number(spread, objective))
                assert abs(written - error[i]) <= reading.digit(spread, objective) + 1e-9
        if "in each of" in notes:
            assert not error.any()
        if "stopped" in notes:
            share = re.search(r"in (\S+ %|\S+ \S+ %) of them", notes)[1] if "of them" in notes else "100 %"  # type: ignore[index]
            assert reading.fits(share, 1 - finished)

    def attainable(self, says: dict[str, str]) -> None:
        numbers = reading.quantities(says["command"], self.objectives).numbers
        asked = np.array([numbers[i][0] if i in numbers else 0.0 for i in range(len(self.objectives))])
        assert ("whole" in says) == (self.decision.step > 0)
        self.check_delivery(says, asked - self.decision.collected)

    def attained(self, says: dict[str, str]) -> None:
        self.check_delivery(says, self.command)

    def not_attainable(self, says: dict[str, str]) -> None:
        assert says["foil"] == self.agent.actions[self.answer.question.foil]
        assert (
            int(says.get("tried", says.get("one", "0")).replace(",", ""))
            == self.answer.rollouts.attainable.num_rollouts
        )

    def check_delivery(self, says: dict[str, str], command: np.ndarray) -> None:
        """Check that the command, issued here, takes the foil and delivers what it asks for."""
        foil = self.agent.actions[self.answer.question.foil]
        assert says.get("foil", foil) == foil
        assert self.margins(command[None])[0] >= self.answer.question.kappa - 1e-6
        stochastic = self.agent.environment.stochastic
        assert ("runs" in says or "each" in says) == stochastic
        assert ("mean" in says) == ("runs" in says)
        runs = int(says.get("runs", says.get("each", "1")).replace(",", ""))
        mean, error, _ = self.runs(command, runs, seed=2)
        if "each" in says:
            assert not error.any()
        missed = np.abs(mean - command - self.decision.collected)
        assert (
            missed <= 1e-8 if "exactly" in says else missed <= 0.01 * self.agent.space.scale + 2 * error + 1e-9
        ).all(), says
        assert ("nearly" in says) == (stochastic and bool((missed > error + 1e-9).any()))
        if "led" in says:
            self.check_quantities(says["led"], mean)

    def runs(self, command: np.ndarray, count: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
        env, count = self.agent.batch_env(), count if self.agent.environment.stochastic else 1
        seeds = np.random.default_rng(seed).integers(2**63, size=count, dtype=np.uint64)
        seen = env.restore(self.decision.snapshot, seeds)
        totals, ended, _ = play(self.agent, env, seen, command, count)
        totals = totals + self.decision.collected
        error = totals.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros(totals.shape[1])
        return totals.mean(axis=0), error, ended.mean()

    def start(self, says: dict[str, str]) -> None:
        issued = self.decision.command + self.decision.collected
        command = self.told(issued, "start")
        assert command - self.decision.collected == pytest.approx(self.command, rel=1e-7, abs=1e-8)
        assert int(says["step"]) == self.decision.step
        assert self.leads_here(command) == (says["leads"] == "also")

    def chance_start(self, says: dict[str, str]) -> None:
        command = self.told(self.decision.command + self.decision.collected, "chance start")
        assert command - self.decision.collected == pytest.approx(self.command, rel=1e-7, abs=1e-8)
        assert self.agent.environment.stochastic

    def same_start(self, says: dict[str, str]) -> None:
        assert not self.decision.collected.any()
        assert int(says["step"]) == self.decision.step
        assert self.leads_here(self.command) == (says["leads"] == "also")

    def same_chance_start(self, says: dict[str, str]) -> None:
        assert not self.decision.collected.any()
        assert self.agent.environment.stochastic

    def leads_here(self, command: np.ndarray) -> bool:
        env = self.agent.batch_env()
        seen = env.reset(np.zeros(1, dtype=np.uint64))
        _, _, states = play(self.agent, env, seen, command, 1)
        time = self.decision.step
        return len(states) > time and np.array_equal(states[time], self.decision.state)

    def range(self, says: dict[str, str]) -> None:
        low, high = self.command.copy(), self.command.copy()
        spans = reading.spans(says["spans"], self.objectives)
        for i, (lowest, highest) in spans.items():
            low[i], high[i] = lowest, highest
        assert ("rest" in says) == (len(spans) < len(low))
        assert ("here" in says) == (self.decision.step > 0)
        assert says["foil"] == self.agent.actions[self.answer.question.foil]
        self.assumption(says, self.answer.proven_range.assumed)
        points = np.concatenate([self.rng.uniform(low, high, size=(SAMPLES, len(low))), corners(low, high)])
        assert (self.margins(points) >= self.answer.question.kappa).all(), says

    def proof(self, says: dict[str, str]) -> None:
        self.bound(says)
        assert ("rounded" in says) == bool((self.answer.command != self.answer.closest).any())

    def gap(self, says: dict[str, str]) -> None:
        self.bound(says)

    def size(self) -> float:
        return float(length((self.command - self.decision.command) / self.scale, self.answer.question.norm))

    def bound(self, says: dict[str, str]) -> None:
        """No command of the told region that is closer than the bound lets the foil win by the margin."""
        assert float(says.get("margin", 0.0)) == self.answer.question.kappa
        self.assumption(says, self.answer.proof.assumed)
        assert says.get("norm", "l2") == self.answer.question.norm
        bound = self.size() * (1 - float(says["smaller"]) / 100)
        assert bound <= self.answer.lower_bound * (1 + 1e-9)
        directions = self.rng.normal(size=(SAMPLES, len(self.scale)))
        towards = (self.command - self.decision.command) / self.scale
        nearby = 0.1 * length(towards[None], self.answer.question.norm)
        directions[::2] = towards + nearby * directions[::2]  # most where it is likeliest
        self.check_closer(self.region(says), bound, directions)

    def check_closer(self, region: tuple[np.ndarray, np.ndarray], bound: float, directions: np.ndarray) -> None:
        """No command in these directions that is closer than the bound lets the foil win by the margin."""
        low, high = ((side - self.decision.command) / self.scale for side in region)
        reach = self.rng.random((len(directions), 1)) ** 0.2 * bound
        closer = np.clip(directions / length(directions, self.answer.question.norm)[:, None] * reach, low, high)
        assert (self.margins(self.decision.command + closer * self.scale) < self.answer.question.kappa).all()

    def fewer(self, says: dict[str, str]) -> None:
        count = 1 + len(self.answer.alternatives)
        assert int(says["wanted"]) > count == int(says.get("count", 1))

    def stop(self, says: dict[str, str]) -> None:
        assert self.answer.search.stop.early

    def more_time(self, says: dict[str, str]) -> None:
        assert self.answer.search.stop.early
        assert self.answer.status is pf.Status.FOUND

    def bounded(self, says: dict[str, str]) -> None:
        self.spent(says)
        assert float(says["bound"]) > 0
        self.check_closer(self.region({}), float(says["bound"]), self.rng.normal(size=(SAMPLES, len(self.scale))))

    def spent(self, says: dict[str, str]) -> None:
        assert int(says["queries"].replace(",", "")) == sum(self.answer.search.queries.values())


def corners(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


def play(
    agent: pf.Agent, env: Any, seen: Any, command: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Plain episodes: whole returns (count, d), whether each ended by itself, and the states of the first."""
    remaining = np.repeat(command[None], count, axis=0)
    totals, ended, states = np.zeros((count, len(command))), np.zeros(count, dtype=bool), []
    alive, observations, masks = np.arange(count), seen.observations, seen.masks
    while alive.size:
        if alive[0] == 0:
            states.append(observations[0].copy())
        scores = np.where(masks, agent.policy.log_probs(observations, remaining[alive]), -np.inf)
        step = env.step(alive, scores.argmax(axis=1))
        totals[alive] += step.rewards
        remaining[alive] -= step.rewards
        ended[alive] = step.terminated
        going = ~(step.terminated | step.truncated)
        alive, observations, masks = alive[going], step.observations[going], step.masks[going]
    return totals, ended, states

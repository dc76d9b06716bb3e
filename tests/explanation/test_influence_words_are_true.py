"""Every number of a sentence about influence is read back from the text, and compared with the policy."""

import re

import numpy as np
import pytest
import reading

import paretofoil as pf

AGENTS = {"deep-sea-treasure": 8, "minecart": 3, "reward-line": 4, "resource-gathering": 6, "branch-path": 6}
"""Agents, and the number of steps that are read of each."""
SAMPLES = 4000
SHARE = r"(?:about \d+ % \((?P<sampled>[^)]+)\)|(?P<proven>(?:at (?:most|least) )?\d+(?: to \d+)? %)|(?P<none>none))"
FIRST = re.compile(
    rf"The command matters in this state: {SHARE} of the commands in the search region make the agent choose "
    r'"?(?P<action>[^",(]+?)"?(?P<now> \(as now\))?$'
)
NEXT = re.compile(rf'{SHARE} "?(?P<action>[^",(]+?)"?(?P<now> \(as now\))?$')
INERT = re.compile(
    r"Every command in the search region makes the agent choose (?P<action>.+) in this state \(proven\)$"
)
REGION = re.compile(r"The search region is (?P<spans>.+?)(?P<here> from here on)?(?:, with the rest unchanged)?$")
ALONE = re.compile(r"Changing (?P<name>.+) alone is enough: (?P<switches>.+)$")
TOGETHER = re.compile(r"(?:Together, )?(?P<changes>.+?)(?: from here on)? makes? the agent choose (?P<action>.+)$")
UNREAD = re.compile(
    r"No objective alone changes the action \(proven\)|No objective was found to change it alone|"
    r"The agent chooses .+ in this state under every command: no other action is valid|"
    r"The agent chooses .+ in this state|None of [\d,]+ sampled commands in the search region changes this, .+"
)


class Witness:
    """Knows what the policy chooses, and checks each sentence."""

    def __init__(self, agent: pf.Agent, decision: pf.Decision, text: str) -> None:
        self.agent, self.decision = agent, decision
        self.objectives, self.rng = agent.space.objectives, np.random.default_rng(0)
        self.sentences = re.split(r"(?<=[A-Za-z)\d\"])\. (?=[A-Z\d])", text.removesuffix("."))
        self.low = self.high = decision.command

    def examine(self) -> set[str]:
        """Check all sentences, and return their kinds."""
        for sentence in self.sentences:  # first of all: the others are about it
            if region := REGION.match(sentence):
                self.region(region)
        kinds = {"shares": self.shares, "inert": self.inert, "alone": self.alone, "together": self.together}
        patterns = {"inert": INERT, "alone": ALONE, "together": TOGETHER}
        seen = set()
        for sentence in self.sentences:
            if sentence.startswith("The command matters"):
                self.shares(sentence)
                seen.add("shares")
                continue
            matches = [(kind, match) for kind, pattern in patterns.items() if (match := pattern.match(sentence))]
            if not matches:
                assert REGION.match(sentence) or UNREAD.fullmatch(sentence), f"no test reads: {sentence}"
                continue
            kind, match = matches[0]
            kinds[kind](match)
            seen.add(kind)
        return seen

    def chosen(self, commands: np.ndarray) -> list[str]:
        valid = list(self.decision.valid_actions)
        states = np.repeat(self.decision.state[None], len(commands), axis=0)
        best = np.asarray(self.agent.policy.log_probs(states, commands))[:, valid].argmax(axis=1)
        return [self.agent.actions[valid[i]] for i in best]

    def region(self, match: re.Match[str]) -> None:
        assert bool(match["here"]) == (self.decision.step > 0)
        self.low, self.high = self.decision.command.copy(), self.decision.command.copy()
        for i, ends in reading.spans(match["spans"], self.objectives).items():
            self.low[i], self.high[i] = ends
            assert ends[0] - 1e-9 <= self.decision.command[i] <= ends[1] + 1e-9

    def drawn(self) -> list[str]:
        return self.chosen(self.rng.uniform(self.low, self.high, size=(SAMPLES, len(self.low))))

    def inert(self, match: re.Match[str]) -> None:
        assert set(self.drawn()) == {match["action"].strip('"')}

    def shares(self, sentence: str) -> None:
        """Check that the share of each action is about that of random commands of the region that is written."""
        parts = re.findall(r"(?:[^(,]|\([^)]*\)|,(?! (?:at|about|none|\d)))+", sentence.removesuffix(" (proven)"))
        parts = [part for text in parts for part in re.split(r" and (?=(?:at|about|none|\d))", text.strip(", "))]
        counts = self.drawn()
        actions = set()
        for i, part in enumerate(parts):
            match = (NEXT if i else FIRST).match(part)
            assert match, (part, sentence)
            actions.add(match["action"])
            assert bool(match["now"]) == (match["action"] == self.agent.actions[self.decision.action])
            low, high = ends_of(match)
            share = counts.count(match["action"]) / SAMPLES
            off = 0.01 + 4 * np.sqrt(max(share * (1 - share), 1e-3) / SAMPLES)  # the region is rounded, too
            assert low - off <= share <= high + off, (part, share)
        assert actions == {self.agent.actions[action] for action in self.decision.valid_actions}

    def alone(self, match: re.Match[str]) -> None:
        i = reading.about(match["name"], self.objectives)
        for text in match["switches"].split(", "):
            new, action = re.match(r"(.+?)(?: from here on)? makes (?:the agent|it) choose (.+)", text).groups()  # type: ignore[union-attr]
            new, _, old = new.partition(" instead of ")
            command = self.decision.command.copy()
            command[i] = reading.number(new, self.objectives[i])
            assert self.chosen(command[None]) == [action.strip('"')] != [self.agent.actions[self.decision.action]]
            if old:
                before, after = reading.number(old, self.objectives[i]), command[i]
                assert abs(before - self.decision.command[i]) <= 0.05 * abs(after - self.decision.command[i]) + 1e-9

    def together(self, match: re.Match[str]) -> None:
        command = self.decision.command.copy()
        for i, change in reading.changes(match["changes"], self.objectives).items():
            command[i] = change.new
        assert self.chosen(command[None]) == [match["action"].strip('"')]


def ends_of(match: re.Match[str]) -> tuple[float, float]:
    """Return the ends of a share that is written."""
    if match["none"]:
        return 0.0, 0.0
    text = (match["proven"] or match["sampled"].split(", sampled")[0]).removesuffix(" %")
    if text.startswith("at most"):
        return 0.0, float(text.split()[-1]) / 100
    if text.startswith("at least"):
        return float(text.split()[-1]) / 100, 1.0
    low, _, high = text.partition(" to ")
    return float(low) / 100, float(high or low) / 100


@pytest.mark.parametrize("name", AGENTS)
def test_every_number_about_influence_is_true(name: str) -> None:
    agent, seen = pf.load_agent(name), set()
    decisions = [d for command in agent.front[:: max(1, len(agent.front) // 4)] for d in pf.rollout(agent, command)]
    for decision in decisions[:: max(1, len(decisions) // AGENTS[name])][: AGENTS[name]]:
        influence = pf.influence(agent, decision, seconds=0.3, samples=2000)
        seen |= Witness(agent, decision, str(influence)).examine()
    assert "shares" in seen


def test_an_altered_number_is_noticed() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[3]
    text = str(pf.influence(agent, decision, seconds=0.3, samples=2000))
    Witness(agent, decision, text).examine()
    noticed, altered = 0, 0
    for found in re.finditer(r"\d+(?:\.\d+)?", text):
        if (
            text[found.end() :].startswith(" steps from")
            or "search region is" in text[max(0, found.start() - 20) : found.start()]
        ):
            continue
        altered += 1
        number = float(found[0]) * 2.5 + 3
        other = f"{text[: found.start()]}{number:g}{text[found.end() :]}"
        try:
            Witness(agent, decision, other).examine()
        except AssertionError:
            noticed += 1
    assert altered >= 8
    assert noticed >= 0.7 * altered

"""Proven shares against the deployed policies: a million sampled commands for each decision, every claim checked.

    python benchmarks/influence_soundness.py [--agents NAME,NAME] [--decisions 100] [--samples 1000000] [--seconds 1]

For each shipped agent: decisions of its episodes under commands of its front and random ones. Each proof splits the
region into boxes. Commands are drawn evenly from the region, and the policy itself is asked about each: in a box that
is settled it must choose the survivor; in an open one it must choose an action that is left, and behind each line the
action that is proven to lose must lose. Then the share of the sample must fit the proven interval.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

import paretofoil as pf
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.pose import pose
from paretofoil.proof.share import Contest, Leaves, ProvenShares, ShareEffort, prove_shares

CHUNK = 1 << 15
TAIL = 1e-9
"""How improbable a sample must be, given the proven interval, to count as outside of it."""


@dataclass
class Tally:
    """What was checked, and what was wrong."""

    commands: int = 0
    claims: int = 0
    violations: int = 0
    outside: int = 0


def decisions_of(agent: pf.Agent, count: int, seed: int = 0) -> list[pf.Decision]:
    """Of episodes under the front and random commands, evenly chosen among those with a choice."""
    generator = np.random.default_rng(seed)
    drawn = agent.space.low + generator.random((30, agent.space.dim)) * (agent.space.high - agent.space.low)
    episodes = pf.rollouts(agent, np.concatenate([agent.front, drawn]))
    found = [decision for episode in episodes for decision in episode if len(decision.valid_actions) > 1]
    return [found[i] for i in generator.permutation(len(found))[:count]]


def sampled(leaves: Leaves, count: int, generator: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Evenly distributed commands, as shares of the region's width, each with the number of its leaf."""
    width = leaves.high - leaves.low
    volumes = np.where(width > 0, width, 1.0).prod(axis=1)
    owners = np.repeat(np.arange(len(leaves)), generator.multinomial(count, volumes / volumes.sum()))
    for start in range(0, count, CHUNK):
        mine = owners[start : start + CHUNK]
        yield mine, leaves.low[mine] + generator.random((len(mine), width.shape[1])) * width[mine]


def check(question: Question, found: ProvenShares, samples: int, generator: np.random.Generator, tally: Tally) -> None:
    """Ask the policy about commands of every box, and compare."""
    batch, valid = QuestionBatch([question]), list(question.valid_actions)
    contest = Contest.of(question.policy.fold(question.state), question, found.slack)  # type: ignore[attr-defined]
    counts = np.zeros(len(valid), dtype=np.int64)
    for owners, shares in sampled(found.leaves, samples, generator):
        commands = question.low + shares * (question.high - question.low)
        scores = batch.scores_at(np.zeros(len(commands), dtype=int), commands, "check")[:, valid]
        chosen = scores.argmax(axis=1)
        counts += np.bincount(chosen, minlength=len(valid))
        tally.commands += len(commands)
        tally.claims += len(commands)
        tally.violations += int((~found.leaves.alive[owners, chosen]).sum())
        check_lines(contest, found.leaves, owners, shares, scores, tally)
    low = np.where(counts > 0, beta.ppf(TAIL, np.maximum(counts, 1), samples - counts + 1), 0.0)
    high = np.where(counts < samples, beta.ppf(1 - TAIL, counts + 1, np.maximum(samples - counts, 1)), 1.0)
    tally.outside += int(((high < found.lower) | (low > found.upper)).sum())


def check_lines(
    contest: Contest, leaves: Leaves, owners: np.ndarray, shares: np.ndarray, scores: np.ndarray, tally: Tally
) -> None:
    """Behind each line of an open box, the first action of the pair must lose."""
    different, inverse = np.unique(owners, return_inverse=True)
    kinds, kind_of = np.unique(leaves.alive[different], axis=0, return_inverse=True)
    for kind, flags in enumerate(kinds):
        if flags.sum() < 2:
            continue
        rows = np.flatnonzero(kind_of.reshape(-1) == kind)
        some = tuple(np.flatnonzero(flags).tolist())
        lines = contest.lines(some, leaves.low[different[rows]], leaves.high[different[rows]])
        place = np.full(len(different), -1)
        place[rows] = np.arange(len(rows))
        mine = np.flatnonzero(place[inverse] >= 0)
        at = place[inverse[mine]]
        values = (lines.slopes[at] * shares[mine][:, None, :]).sum(axis=2) + lines.offsets[at]  # (N, pairs)
        pairs = [(a, b) for a in some for b in some if a != b]
        ahead = scores[mine][:, [a for a, _ in pairs]] >= scores[mine][:, [b for _, b in pairs]]
        tally.claims += int((values < 0).sum())
        tally.violations += int((ahead & (values < 0)).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default=",".join(pf.list_agents()))
    parser.add_argument("--decisions", type=int, default=100)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    columns = "agent | objectives | decisions | inert | undecided: median | most | boxes | commands | claims checked"
    print(f"| {columns} | violations | shares outside | minutes |", flush=True)
    print(f"|---|{'---:|' * 11}", flush=True)
    for name in given.agents.split(","):
        agent, began, tally = pf.load_agent(name), time.perf_counter(), Tally()
        generator, left, boxes, inert = np.random.default_rng(1), [], 0, 0
        for decision in decisions_of(agent, given.decisions):
            question = pose(agent.policy, decision, decision.action, agent.space)
            effort = ShareEffort(deadline=time.perf_counter() + given.seconds)
            found = prove_shares(QuestionBatch([question]), effort)
            check(question, found, given.samples, generator, tally)
            left.append(1.0 - found.lower.sum())
            boxes, inert = boxes + found.boxes, inert + found.inert
        cells = [name, agent.space.dim, len(left), inert, f"{np.median(left):.4f}", f"{max(left):.4f}", f"{boxes:,}"]
        cells += [f"{tally.commands:,}", f"{tally.claims:,}", tally.violations, tally.outside]
        print(f"| {' | '.join(map(str, cells))} | {(time.perf_counter() - began) / 60:.1f} |", flush=True)


if __name__ == "__main__":
    main()

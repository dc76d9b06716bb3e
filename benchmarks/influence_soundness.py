"""Compare proven shares of commands with a million sampled commands per decision.

    python benchmarks/influence_soundness.py [--agents NAME,NAME] [--decisions 100] [--samples 1000000] [--seconds 1]

Takes decisions of every shipped agent under commands of its front and random commands. The deployed policy is
evaluated at uniform commands. In a decided box it must choose the proven action; in an undecided box one of the
remaining actions; and where a linear bound says that an action loses, it must lose. The sampled share must be
compatible with the proven interval.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.questions import make_questions
from paretofoil.proof.shares import Contest, Leaves, ProvenShares, ShareEffort, prove_shares

CHUNK = 1 << 15
TAIL = 1e-9
"""Probability below which a sample counts as outside the proven interval."""


@dataclass
class Tally:
    """Counts of checks and violations."""

    commands: int = 0
    claims: int = 0
    violations: int = 0
    outside: int = 0


def decisions_of(agent: pf.Agent, count: int, seed: int = 0) -> list[pf.Decision]:
    """Return evenly spread decisions of episodes under front and random commands, with at least two valid actions."""
    generator = np.random.default_rng(seed)
    drawn = agent.space.low + generator.random((30, agent.space.dim)) * (agent.space.high - agent.space.low)
    episodes = rollouts(agent, np.concatenate([agent.front, drawn]))
    found = [decision for episode in episodes for decision in episode if len(decision.valid_actions) > 1]
    return [found[i] for i in generator.permutation(len(found))[:count]]


def sampled(leaves: Leaves, count: int, generator: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield uniform commands of the unit box, each with the index of its leaf."""
    width = leaves.high - leaves.low
    volumes = np.where(width > 0, width, 1.0).prod(axis=1)
    owners = np.repeat(np.arange(len(leaves)), generator.multinomial(count, volumes / volumes.sum()))
    for start in range(0, count, CHUNK):
        mine = owners[start : start + CHUNK]
        yield mine, leaves.low[mine] + generator.random((len(mine), width.shape[1])) * width[mine]


def check(question: Question, found: ProvenShares, samples: int, generator: np.random.Generator, tally: Tally) -> None:
    """Evaluate the policy at commands of every box, and compare."""
    batch, valid = QuestionBatch([question]), list(question.valid_actions)
    folded = question.policy.fold(question.state)  # type: ignore[attr-defined]
    contest = Contest.of(folded, question.valid_actions, (question.low, question.high), found.slack)
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
    """Count violations of the linear bounds of undecided boxes."""
    different, inverse = np.unique(owners, return_inverse=True)
    kinds, kind_of = np.unique(leaves.alive[different], axis=0, return_inverse=True)
    for kind, flags in enumerate(kinds):
        if flags.sum() < 2:
            continue
        rows = np.flatnonzero(kind_of.reshape(-1) == kind)
        some = tuple(np.flatnonzero(flags).tolist())
        bounds = contest.upper_bounds(contest.among(some), leaves.low[different[rows]], leaves.high[different[rows]])
        place = np.full(len(different), -1)
        place[rows] = np.arange(len(rows))
        mine = np.flatnonzero(place[inverse] >= 0)
        at = place[inverse[mine]]
        values = (bounds.slopes[at] * shares[mine][:, None, :]).sum(axis=2) + bounds.offsets[at]  # (N, pairs)
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
            [question] = make_questions(agent, decision, [decision.action])
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

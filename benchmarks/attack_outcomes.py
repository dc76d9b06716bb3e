"""Try to refute proofs about whole episodes: roll out commands, and count the episodes that contradict a proof.

    python benchmarks/attack_outcomes.py --commands 200000

Atlases are tested by commands inside proven cells, half of them close to the edge of their cell.

Comparisons (`--pairs`) are tested by commands inside cells for which it is proven whether the two agents end
differently. Both agents are rolled out.

Questions about outcomes: for each command of the front, which command would have led to each other point of the front?
`--questions` limits these questions to a random sample. Further questions ask for returns that the environment allows
but that no sampled command leads to. Commands that are closer than the proven bound must not meet the outcome; half of
the commands that are tried are only slightly closer. If an outcome is proven infeasible, no command may meet it.

Prints a line for each agent and kind of proof, with the number of commands that were rolled out, and the sum. The exit
code is 1 if a command contradicts a proof.
"""

import argparse
import itertools
import sys
import time

import numpy as np

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.envs.episode import DECIMALS, EXACT, greedy, run_episodes
from paretofoil.explanation.atlas import Atlas, ends_of
from paretofoil.explanation.atlas_boxes import Cells
from paretofoil.explanation.compare import Comparison, differ

TWO_OBJECTIVES = ["reward-line", "branch-path", "deep-sea-treasure", "deep-sea-treasure-early"]
AGENTS = [*TWO_OBJECTIVES, "collect-two"]
PAIRS = ["deep-sea-treasure,deep-sea-treasure-early"]
TOGETHER = 20_000


PROVEN = (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE)


def returns_under(agent: pf.Agent, commands: np.ndarray) -> np.ndarray:
    """Return the returns of greedy episodes under commands (N, d)."""
    parts = [commands[start : start + TOGETHER] for start in range(0, len(commands), TOGETHER)]
    env, act = agent.batch_env(), greedy(agent.policy)
    episodes = [run_episodes(env, act, part, np.zeros(len(part), dtype=np.uint64)) for part in parts if len(part)]
    return np.concatenate([part.returns for part in episodes])


def commands_in(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one command inside each polygon; every second one is close to a corner."""
    weights = rng.dirichlet(np.ones(cells.shape[1]), len(cells))
    weights[::2] = 1e-6 * weights[::2]
    weights[np.arange(0, len(cells), 2), rng.integers(cells.shape[1], size=(len(cells) + 1) // 2)] += 1.0
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("bv,bvd->bd", weights, cells)


def attack_atlas(agent: pf.Agent, atlas: Atlas, count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return how many commands were rolled out, and how many end otherwise than their cell."""
    some = rng.choice(np.flatnonzero(atlas.outcome_of >= 0), size=count)
    achieved = np.array([outcome.achieved for outcome in atlas.outcomes])[atlas.outcome_of[some]]
    if atlas.boxes is None:
        commands = commands_in(atlas.cells[some], rng)
    else:
        commands, inside = commands_in_boxes(atlas.boxes[some], rng)
        achieved = achieved[inside]
    wrong = np.abs(returns_under(agent, commands) - achieved).max(axis=1) > EXACT
    return len(commands), int(wrong.sum())


def attack_comparison(
    agents: tuple[pf.Agent, pf.Agent], comparison: Comparison, count: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many commands were rolled out by both agents, and how many contradict the comparison."""
    if not len(comparison.cells):  # nothing is proven in the time
        return 0, 0
    some = rng.choice(len(comparison.cells), size=count)
    commands = commands_in(comparison.cells[some], rng)
    first, second = (ends_of(agent, commands) for agent in agents)
    return count, int((differ(first, second) != comparison.cell_differs[some]).sum())


def commands_in_boxes(cells: Cells, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a command inside each cell, every second one at its edge, and which cells they are of."""
    tries = rng.uniform(cells.low, cells.high, (50, *cells.low.shape)).swapaxes(0, 1)
    inside = (np.matmul(tries, cells.slopes.swapaxes(1, 2)) + cells.offsets[:, None] < 0.0).all(axis=2)
    rows = np.flatnonzero(inside.any(axis=1))
    commands = tries[rows, inside[rows].argmax(axis=1)]
    directions = rng.normal(size=commands.shape) * (cells.high - cells.low)[rows]
    far = np.where(directions > 0, cells.high[rows] - commands, cells.low[rows] - commands) / directions
    room = cells.slopes[rows] @ directions[:, :, None]
    left = -(cells.slopes[rows] @ commands[:, :, None] + cells.offsets[rows][:, :, None])
    most = np.where(room > 0, left / np.where(room > 0, room, 1.0), np.inf)[:, :, 0].min(axis=1)
    reach = (1.0 - 1e-9) * np.minimum(far.min(axis=1), most)
    commands[::2] += (directions * reach[:, None])[::2]
    return commands, rows


def closer_commands(agent: pf.Agent, answer: pf.Answer, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return commands of the search region that are closer than the proven bound."""
    low, high = answer.question.low, answer.question.high
    if answer.lower_bound == np.inf:
        return rng.uniform(low, high, (count, len(low)))
    directions = rng.normal(size=(count, len(low)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = answer.lower_bound * np.where(np.arange(count) % 2, 1.0 - 1e-9, rng.random(count))
    commands = answer.question.command + directions * sizes[:, None] * agent.space.scale
    inside = ((commands >= low) & (commands <= high)).all(axis=1)
    kept: np.ndarray = commands[inside]
    return kept


def questions_of(agent: pf.Agent, most: int | None, rng: np.random.Generator) -> list[tuple[np.ndarray, str]]:
    """Return commands of the front, each with another point of the front as its outcome: all pairs, or some."""
    assert agent.achieved is not None
    names = [objective.name for objective in agent.environment.objectives]
    pairs = list(itertools.permutations(range(len(agent.front)), 2))
    chosen = pairs if most is None else [pairs[i] for i in rng.permutation(len(pairs))[:most]]
    outcomes = [
        ", ".join(f"{name} = {abs(number):.12g}" for name, number in zip(names, point, strict=True))
        for point in agent.achieved
    ]
    return [(agent.front[i], outcomes[j]) for i, j in chosen]


def unseen_questions_of(agent: pf.Agent, most: int, rng: np.random.Generator) -> list[tuple[np.ndarray, str]]:
    """Return commands of the front, each with a return that random actions and no sampled command bring."""
    space, env = agent.space, agent.batch_env()

    def act_randomly(
        step: int, rows: np.ndarray, observations: np.ndarray, commands: np.ndarray, masks: np.ndarray
    ) -> np.ndarray:
        chosen: np.ndarray = np.where(masks, rng.random(masks.shape), -1.0).argmax(axis=1)
        return chosen

    commands = rng.uniform(space.low, space.high, (20_000, space.dim))
    brought = np.unique(np.round(returns_under(agent, commands), DECIMALS), axis=0)
    walks = run_episodes(env, act_randomly, commands[:5_000], np.zeros(5_000, dtype=np.uint64)).returns
    possible = np.unique(np.round(walks, DECIMALS), axis=0)
    new = [point for point in possible if np.abs(brought - point).max(axis=1).min() > 2e-3 * space.scale.max()]
    names = [objective.name for objective in agent.environment.objectives]
    chosen = [new[i] for i in rng.permutation(len(new))[:most]]
    outcomes = [", ".join(f"{n} = {abs(x):.12g}" for n, x in zip(names, point, strict=True)) for point in chosen]
    return [(agent.front[i % len(agent.front)], outcome) for i, outcome in enumerate(outcomes)]


def attack_answers(
    agent: pf.Agent, questions: list[tuple[np.ndarray, str]], options: argparse.Namespace, rng: np.random.Generator
) -> tuple[str, int, int]:
    """Return the statuses and times of outcome questions, the commands that were rolled out, and contradictions."""
    statuses: list[Status] = []
    open_bounds: list[float] = []
    seconds: list[float] = []
    tried = wrong = 0
    for command, outcome in questions:
        start = time.process_time()
        try:
            answer = pf.explain(agent, command, pf.outcome(outcome), limits=pf.Limits(options.seconds))
        except pf.InvalidInput:  # the command of the front misses its own point, and meets the outcome
            continue
        seconds.append(time.process_time() - start)
        statuses.append(answer.status)
        if answer.status not in PROVEN:
            open_bounds.append(answer.lower_bound)
        commands = closer_commands(agent, answer, options.commands // len(questions), rng)
        if len(commands) and answer.lower_bound:
            assert answer.live is not None
            assert answer.live.met is not None
            tried, wrong = tried + len(commands), wrong + int(answer.live.met(commands).sum())
    if not statuses:
        return "no questions", 0, 0
    closest, none = (statuses.count(status) for status in PROVEN)
    proven = [s for s, status in zip(seconds, statuses, strict=True) if status in PROVEN]
    in_time = sum(s < 2 for s in proven)
    times = f"median {np.median(seconds):.2f}, longest {max(seconds):.2f}, "
    times += f"{in_time} ({in_time / len(statuses):.1%}) proven within 2 CPU s"
    left = f"; proven distances of the others: {min(open_bounds):.3g} to {max(open_bounds):.3g}" if open_bounds else ""
    return f"of {len(statuses)}, {closest} proven closest and {none} infeasible, {times}{left}", tried, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", nargs="+", default=AGENTS)
    parser.add_argument("--commands", type=int, default=100_000, help="commands per agent and kind of proof")
    parser.add_argument("--questions", type=int, help="outcome questions per agent; all if omitted")
    parser.add_argument("--pairs", nargs="*", default=PAIRS, help="pairs of agents to compare, with a comma")
    parser.add_argument("--unseen", type=int, default=5, help="questions per agent about outcomes that were not seen")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each proof")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = contradictions = 0
    for pair in options.pairs:
        first, second = map(pf.load_agent, pair.split(","))
        start = time.process_time()
        rng = np.random.default_rng(options.seed)
        comparison = pf.compare(first, second, seconds=options.seconds)
        cpu = time.process_time() - start
        tried, wrong = attack_comparison((first, second), comparison, options.commands, rng)
        least, most = comparison.differ
        what = f"they end differently under {least:.1%} to {most:.1%} of the commands, {cpu:.2f} CPU s"
        print(f"{pair}: {what}; {tried:,} commands, {wrong} contradictions", flush=True)
        total, contradictions = total + tried, contradictions + wrong
    for name in options.agents:
        agent, rng = pf.load_agent(name), np.random.default_rng(options.seed)
        start = time.process_time()
        result = pf.atlas(agent, seconds=options.seconds)
        cpu = time.process_time() - start
        if not result.samples:
            tried, wrong = attack_atlas(agent, result, options.commands, rng)
            what = f"{1 - result.undecided:.1%} proven in {cpu:.2f} CPU s, {result.on_front:.1%} on the front"
            print(f"{name}, atlas: {what}; {tried:,} commands, {wrong} contradictions", flush=True)
            total, contradictions = total + tried, contradictions + wrong
        front = questions_of(agent, options.questions, rng)
        for kind, questions in (("front", front), ("unseen", unseen_questions_of(agent, options.unseen, rng))):
            what, tried, wrong = attack_answers(agent, questions, options, rng)
            print(f"{name}, {kind} outcomes: {what}; {tried:,} commands, {wrong} contradictions", flush=True)
            total, contradictions = total + tried, contradictions + wrong
    print(f"{total:,} commands, {contradictions} contradictions")
    sys.exit(1 if contradictions else 0)


if __name__ == "__main__":
    main()

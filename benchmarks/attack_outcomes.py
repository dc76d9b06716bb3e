"""Attack proofs about whole episodes: roll out commands, and see whether any episode contradicts one.

    python benchmarks/attack_outcomes.py --commands 200000

Atlases: commands inside proven cells, half of them close to a corner of their cell.

Outcome questions: points of the front as goals from commands of the front. Commands that are closer than the proven
bound, half of them just so, must not meet the goal. Where a goal is proven infeasible, no command may.

Prints a line per agent and kind of proof, and fails if one command contradicts a proof.
"""

import argparse
import itertools
import sys
import time

import numpy as np

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.envs.episode import EXACT, greedy, run_episodes
from paretofoil.explanation.atlas import Atlas

TWO_OBJECTIVES = ["reward-line", "branch-path", "deep-sea-treasure", "deep-sea-treasure-early"]
AGENTS = [*TWO_OBJECTIVES, "collect-two"]
TOGETHER = 20_000


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


def attack_atlas(agent: pf.Agent, atlas: Atlas, count: int, rng: np.random.Generator) -> int:
    """Return how many commands end otherwise than their cell."""
    some = rng.choice(np.flatnonzero(atlas.outcome_of >= 0), size=count)
    achieved = np.array([outcome.achieved for outcome in atlas.outcomes])[atlas.outcome_of[some]]
    returns = returns_under(agent, commands_in(atlas.cells[some], rng))
    return int((np.abs(returns - achieved).max(axis=1) > EXACT).sum())


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


def questions_of(agent: pf.Agent, most: int, rng: np.random.Generator) -> list[tuple[np.ndarray, str]]:
    """Return commands of the front, each with another point of the front as its goal."""
    assert agent.achieved is not None
    names = [objective.name for objective in agent.environment.objectives]
    pairs = list(itertools.permutations(range(len(agent.front)), 2))
    chosen = [pairs[i] for i in rng.permutation(len(pairs))[:most]]
    goals = [
        ", ".join(f"{name} = {abs(number):.12g}" for name, number in zip(names, point, strict=True))
        for point in agent.achieved
    ]
    return [(agent.front[i], goals[j]) for i, j in chosen]


def attack_answers(agent: pf.Agent, options: argparse.Namespace, rng: np.random.Generator) -> tuple[str, int, int]:
    """Return the statuses and times of outcome questions, the commands that were rolled out, and contradictions."""
    statuses: list[Status] = []
    seconds: list[float] = []
    tried = wrong = 0
    for command, goal in questions_of(agent, options.questions, rng):
        start = time.process_time()
        try:
            answer = pf.explain(agent, command, pf.outcome(goal), limits=pf.Limits(options.seconds))
        except pf.InvalidInput:  # the command of the front misses its own point, and meets the goal
            continue
        seconds.append(time.process_time() - start)
        statuses.append(answer.status)
        commands = closer_commands(agent, answer, options.commands // options.questions, rng)
        if len(commands) and answer.lower_bound:
            assert answer.live is not None
            assert answer.live.met is not None
            tried, wrong = tried + len(commands), wrong + int(answer.live.met(commands).sum())
    settled = sum(status in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE) for status in statuses)
    times = f"median {np.median(seconds):.2f}, longest {max(seconds):.2f} CPU s"
    return f"{settled} of {len(statuses)} settled, {times}", tried, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", nargs="+", default=AGENTS)
    parser.add_argument("--commands", type=int, default=100_000, help="commands per agent and kind of proof")
    parser.add_argument("--questions", type=int, default=30, help="outcome questions per agent")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of each proof")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = 0
    for name in options.agents:
        agent, rng = pf.load_agent(name), np.random.default_rng(options.seed)
        if agent.space.dim == 2:
            start = time.process_time()
            result = pf.atlas(agent, seconds=options.seconds)
            cpu = time.process_time() - start
            wrong = attack_atlas(agent, result, options.commands, rng)
            what = f"{1 - result.undecided:.1%} proven in {cpu:.2f} CPU s, {result.on_front:.1%} on the front"
            print(f"{name}, atlas: {what}; {options.commands:,} commands, {wrong} contradictions", flush=True)
            total += wrong
        what, tried, wrong = attack_answers(agent, options, rng)
        print(f"{name}, outcome questions: {what}; {tried:,} commands, {wrong} contradictions", flush=True)
        total += wrong
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()

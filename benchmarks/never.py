"""Run `pf.never` on all states that the shipped agents visit, and try to refute the proofs by random commands.

    python benchmarks/never.py [--width 0.01] [--samples 10000000] [--agents NAME,NAME]

Prints for each agent the pairs of state and valid action, how many are proven, refuted and open, the seconds per
pair, and the samples that violate a proof. The exit code is 1 if there is a violation.
"""

import argparse
import sys

import numpy as np

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.threads import one_thread
from paretofoil.explanation.never import Never

CHUNK = 1 << 15


def violations(agent: pf.Agent, found: Never, ranges: np.ndarray, samples: int) -> int:
    """Count the samples at which an action is chosen that is proven never to be chosen."""
    count, generator, action = 0, np.random.default_rng(7), agent.actions.index(found.action)
    valid = {d.state.tobytes(): d.valid_actions for e in rollouts(agent, agent.front) for d in e}
    for state in found.states[found.proven]:
        actions = list(valid[state.tobytes()])
        for start in range(0, samples, CHUNK):
            size = min(CHUNK, samples - start)
            commands = generator.uniform(found.low, found.high, size=(size, found.low.size))
            places = generator.uniform(-1, 1, size=(size, state.size)) * found.width * ranges / 2
            scores = agent.discrete_policy.log_probs((state + places).astype(np.float32), commands)[:, actions]
            count += int((np.array(actions)[scores.argmax(axis=1)] == action).sum())
    return count


def main(arguments: argparse.Namespace) -> int:
    agents = {name: pf.load_agent(name) for name in arguments.agents}
    with one_thread():
        found = {
            name: [pf.never(agent, action, width=arguments.width) for action in agent.actions]
            for name, agent in agents.items()
        }
    proven = sum(int(one.proven.sum()) for all_actions in found.values() for one in all_actions)
    each = -(-arguments.samples // max(proven, 1))
    head = ("agent", "pairs", "proven", "refuted", "open", "settled", "s per pair", "samples", "violations")
    print(f"| {' | '.join(head)} |\n|---|" + "---:|" * (len(head) - 1))
    totals = np.zeros(6)
    for name, agent in agents.items():
        states = np.stack([d.state for e in rollouts(agent, agent.front) for d in e]).astype(np.float64)
        ranges, counts = np.ptp(states, axis=0), np.zeros(6)
        for one in found[name]:
            sampled, wrong = each * one.proven.sum(), violations(agent, one, ranges, each)
            counts += (len(one.states), one.proven.sum(), one.refuted.sum(), one.seconds, sampled, wrong)
        tell(name, counts)
        totals += counts
    tell("all", totals)
    return 1 if totals[-1] else 0


def tell(name: str, counts: np.ndarray) -> None:
    pairs, proven, refuted, seconds, samples, wrong = counts
    settled, left = (proven + refuted) / pairs, pairs - proven - refuted
    cells = f"{pairs:,.0f} | {proven:,.0f} | {refuted:,.0f} | {left:,.0f} | {settled:.1%} | {seconds / pairs:.3f}"
    print(f"| {name} | {cells} | {samples:,.0f} | {wrong:,.0f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=float, default=0.0, help="width of the state boxes, as a share of the range")
    parser.add_argument("--samples", type=int, default=10_000_000, help="samples over all agents")
    parser.add_argument("--agents", type=lambda text: text.split(","), default=pf.list_agents())
    sys.exit(main(parser.parse_args()))

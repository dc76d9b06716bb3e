"""`pf.never` on the states that every shipped agent visits, as points and as boxes, attacked by samples.

python benchmarks/never.py [--width 0.01] [--samples 10000000] [--agents NAME,NAME]

For each agent: pairs of state and valid action, how many are proven, refuted and open, seconds for a pair, and how many
samples (states of a proven box, commands of the space) make the policy choose what is proven never to be chosen.
Exits with 1 if there is any.
"""

import argparse
import sys

import numpy as np

import paretofoil as pf
from paretofoil.core.threads import one_thread
from paretofoil.explanation.never import Never

CHUNK = 1 << 15


def violations(agent: pf.Agent, number: int, found: Never, ranges: np.ndarray, samples: int) -> int:
    """Samples at which the action is chosen in states for which it is proven not to be."""
    count = 0
    proven, generator = found.states[found.proven], np.random.default_rng(7)
    valid = {d.state.tobytes(): d.valid_actions for e in pf.rollouts(agent, agent.front) for d in e}
    for state in proven:
        actions = list(valid[state.tobytes()])
        for start in range(0, samples // len(proven), CHUNK):
            size = min(CHUNK, samples // len(proven) - start)
            commands = generator.uniform(found.low, found.high, size=(size, found.low.size))
            places = generator.uniform(-1, 1, size=(size, state.size)) * found.width * ranges / 2
            scores = agent.policy.log_probs((state + places).astype(np.float32), commands)[:, actions]
            count += int((np.array(actions)[scores.argmax(axis=1)] == number).sum())
    return count


def main(arguments: argparse.Namespace) -> int:
    head = ("agent", "pairs", "proven", "refuted", "open", "settled", "s a pair", "samples", "violations")
    print(f"| {' | '.join(head)} |\n|---|" + "---:|" * (len(head) - 1))
    names, bad = arguments.agents, 0
    for name in names:
        agent = pf.load_agent(name)
        states = np.stack([d.state for e in pf.rollouts(agent, agent.front) for d in e]).astype(np.float64)
        ranges, totals = np.ptp(states, axis=0), np.zeros(6)
        for number in range(len(agent.actions)):
            with one_thread():
                found = pf.never(agent, number, width=arguments.width)
            share = arguments.samples // len(names) // len(agent.actions) if found.proven.any() else 0
            wrong = violations(agent, number, found, ranges, share)
            counts = len(found.states), found.proven.sum(), found.refuted.sum(), found.seconds, share, wrong
            totals += np.array(counts)
        pairs, proven, refuted, seconds, samples, violated = totals
        settled, left = (proven + refuted) / pairs, pairs - proven - refuted
        cells = f"{pairs:,.0f} | {proven:,.0f} | {refuted:,.0f} | {left:,.0f} | {settled:.1%} | {seconds / pairs:.3f}"
        print(f"| {name} | {cells} | {samples:,.0f} | {violated:,.0f} |", flush=True)
        bad += int(violated)
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=float, default=0.0, help="of boxes of states, as a share of the range")
    parser.add_argument("--samples", type=int, default=10_000_000, help="over all agents")
    parser.add_argument("--agents", type=lambda text: text.split(","), default=pf.list_agents())
    sys.exit(main(parser.parse_args()))

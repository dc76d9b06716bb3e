"""Train Decision Transformers on episodes of shipped agents, explain their actions, and try to refute the proofs.

    python benchmarks/transformers.py [reward-line] [deep-sea-treasure] [minecart] [--sizes 2x64,3x128]
        [--questions 20] [--seconds 10] [--samples 20000]

A transformer reads the last four steps (command, observation, action), then the current command and observation. It has
four heads, LayerNorm and GELU, and imitates a shipped agent. In Reward-Line, the command is its first objective alone
(d = 1), since both objectives sum to 1; Deep Sea Treasure has two objectives (d = 2), Minecart three. Questions ask for
other actions in states of the episodes. Past commands are part of the state. Times, and the time limit, are in CPU
seconds of one thread. Contradictions are sampled commands that refute a proof.
"""

import argparse
import itertools
import time

import numpy as np
import torch
from torch import nn

import paretofoil as pf
from paretofoil.core.command import CommandSpace
from paretofoil.core.options import Limits
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.threads import one_thread
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search import Exact

PAST = 4
AGENTS = {"reward-line": 1, "deep-sea-treasure": 2, "minecart": 3}
"""The shipped agents, and how many numbers of their commands the transformers read."""


class DecisionTransformer(nn.Module):
    """Predict the action from the last steps, the current command and the current observation."""

    def __init__(self, dim: int, observation: int, actions: int, depth: int, width: int) -> None:
        super().__init__()
        self.parts = dim, observation, actions
        self.embed = nn.ModuleList(nn.Linear(size, width) for size in self.parts)
        self.place = nn.Parameter(0.1 * torch.randn(3 * PAST + 2, width))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm, self.last = nn.LayerNorm(width), nn.Linear(width, actions)

    def forward(self, states: torch.Tensor, commands: torch.Tensor) -> torch.Tensor:
        past, now = states[:, : PAST * sum(self.parts)], states[:, PAST * sum(self.parts) :]
        tokens = [
            embed(part)
            for step in past.chunk(PAST, dim=1)
            for embed, part in zip(self.embed, torch.split(step, list(self.parts), dim=1), strict=True)
        ]
        tokens = [*tokens, self.embed[0](commands), self.embed[1](now)]
        x = torch.stack(tokens, dim=1) + self.place
        mask = nn.Transformer.generate_square_subsequent_mask(len(tokens))
        for block in self.blocks:
            x = block(x, mask, is_causal=True)
        output: torch.Tensor = self.last(self.norm(x[:, -1]))
        return output


def episodes(agent: pf.Agent, actions: int, dim: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the states of the transformer, its scaled commands, and the agent's actions, over many episodes."""
    generator, rows = np.random.default_rng(0), []
    low, high = agent.space.low, agent.space.high
    for number in range(count):
        command = agent.front[number % len(agent.front)]
        if number >= len(agent.front) and dim > 1:
            command = np.clip(command + 0.1 * generator.normal(size=len(command)) * (high - low), low, high)
        steps: list[tuple[np.ndarray, ...]] = []
        for decision in itertools.islice(pf.rollout(agent, command), 60):
            scaled = ((decision.command - low) / (high - low))[:dim]
            past = [part for step in steps[-PAST:] for part in step]
            missing = np.zeros(PAST * (dim + decision.state.size + actions) - sum(part.size for part in past))
            rows.append((np.concatenate([missing, *past, decision.state]), scaled, decision.action))
            steps.append((scaled, decision.state, np.eye(actions)[decision.action]))
    states, commands, chosen = map(np.array, zip(*rows, strict=True))
    return states.astype(np.float32), commands.astype(np.float32), chosen


def train(module: nn.Module, states: np.ndarray, commands: np.ndarray, actions: np.ndarray, updates: int) -> float:
    """Train to imitate the actions, and return the share that is imitated."""
    generator, optimiser = np.random.default_rng(0), torch.optim.Adam(module.parameters(), lr=1e-3)
    data = torch.from_numpy(states), torch.from_numpy(commands), torch.from_numpy(actions)
    for _ in range(updates):
        part = torch.from_numpy(generator.integers(len(states), size=64))
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(data[0][part], data[1][part]), data[2][part]).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        return float((module(*data[:2]).argmax(dim=1) == data[2]).double().mean())


def ask(module: nn.Module, states: np.ndarray, commands: np.ndarray, count: int) -> list[Question]:
    """Return questions about states of the episodes, with random foils."""
    generator, dim = np.random.default_rng(1), commands.shape[1]
    space = CommandSpace(np.zeros(dim), np.ones(dim))
    policy, questions = pf.from_torch(module.eval(), states[0], space, outputs="logits"), []
    for row in generator.integers(len(states), size=count):
        scores = policy.log_probs(states[row : row + 1], commands[row : row + 1])[0]
        foil = int(generator.choice(np.delete(np.arange(len(scores)), scores.argmax())))
        actions = tuple(range(len(scores)))
        questions.append(Question(policy, states[row], commands[row], foil, actions, space, np.zeros((0, dim)), 0.05))
    return questions


def contradictions(question: Question, lower: float, samples: int) -> int:
    """Return how many sampled commands closer than the proven distance make the foil win."""
    generator, batch = np.random.default_rng(2), QuestionBatch([question])
    reach = min(lower, 1.0)
    sides = np.maximum(batch.low[0], -reach), np.minimum(batch.high[0], reach)
    z = generator.uniform(*sides, size=(samples, batch.dim))
    z = z[batch.distances(z) < lower]
    return int((batch.margins(np.zeros(len(z), dtype=np.int64), z, "attack") >= question.kappa).sum())


def main(arguments: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock of time limits, so that other processes do not matter
    head = ["agent", "d", "size", "imitated", "questions", "settled", "infeasible", "median s", "longest s", "boxes"]
    head += ["largest gap", "contradictions"]
    print(f"| {' | '.join(head)} |\n|---|" + "---:|" * (len(head) - 1))
    for name in arguments.agents or AGENTS:
        agent, dim = pf.load_agent(name), AGENTS[name]
        assert isinstance(agent.policy, PCNPolicy)
        observation, actions = agent.policy.state_size, agent.policy.num_actions
        data = episodes(agent, actions, dim, 150)
        for size in arguments.sizes:
            torch.manual_seed(0)
            depth, width = map(int, size.split("x"))
            module = DecisionTransformer(dim, observation, actions, depth, width)
            imitated = train(module, *data, arguments.updates)
            proofs, seconds, refuted = [], [], 0
            for question in ask(module, *data[:2], arguments.questions):
                began = time.process_time()
                with one_thread():
                    (finding,) = Exact().run(QuestionBatch([question]), Limits(seconds=arguments.seconds))
                seconds.append(time.process_time() - began)
                assert finding.certificate is not None
                proofs.append(finding.certificate)
                refuted += contradictions(question, finding.certificate.lower, arguments.samples)
            status = [proof.status for proof in proofs]
            gaps = [1 - p.lower / p.upper if np.isfinite(p.upper) else 1.0 for p in proofs if p.status == "gap"]
            cells = [name, dim, size, f"{imitated:.1%}", len(proofs), len(proofs) - status.count("gap")]
            cells += [status.count("infeasible"), f"{np.median(seconds):.2f}", f"{max(seconds):.2f}"]
            cells += [f"{np.median([proof.boxes for proof in proofs]):,.0f}", f"{max(gaps, default=0):.1%}", refuted]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", choices=[*AGENTS, []])
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=["2x64", "3x128"])
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit per question")
    parser.add_argument("--samples", type=int, default=20_000, help="commands that try to refute each proof")
    parser.add_argument("--updates", type=int, default=600, help="of the training")
    main(parser.parse_args())

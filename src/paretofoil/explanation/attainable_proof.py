"""Proofs that no command is attainable.

An attainable command lies beside the return that it delivers. Boxes of commands are followed through all episodes that
they may have. At each step a box is cut to the commands that may choose the action, and to those that can still be
delivered; boxes in one state with one return are joined. At the ends of episodes, small boxes around returns are left.
They are halved and followed again, until one holds an attainable command or none is left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from paretofoil.agents.agent import Agent
from paretofoil.core.answer import DELIVERED
from paretofoil.core.command import length
from paretofoil.core.decision import Decision
from paretofoil.core.question import Question
from paretofoil.explanation.episodes import EpisodesOfSets, join, narrow
from paretofoil.explanation.outcome_search import future_returns
from paretofoil.proof.branch_and_bound import Columns, halves

_BOXES = 20_000
"""Boxes that are bounded, about."""
_TRIED = 32
"""Boxes, the closest ones, of which commands are rolled out in each round."""
_MORE = 1e-6
"""More than the rounding error of a return, as a share of an objective's range."""


@dataclass(frozen=True, eq=False)
class _Boxes(Columns):
    """Boxes of commands on the way through their episodes."""

    root: np.ndarray  # (B,) int: the box at the decision of which each is a part
    state: np.ndarray  # (B,) int
    step: np.ndarray  # (B,) int
    collected: np.ndarray  # (B, d): since the decision
    low: np.ndarray  # (B, d)
    high: np.ndarray  # (B, d)


class AttainableProof:
    """The proof for one question, in a deterministic environment with finitely many states."""

    def __init__(self, agent: Agent, decision: Decision, question: Question) -> None:
        self.question, self.snapshot = question, decision.snapshot
        self.episodes, self.last = EpisodesOfSets(agent), agent.environment.max_steps
        table = self.episodes.table
        self.least, self.most = future_returns(table, table.masks, self.last)
        self.off = (DELIVERED + _MORE) * (question.trained or question.space).scale
        self.boxes = 0
        self.closed = False
        """Whether it is proven that no command of the search region is attainable."""

    def candidates(self) -> Iterator[np.ndarray]:
        """Yield commands (N, d) of the closest boxes that are left, until none is left or the effort is spent."""
        low, high, scale = self.question.low[None], self.question.high[None], self.question.space.scale
        while self.boxes <= _BOXES:
            low, high = self._follow(low, high)
            if not len(low):
                self.closed = True
                return
            order = np.argsort(self._distance(low, high), kind="stable")[:_TRIED]
            yield np.concatenate([np.clip(self.question.command, low[order], high[order]), (low + high)[order] / 2])
            low, high = halves(low, high, ((high - low) / scale).argmax(axis=1))

    def _distance(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the scaled distance (B,) of boxes low, high (B, d) from the original command."""
        off = np.clip(self.question.command, low, high) - self.question.command
        return length(off / self.question.space.scale, self.question.norm)

    def _follow(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of boxes low, high (B, d) that may be attainable, each around one return."""
        zero = np.zeros(len(low), dtype=np.int64)
        state, step = zero + self.snapshot["state"], zero + self.snapshot["elapsed"]
        boxes, ended = _Boxes(np.arange(len(low)), state, step, np.zeros_like(low), low, high), []
        actions = np.array([self.question.foil])
        while len(boxes):
            self.boxes += len(boxes)
            boxes, final = self._step(boxes, actions)
            ended.append(boxes[final])
            boxes, actions = _join(boxes[~final]), np.arange(self.episodes.num_actions)
        ends = join(ended)
        return ends.low, ends.high

    def _step(self, boxes: _Boxes, actions: np.ndarray) -> tuple[_Boxes, np.ndarray]:
        """Return the boxes after one more step of each of the actions that is possible, and whether they have ended."""
        table, count = self.episodes.table, self.episodes.num_actions
        boxes = boxes[np.arange(len(boxes)).repeat(len(actions))]
        taken = np.tile(actions, len(boxes) // len(actions))
        pairs = taken[:, None].repeat(count, axis=1), np.broadcast_to(np.arange(count), (len(boxes), count))
        bounds = self.episodes.leads(boxes.state, boxes.low, boxes.high, boxes.collected, *pairs)
        low, high, possible = narrow(bounds, boxes.low, boxes.high)
        possible &= table.masks[boxes.state, taken]
        before, taken, low, high = boxes[possible], taken[possible], low[possible], high[possible]
        state, step = table.next_states[before.state, taken, 0], before.step + 1
        collected = before.collected + table.rewards[before.state, taken, 0]
        final = table.final[state] | (step >= self.last)
        left = np.where(final, 0, self.last - step)  # nothing is collected within 0 steps
        low = np.maximum(low, collected + self.least[left, state] - self.off)
        high = np.minimum(high, collected + self.most[left, state] + self.off)
        deliverable = (low <= high).all(axis=1)
        after = _Boxes(before.root, state, step, collected, low, high)
        return after[deliverable], final[deliverable]


def _join(boxes: _Boxes) -> _Boxes:
    """Return boxes around all those with one root, state, step and return: what follows is the same."""
    if not len(boxes):
        return boxes
    keys = np.column_stack([boxes.root, boxes.state, boxes.step, np.round(boxes.collected, 9) + 0.0])
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    low, high = boxes.low[first], boxes.high[first]
    np.minimum.at(low, group.ravel(), boxes.low)
    np.maximum.at(high, group.ravel(), boxes.high)
    return replace(boxes[first], low=low, high=high)

"""CF-ZOO with one query at a time, to be compared line by line with the paper's appendix.

It is the oracle for the batched implementation (`paretofoil.search.cf_zoo`) and the baseline of the speed benchmark.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from paretofoil.core.command import length
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget
from paretofoil.search.cf_zoo import (
    BETA1,
    BETA2,
    EPSILON,
    SAME,
    ZOO_STREAM,
    CFZoo,
    coordinates,
    longest_step,
    unit_directions,
)


@dataclass(frozen=True)
class ReferenceCFZoo(Search):
    """Run a CF-ZOO configuration sequentially."""

    config: CFZoo = field(default_factory=CFZoo)
    """The configuration; its seed is replaced by the one below."""
    seed: int = 0
    """Seed of the random directions and coordinates."""

    stochastic = True
    questions_at_once = 1  # each takes seconds

    @property
    def name(self) -> str:
        return "cf-zoo:reference"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        findings = []
        for row in range(batch.num_questions):
            budget = Budget(batch, limits, rows=np.array([row]))
            _Sequential(budget, replace(self.config, seed=self.seed)).search()
            findings += budget.findings()
        return findings


class _Sequential:
    """The search for one question; the budget stores the closest valid command that was evaluated."""

    def __init__(self, budget: Budget, config: CFZoo) -> None:
        batch, row = budget.batch, int(budget.rows[0])
        self.budget, self.batch, self.config, self.question = budget, batch, config, batch.questions[row]
        self.low, self.high, self.kappa = batch.low[row], batch.high[row], float(batch.kappa[row])

    @property
    def over(self) -> bool:
        """Whether a limit has been reached."""
        return bool(self.budget.late or self.budget.left[0] <= 0)

    def margin(self, z: np.ndarray, phase: str) -> float:
        """M_f(Pi_C(R_t + D z))."""
        return float(self.budget.ask(np.array([0]), np.clip(z, self.low, self.high)[None], phase)[0])

    def search(self) -> None:
        kept = self.budget.reserve(0.5)
        seed = self.search_rays(self.infer_signs())
        self.budget.left += kept
        self.refine(np.zeros(self.batch.dim) if seed is None else seed)

    def infer_signs(self) -> np.ndarray:
        largest, signs = -math.inf, np.zeros(self.batch.dim)
        for point in self.question.front:
            margin = float(self.budget.ask_at(np.array([0]), point[None], "front")[0])
            z = self.batch.changes_to(self.budget.rows, point[None])[0]
            if self.batch.holds(self.budget.rows, z[None])[0]:
                self.budget.closest.offer(self.budget.rows, z[None], np.array([margin]))
            if margin > largest:
                largest, d = margin, self.batch.project(self.budget.rows, z[None])[0]
                signs = np.where(np.abs(d) > SAME, np.sign(d), 0.0)
        return signs

    def search_rays(self, signs: np.ndarray) -> np.ndarray | None:
        config, seed, shortest = self.config, None, math.inf
        directions = unit_directions(config.seed, config.directions, signs, self.high > self.low, config.sampling)
        for u in directions:
            if self.over:
                break
            end = float(longest_step(u[None], self.low, self.high)[0])
            if self.margin(end * u, "endpoints") < self.kappa or end == 0.0:
                continue
            low, high = 0.0, end
            for _ in range(config.bisections):
                if self.over:
                    break
                middle = (low + high) / 2
                if self.margin(middle * u, "bisection") >= self.kappa:
                    high = middle
                else:
                    low = middle
            reach = high * float(length(u, self.batch.norm))
            if reach < shortest:
                seed, shortest = high * u, reach
        return seed

    def loss(self, z: np.ndarray) -> float:
        """L(z) = |z|^2 + c H_f(Pi_C(R_t + D z))."""
        hinge = max(self.kappa - self.margin(z, "zoo"), 0.0)
        distance = float(length(z, self.batch.norm))
        return distance * distance + self.config.c * hinge

    def refine(self, z: np.ndarray) -> None:
        config, z = self.config, z.copy()
        m, v, t = np.zeros_like(z), np.zeros_like(z), [0] * len(z)
        self.margin(z, "zoo")
        for i in coordinates((config.seed, ZOO_STREAM), len(z), config.zoo.iterations):
            if self.over or self.budget.left[0] < 3:
                self.budget.cut |= not self.budget.overtime
                return
            step = np.zeros_like(z)
            step[i] = config.h
            gradient = (self.loss(z + step) - self.loss(z - step)) / (2 * config.h)
            t[i] += 1
            m[i] = BETA1 * m[i] + (1 - BETA1) * gradient
            v[i] = BETA2 * v[i] + (1 - BETA2) * (gradient * gradient)
            m_hat, v_hat = m[i] / (1 - BETA1 ** t[i]), v[i] / (1 - BETA2 ** t[i])
            z[i] -= config.eta * m_hat / (math.sqrt(v_hat) + EPSILON)
            self.margin(z, "zoo")

"""CF-ZOO once more, one query at a time, to be read line by line against the paper's appendix.

It is the oracle for the fast one (`cf_zoo.py`) and the baseline of the speed benchmark. Use CFZoo instead.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from paretofoil.command import length
from paretofoil.question import QuestionBatch
from paretofoil.search.cf_zoo import CFZoo
from paretofoil.search.finding import Finding
from paretofoil.search.rays import SAME, longest_step, unit_directions
from paretofoil.search.zoo import BETA1, BETA2, EPSILON, coordinates


@dataclass(frozen=True)
class ReferenceCFZoo:
    """The plain sequential form of a CF-ZOO configuration."""

    config: CFZoo = field(default_factory=CFZoo)

    @property
    def name(self) -> str:
        return "cf-zoo-reference"

    @property
    def seed(self) -> int:
        return self.config.seed

    def run(self, batch: QuestionBatch) -> list[Finding]:
        return [Finding(_Sequential(batch, row, self.config).search()) for row in range(batch.size)]


class _Sequential:
    """One question; remembers the closest valid point it has evaluated."""

    def __init__(self, batch: QuestionBatch, row: int, config: CFZoo) -> None:
        self.batch, self.config = batch, config
        self.question, self.row = batch.questions[row], np.array([row])
        self.low, self.high, self.kappa = batch.low[row], batch.high[row], float(batch.kappa[row])
        self.closest: np.ndarray | None = None
        self.distance = math.inf

    def margin(self, z: np.ndarray, phase: str) -> float:
        """M_f(Pi_C(R_t + D z))."""
        z = np.clip(z, self.low, self.high)
        margin = float(self.batch.margins(self.row, z[None], phase)[0])
        distance = float(length(z, self.batch.norm))
        if margin >= self.kappa and distance < self.distance:
            self.closest, self.distance = z, distance
        return margin

    def search(self) -> np.ndarray | None:
        seed = self.search_rays(self.infer_signs())
        self.refine(np.zeros(self.batch.dim) if seed is None else seed)
        return self.closest

    def infer_signs(self) -> np.ndarray:
        largest, signs = -math.inf, np.zeros(self.batch.dim)
        for point in self.question.front:
            margin = float(self.batch.margins_at(self.row, point[None], "front")[0])
            z = (point - self.question.command) / self.question.space.scale
            distance = float(length(z, self.batch.norm))
            inside = (z >= self.low).all() and (z <= self.high).all()
            if inside and margin >= self.kappa and distance < self.distance:
                self.closest, self.distance = z, distance
            if margin > largest:
                largest, d = margin, np.clip(z, self.low, self.high)
                signs = np.where(np.abs(d) > SAME, np.sign(d), 0.0)
        return signs

    def search_rays(self, signs: np.ndarray) -> np.ndarray | None:
        config, seed, shortest = self.config, None, math.inf
        directions = unit_directions(config.seed, config.directions, signs, self.high > self.low, config.sampling)
        for u in directions:
            end = float(longest_step(u[None], self.low, self.high)[0])
            if self.margin(end * u, "endpoints") < self.kappa or end == 0.0:
                continue
            low, high = 0.0, end
            for _ in range(config.bisections):
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
        for i in coordinates(config.seed, len(z), config.zoo.iterations):
            step = np.zeros_like(z)
            step[i] = config.h
            gradient = (self.loss(z + step) - self.loss(z - step)) / (2 * config.h)
            t[i] += 1
            m[i] = BETA1 * m[i] + (1 - BETA1) * gradient
            v[i] = BETA2 * v[i] + (1 - BETA2) * (gradient * gradient)
            m_hat, v_hat = m[i] / (1 - BETA1 ** t[i]), v[i] / (1 - BETA2 ** t[i])
            z[i] -= config.eta * m_hat / (math.sqrt(v_hat) + EPSILON)
            self.margin(z, "zoo")

"""CF-ZOO as in the authors' code, which differs from the paper's text (`paretofoil.search.cf_zoo`).

The signs of the front cut the search region, and distances are in units of the cut region. Axes and front points are
tried before random directions. The queries of bisections count for the rays. ZOO stays inside the cut region, and a
final bisection moves the answer towards the command. B queries are spent twice: with B = 3,001 the rays make 2,984
queries, ZOO 3,001 and the final bisection 16, as published by the authors, unless a question has fewer directions. The
generator of the seed starts anew for the directions and for ZOO's coordinates.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget, Closest
from paretofoil.search.cf_zoo import MAX_ENDPOINTS, Region, ZooConfig, bisect, longest_step, refine
from paretofoil_paper.searches.cone import TINY, Cone, ask_cones, cut_regions, directions, fold, regions_where


@dataclass(frozen=True)
class CFZooAsRun(Search):
    """CF-ZOO with the settings of the published stress test; each switch leaves out one component, for the ablation."""

    max_queries: int = 3_001
    """B: maximum number of queries of ZOO, and of the rays with the final bisection."""
    directions: int = 9_001
    """Number of random directions; the rays end when they are used up."""
    bisections: int = 16
    """K: number of bisection steps along each successful ray. The final bisection has K - 1 steps."""
    c: float = ZooConfig.c
    """Weight of the hinge term relative to the squared distance."""
    eta: float = ZooConfig.eta
    """Learning rate of Adam, in units of the cut region."""
    h: float = ZooConfig.h
    """Finite-difference step, in units of the cut region."""
    seed: int = 0
    """Seed of the random directions and coordinates."""
    cone: bool = True
    """Cut the search region by the signs of the front command with the largest margin of the foil."""
    axis_rays: bool = True
    """Try the axes first."""
    front_rays: bool = True
    """Try the directions of the front commands next."""
    bisect_at_once: bool = True
    """Bisect each ray before the next one, instead of the closest rays after all ends are known."""
    zoo: bool = True
    """Run ZOO after the rays; without it, the rays get its queries, too."""
    final_bisection: bool = True
    """End with a bisection between the answer and the command."""

    stochastic = True

    def __post_init__(self) -> None:
        for field in ("max_queries", "directions", "bisections"):
            if getattr(self, field) < 0:
                raise InvalidInput.expected(f"{field} of at least 0", getattr(self, field))

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "CFZooAsRun":
        """Return a published run by name: stress, example, comparison or thorough."""
        if name not in PRESETS:
            raise InvalidInput.expected(f"a preset among {', '.join(PRESETS)}", repr(name))
        max_queries, directions, bisections = PRESETS[name]
        return cls(max_queries, directions, bisections, seed=seed)

    @property
    def name(self) -> str:
        return "cf-zoo:as-run"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """Run the search; a limit of queries lowers B to half of it, so that all phases keep their shares."""
        budget = Budget(batch, limits, most=2 * self.max_queries)
        queries = int(budget.left[0]) // 2
        for_rays = (queries if self.zoo else 2 * queries) - self.bisections - 1
        kept = budget.left - max(for_rays, 0)
        budget.left -= kept
        region = self._search_rays(budget)
        budget.left += kept
        if self.zoo and queries:
            found = budget.closest.found
            region = regions_where(found, region, Region.whole(batch))  # without a seed, the whole region is searched
            budget.closest.unit = region.unit
            start = np.where(found[:, None], budget.closest.scaled_change, 0.0)
            refine(budget, start, ZooConfig(queries, self.c, self.eta, self.h, clipped=True), self.seed, region)
        if self.final_bisection and self.bisections:
            _pull_back(budget, self.bisections - 1)
        budget.cut[:] = queries < self.max_queries  # the end of the rays is not a limit
        return budget.findings()

    def _search_rays(self, budget: Budget) -> Region:
        """Query the command, the front and then the rays; return the cut region, whose units the budget uses."""
        batch, questions = budget.batch, np.arange(budget.batch.num_questions)
        margins = budget.ask_at(questions, batch.commands, "command")
        cones = ask_cones(budget, cut=self.cone)
        region = cut_regions(batch, np.stack([cone.signs for cone in cones]))
        budget.closest = Closest(batch, batch.kappa, region.unit)
        budget.closest.offer(questions, np.zeros_like(batch.commands), margins)
        for row, cone in enumerate(cones):
            inside = _inside(region, row, cone)
            budget.closest.offer(np.full(inside.sum(), row), cone.front[inside], cone.margins[inside])
        random = np.random.default_rng(self.seed).standard_normal((self.directions, batch.dim))
        at_once = max(1, MAX_ENDPOINTS // max(self.directions, 1))
        for first in range(0, batch.num_questions, at_once):
            chunk = questions[first : first + at_once]
            self._shoot(budget, region, chunk, [self._rays(region, q, batch, cones[q], random) for q in chunk])
        return region

    def _rays(self, region: Region, row: int, batch: QuestionBatch, cone: Cone, random: np.ndarray) -> np.ndarray:
        """Return all directions of one question, in units of the region: axes, front points, random directions."""
        low, high, unit = region.low[row], region.high[row], region.unit[row]
        room = np.stack([-low, high]) * batch.scale[row] > TINY
        axes = np.stack([np.eye(batch.dim), -np.eye(batch.dim)], axis=1).reshape(-1, batch.dim)  # both signs of each
        axes = np.where(np.where(axes > 0, room[1], room[0]), axes, 0.0)
        fixed = [axes] * self.axis_rays + [fold(cone.front / unit, cone.signs, room)] * self.front_rays
        return directions(np.concatenate([*fixed, fold(random, cone.signs, room)]))

    def _shoot(self, budget: Budget, region: Region, chunk: np.ndarray, rays: list[np.ndarray]) -> None:
        """Query the rays of a chunk of questions, in blocks that cannot exceed the remaining queries.

        A ray costs at most its end and its bisections, so querying in blocks changes no result. The last rays are
        queried one by one, because the queries may run out within a ray.
        """
        cost = self.bisections + 1 if self.bisect_at_once else 2
        count, done = np.array([len(u) for u in rays]), np.zeros(len(rays), dtype=np.int64)
        low, high = region.low / region.unit, region.high / region.unit
        while not budget.late:
            left = budget.left[chunk]
            block = np.where(left > 0, np.minimum(np.maximum(left // cost, 1), count - done), 0)
            if not block.any():
                return
            u = np.concatenate([u[a : a + n] for u, a, n in zip(rays, done, block, strict=True)])
            rows = np.repeat(chunk, block)
            alpha = longest_step(u, low[rows], high[rows])
            margins = budget.ask(rows, region.inside(rows, alpha[:, None] * u), "endpoints")
            hit = (margins >= budget.batch.kappa[rows]) & (alpha > 0)
            prune = not self.bisect_at_once
            bisect(budget, region, rows[hit], u[hit], alpha[hit], self.bisections, prune=prune)
            done += block


def _pull_back(budget: Budget, steps: int) -> None:
    """Query each answer again, then bisect between it and the command."""
    rows = np.flatnonzero(budget.closest.found)
    z = budget.closest.scaled_change[rows]
    budget.ask(rows, z, "final")
    bisect(budget, Region.whole(budget.batch), rows, z, np.ones(len(rows)), steps, phase="final", prune=False)


def cut_distances(batch: QuestionBatch, commands: np.ndarray, by_rays: np.ndarray) -> np.ndarray:
    """Return the distances (Q,) of commands (Q, d), one for each question, in units of its cut region.

    The published stress table has these units; this library and the published comparison use the whole region. If no
    ray (`by_rays`, (Q,)) and no front command in the cut region makes the foil win, ZOO had no seed and searched the
    whole region; the answer is then measured in its units.
    """
    cones = ask_cones(Budget(batch))
    cut = cut_regions(batch, np.stack([cone.signs for cone in cones]))
    seeded = by_rays | [_meets_foil(cut, row, cone, batch.kappa[row]) for row, cone in enumerate(cones)]
    z = batch.changes_to(np.arange(batch.num_questions), commands)
    return batch.distances(z / regions_where(seeded, cut, Region.whole(batch)).unit)


def _meets_foil(region: Region, row: int, cone: Cone, kappa: float) -> bool:
    """Return whether a front command in the region makes the foil win."""
    return bool((cone.margins[_inside(region, row, cone)] >= kappa).any())


def _inside(region: Region, row: int, cone: Cone) -> np.ndarray:
    """Return which front commands (F,) are in the region of a question."""
    return ((cone.front >= region.low[row]) & (cone.front <= region.high[row])).all(axis=1)


PRESETS = {
    "stress": (3_001, 9_001, 16),
    "example": (9_000, 9_000, 16),
    "comparison": (21_000, 21_000, 16),
    "thorough": (100_000, 100_000, 24),
}
"""B, random directions and K. K of the thorough run and the directions of the stress test are inferred."""

"""CF-ZOO as the authors' code runs it, which is not as the paper's text tells it (`cf_zoo.py`).

The region is cut by the front's signs and measured in what is left of it; axes and front points are tried before
random directions; bisections are paid for out of the rays' queries; ZOO descends inside the cut; a bisection towards
the command ends it. B queries are spent twice: at 3,001 the rays take 2,984, ZOO 3,001 and the end 16, which are the
numbers that the authors published, unless a question has fewer directions than that. One thing is not theirs: ZOO picks
its coordinates by a random stream of its own, where theirs begins the seed's anew.
"""

from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search.budget import Budget, Closest
from paretofoil.search.cf_zoo import MAX_ENDPOINTS, Region, ZooConfig, bisect, longest_step, refine
from paretofoil_paper.searches.cone import TINY, Cone, ask_cones, cut_regions, directions, fold


@dataclass(frozen=True)
class CFZooAsRun(Search):
    """The defaults are those of the published stress test; the switches leave one choice out, to see its worth."""

    max_queries: int = 3_001
    """B: ZOO's maximum of queries, and that of the rays with the bisection at the end."""
    directions: int = 9_001
    """How many random directions there are; rays end where they are used up."""
    bisections: int = 16
    """K: binary-search steps along each successful ray, and one more than those at the end."""
    c: float = ZooConfig.c
    """The weight of the hinge term against the squared distance."""
    eta: float = ZooConfig.eta
    """The learning rate of ADAM, in units of the cut region."""
    h: float = ZooConfig.h
    """The finite-difference step, in units of the cut region."""
    seed: int = 0
    """The seed of the random directions and coordinates."""
    cone: bool = True
    """Cut the region by the signs of the front command with the largest foil margin."""
    axis_rays: bool = True
    """Try the axes first."""
    front_rays: bool = True
    """Try the directions of the front commands next."""
    bisect_at_once: bool = True
    """Pay for each ray's bisections before the next ray, not for those of the closest once many ends are known."""
    zoo: bool = True
    """Descend after the rays; without it they have its queries too."""
    final_bisection: bool = True
    """End with a bisection between the answer and the command."""

    stochastic = True

    def __post_init__(self) -> None:
        for field in ("max_queries", "directions", "bisections"):
            if getattr(self, field) < 0:
                raise InvalidInput.expected(f"{field} of at least 0", getattr(self, field))

    @classmethod
    def preset(cls, name: str, seed: int = 0) -> "CFZooAsRun":
        """The published runs by name: stress, example, comparison, thorough."""
        if name not in PRESETS:
            raise InvalidInput.expected(f"a preset among {', '.join(PRESETS)}", repr(name))
        max_queries, directions, bisections = PRESETS[name]
        return cls(max_queries, directions, bisections, seed=seed)

    @property
    def name(self) -> str:
        return "cf-zoo:as-run"

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        """A limit of queries lowers B to half of it, so that all phases keep their shares."""
        budget = Budget(batch, limits, most=2 * self.max_queries)
        queries = int(budget.left[0]) // 2
        for_rays = (queries if self.zoo else 2 * queries) - self.bisections - 1
        kept = budget.left - max(for_rays, 0)
        budget.left -= kept
        region = self._search_rays(budget)
        budget.left += kept
        if self.zoo and queries:
            found = budget.closest.found
            region = region.where(found, Region.whole(batch))  # without a seed all of the region is searched
            budget.closest.unit = region.unit
            start = np.where(found[:, None], budget.closest.scaled_change, 0.0)
            refine(budget, start, ZooConfig(queries, self.c, self.eta, self.h, clipped=True), self.seed, region)
        if self.final_bisection and self.bisections:
            _pull_back(budget, self.bisections - 1)
        budget.cut[:] = queries < self.max_queries  # the rays' end is no limit: it is how the search is made
        return budget.findings()

    def _search_rays(self, budget: Budget) -> Region:
        """The command, the front, then rays in their order; what it met lies in the budget, measured in the region."""
        batch, everyone = budget.batch, np.arange(budget.batch.num_questions)
        margins = budget.ask_at(everyone, batch.commands, "command")
        cones = ask_cones(budget, cut=self.cone)
        region = cut_regions(batch, np.stack([cone.signs for cone in cones]))
        budget.closest = Closest(batch, batch.kappa, region.unit)
        budget.closest.offer(everyone, np.zeros_like(batch.commands), margins)
        for row, cone in enumerate(cones):
            inside = _inside(region, row, cone)
            budget.closest.offer(np.full(inside.sum(), row), cone.front[inside], cone.margins[inside])
        random = np.random.default_rng(self.seed).standard_normal((self.directions, batch.dim))
        at_once = max(1, MAX_ENDPOINTS // max(self.directions, 1))
        for first in range(0, batch.num_questions, at_once):
            chunk = everyone[first : first + at_once]
            self._shoot(budget, region, chunk, [self._rays(region, q, batch, cones[q], random) for q in chunk])
        return region

    def _rays(self, region: Region, row: int, batch: QuestionBatch, cone: Cone, random: np.ndarray) -> np.ndarray:
        """All directions of one question, in the region's units and in their order: axes, front points, random ones."""
        low, high, unit = region.low[row], region.high[row], region.unit[row]
        room = np.stack([-low, high]) * batch.scale[row] > TINY
        axes = np.stack([np.eye(batch.dim), -np.eye(batch.dim)], axis=1).reshape(-1, batch.dim)  # +, - of each
        axes = np.where(np.where(axes > 0, room[1], room[0]), axes, 0.0)
        tried = [axes] * self.axis_rays + [fold(cone.front / unit, cone.signs, room)] * self.front_rays
        return directions(np.concatenate([*tried, fold(random, cone.signs, room)]))

    def _shoot(self, budget: Budget, region: Region, chunk: np.ndarray, rays: list[np.ndarray]) -> None:
        """Rays of the questions in chunk, in blocks that their queries are sure to suffice for.

        A ray costs at most its end and its bisections, so that a block changes neither what is asked nor what is
        paid; the last rays go one by one, because the queries may end within one.
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
    """Ask about each answer again, then bisect between it and the command."""
    who = np.flatnonzero(budget.closest.found)
    winners = budget.closest.scaled_change[who]
    budget.ask(who, winners, "final")
    bisect(budget, Region.whole(budget.batch), who, winners, np.ones(len(who)), steps, phase="final", prune=False)


def cut_distances(batch: QuestionBatch, commands: np.ndarray, by_rays: np.ndarray) -> np.ndarray:
    """The distances (Q,) of commands (Q, d), one for each question, in units of its cut region.

    The published stress table measures so, this library and the published comparison in units of the whole box. Where
    no ray met the foil (`by_rays`, (Q,)) and no front command in the cut does, ZOO had no seed and searched the whole
    region: its answer is measured in that one.
    """
    cones = ask_cones(Budget(batch))
    cut = cut_regions(batch, np.stack([cone.signs for cone in cones]))
    seeded = by_rays | [_meets_foil(cut, row, cone, batch.kappa[row]) for row, cone in enumerate(cones)]
    z = batch.changes_to(np.arange(batch.num_questions), commands)
    return batch.distances(z / cut.where(seeded, Region.whole(batch)).unit)


def _meets_foil(region: Region, row: int, cone: Cone, kappa: float) -> bool:
    """Whether a front command in the region makes the foil win."""
    return bool((cone.margins[_inside(region, row, cone)] >= kappa).any())


def _inside(region: Region, row: int, cone: Cone) -> np.ndarray:
    """(F,) which front commands lie in the region of a question."""
    return ((cone.front >= region.low[row]) & (cone.front <= region.high[row])).all(axis=1)


PRESETS = {
    "stress": (3_001, 9_001, 16),
    "example": (9_000, 9_000, 16),
    "comparison": (21_000, 21_000, 16),
    "thorough": (100_000, 100_000, 24),
}
"""B, random directions and K; those of the thorough run, and the directions of the stress test, are inferred."""

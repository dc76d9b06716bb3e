"""Numbers that summarise rows, how sure they are, and whether two searches differ."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.study.store import Row


@dataclass(frozen=True)
class Proportion:
    """A success rate with its 95 % Wilson score interval."""

    successes: int
    cases: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.cases:
            raise InvalidInput.expected("between 0 and all cases as successes", f"{self.successes} of {self.cases}")

    @property
    def rate(self) -> float:
        return self.successes / self.cases if self.cases else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        if not self.cases:
            return float("nan"), float("nan")
        from scipy.stats import binomtest

        found = binomtest(self.successes, self.cases).proportion_ci(method="wilson")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        """As the paper prints it: 71.4 [54.9,83.7]."""
        if not self.cases:
            return "–"
        low, high = self.interval
        return f"{100 * self.rate:.1f} [{100 * low:.1f},{100 * high:.1f}]"


@dataclass(frozen=True)
class Summary:
    """Rows of one search taken together."""

    success: Proportion
    closest_distance: float | None
    """The mean scaled distance over the successes."""
    seconds: float | None
    """The mean wall time of a case."""
    median_seconds: float | None
    std_seconds: float | None
    queries: float | None
    """The mean number of queries of a case."""


def summarise(rows: Iterable[Row]) -> Summary:
    taken = list(rows)
    distances = [row.closest_distance for row in taken if row.closest_distance is not None]
    seconds = np.array([row.seconds for row in taken])
    return Summary(
        success=Proportion(len(distances), len(taken)),
        closest_distance=float(np.mean(distances)) if distances else None,
        seconds=float(seconds.mean()) if taken else None,
        median_seconds=float(np.median(seconds)) if taken else None,
        std_seconds=float(seconds.std()) if taken else None,
        queries=float(np.mean([row.queries for row in taken])) if taken else None,
    )


@dataclass(frozen=True)
class Interval:
    """Where a share, or a difference of shares, lies with 95 % confidence; nan if that cannot be told."""

    low: float
    high: float

    def __str__(self) -> str:
        """In percent, as a rate's own interval is printed: [53.4,80.0]."""
        return f"[{100 * self.low:.1f},{100 * self.high:.1f}]" if self.low == self.low else "–"


@dataclass(frozen=True)
class Episode:
    """The cases of one episode taken together: what a bootstrap draws."""

    stratum: str
    """What is the same in every repetition of the experiment: agents are drawn within it."""
    agent: str
    cases: int
    total: float
    """Of what is counted: successes, or successes more than another search has."""


def stratum_of_agent(row: Row) -> str:
    """Each agent is a stratum of its own: the interval is about these very agents."""
    return row.case.agent


Stratum = Callable[[Row], str]


def episodes_of(
    rows: Iterable[Row], count: Callable[[Row], float], stratum: Stratum = stratum_of_agent
) -> list[Episode]:
    """The rows of one search by episode, which is an agent under one command of its front."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.case.agent, row.case.front), []).append(row)
    return [Episode(stratum(g[0]), name, len(g), sum(map(count, g))) for (name, _), g in groups.items()]


RESAMPLES = 10_000
LEAST_FREEDOM = 4 - 1e-9
"""That of five clusters: no resample leaves what the clusters span, which holds a median in 1 - 2 / 2^n of all cases,
94 % for five of them; of fewer there is no interval to tell."""
UNKNOWN = Interval(float("nan"), float("nan"))


def cluster_interval(episodes: Sequence[Episode], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """The 95 % interval of total / cases by a cluster bootstrap.

    Cases of one episode share states and commands, those of one agent its network: they are no independent trials, and
    Wilson's interval, which takes them for such, is too narrow. So agents are drawn with replacement within their
    stratum, then episodes within each drawn agent, with all their cases; a stratum of one agent keeps it.

    The interval is the expanded percentile one (Hesterberg 2015, "What teachers should know about the bootstrap"):
    percentiles of the resampled rates, at levels that make up for few clusters as Student's t does. BCa would need a
    jackknife over as few as five agents, and has no value where all of them agree. Drawing on both levels makes it
    wide rather than narrow (it covers 93 to 100 % in simulations). Where every case succeeds, no resample can fail: the
    interval is then a point, and Wilson's says more.
    """
    by_agent: dict[tuple[str, str], list[Episode]] = {}
    for episode in episodes:
        by_agent.setdefault((episode.stratum, episode.agent), []).append(episode)
    strata = [[by_agent[key] for key in by_agent if key[0] == name] for name in dict.fromkeys(s for s, _ in by_agent)]
    units = np.array([len(agents) if len(agents) > 1 else len(agents[0]) for agents in strata], dtype=int)
    if units.sum() - len(units) < LEAST_FREEDOM:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    drawn = np.stack([_resample(agents, rng, resamples) for agents in strata])  # (strata, resamples, 2)
    freedom, widening = _freedom(drawn, units)
    if freedom < LEAST_FREEDOM:
        return UNKNOWN
    level = _level(freedom, widening)
    totals, cases = drawn.sum(axis=0).T
    low, high = np.quantile(totals / cases, (level, 1 - level))
    return Interval(float(low), float(high))


def _resample(agents: list[list[Episode]], rng: np.random.Generator, resamples: int) -> np.ndarray:
    """Total and cases of one stratum, drawn again and again: (resamples, 2).

    An agent that is drawn k times has its n episodes drawn k n times, whichever time they belong to: that is one
    multinomial draw for all resamples together.
    """
    times = rng.multinomial(len(agents), np.full(len(agents), 1 / len(agents)), size=resamples)  # (resamples, agents)
    sums = np.zeros((resamples, 2))
    for column, episodes in zip(times.T, agents, strict=True):
        size = len(episodes)
        weights = rng.multinomial(column * size, np.full(size, 1 / size))  # (resamples, episodes)
        sums += weights @ np.array([(episode.total, episode.cases) for episode in episodes], dtype=float)
    return sums


def _freedom(drawn: np.ndarray, units: np.ndarray) -> tuple[float, float]:
    """Degrees of freedom, and by how much a bootstrap of n units, which has the variance of n - 1, is too narrow.

    Strata differ in both: as Welch and Satterthwaite do, each counts with its share in the variance.
    """
    totals, cases = np.moveaxis(drawn, -1, 0)  # (strata, resamples)
    variances = np.var(totals - totals.sum() / cases.sum() * cases, axis=1)
    free = np.maximum(units - 1, 1)  # a stratum of one unit has no variance either
    if not variances.sum():
        return float(free.sum()), 1.0
    shares = variances / variances.sum()
    return float(1 / np.sum(shares**2 / free)), float(np.sqrt(np.sum(shares * (free + 1) / free)))


def _level(freedom: float, widening: float) -> float:
    """The percentile that stands for 2.5 %: a bootstrap's tails are the normal's, not Student's."""
    from scipy.stats import norm, t

    return float(norm.cdf(widening * t.ppf(0.025, freedom)))


@dataclass(frozen=True)
class PairedTest:
    """Two searches on the same cases: McNemar's exact test of whether one finds more than the other."""

    both: int
    first: int
    """Found by the first search alone."""
    second: int
    """Found by the second search alone."""
    neither: int

    @property
    def cases(self) -> int:
        return self.both + self.first + self.second + self.neither

    @property
    def difference(self) -> float:
        """The first search's rate less the second's."""
        return (self.first - self.second) / self.cases

    @property
    def p_value(self) -> float:
        """Two-sided: were both as good, each discordant case would be either's with probability one half."""
        if not self.first + self.second:
            return 1.0
        from scipy.stats import binomtest

        return float(binomtest(self.first, self.first + self.second).pvalue)


def pair_rows(first: Iterable[Row], second: Iterable[Row]) -> list[tuple[Row, Row]]:
    """The rows of two searches, case by case; both must have been asked about the same cases."""
    mine, theirs = ({row.case: row for row in rows} for rows in (first, second))
    if mine.keys() != theirs.keys() or not mine:
        raise InvalidInput.expected("two searches with the same cases", f"{len(mine):,} and {len(theirs):,}")
    return [(row, theirs[case]) for case, row in mine.items()]


def paired_test(pairs: Iterable[tuple[Row, Row]]) -> PairedTest:
    counts = Counter((first.found, second.found) for first, second in pairs)
    return PairedTest(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def difference_interval(pairs: Sequence[tuple[Row, Row]], stratum: Stratum = stratum_of_agent) -> Interval:
    """Of the first search's rate less the second's, by the cluster bootstrap: McNemar's test knows no clusters."""
    more = {first.case: first.found - second.found for first, second in pairs}
    return cluster_interval(episodes_of((first for first, _ in pairs), lambda row: more[row.case], stratum))


def rate_interval(rows: Iterable[Row], stratum: Stratum = stratum_of_agent) -> Interval:
    """Of the success rate, by the cluster bootstrap."""
    return cluster_interval(episodes_of(rows, lambda row: int(row.found), stratum))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, so that the chance of any false alarm among them stays what it is for one."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return adjusted.tolist()

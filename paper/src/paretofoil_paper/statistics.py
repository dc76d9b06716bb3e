"""Intervals by cluster bootstrap, and paired tests of two searches."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.study.store import Row
from paretofoil.study.table import Table


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval of a rate, or of a difference of rates; nan if it cannot be estimated."""

    PARTS: ClassVar = ("low", "high")
    low: float
    high: float

    def parts(self) -> tuple[float, float]:
        return self.low, self.high

    def __str__(self) -> str:
        """Return the interval in percent: [53.4,80.0]."""
        return f"[{100 * self.low:.1f},{100 * self.high:.1f}]" if self.low == self.low else "–"


@dataclass(frozen=True)
class EpisodeTotal:
    """The cases of one episode, which a bootstrap draws together."""

    stratum: str
    """Fixed in every repetition of the experiment: agents are drawn within a stratum."""
    agent: str
    cases: int
    total: float
    """Number of successes, or difference of the successes of two searches."""


def stratum_of_agent(row: Row) -> str:
    """Return the agent as its own stratum: the interval is about these agents only."""
    return row.case.agent


Stratum = Callable[[Row], str]


def episodes_of(
    rows: Iterable[Row], count: Callable[[Row], float], stratum: Stratum = stratum_of_agent
) -> list[EpisodeTotal]:
    """Return the rows of one search by episode: an agent under one command of its front."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.case.agent, row.case.front), []).append(row)
    return [EpisodeTotal(stratum(g[0]), name, len(g), sum(map(count, g))) for (name, _), g in groups.items()]


RESAMPLES = 10_000
LEAST_FREEDOM = 4 - 1e-9
"""That of five clusters. Resamples stay within the span of the clusters, which covers a median with probability
1 - 2 / 2^n: 94 % for n = 5. For fewer clusters there is no interval."""
UNKNOWN = Interval(float("nan"), float("nan"))


def cluster_interval(episodes: Sequence[EpisodeTotal], *, seed: int = 0, resamples: int = RESAMPLES) -> Interval:
    """Return the 95 % interval of total / cases by a cluster bootstrap.

    Cases of one episode share states and commands, episodes of one agent its network. They are not independent, and
    Wilson's interval, which assumes that they are, is too narrow. Therefore agents are drawn with replacement within
    their stratum, then episodes within each drawn agent, with all their cases; a single agent is kept.

    The interval is the expanded percentile interval (Hesterberg 2015, "What teachers should know about the
    bootstrap"): percentiles of the resampled rates, at levels corrected for few clusters as Student's t does. BCa
    would need a jackknife over as few as five agents, and is undefined where all of them agree. Drawing on both levels
    makes the interval rather too wide (it covers 93 to 100 % in simulations). If every case succeeds, so does every
    resample: the interval is a point, and Wilson's is more informative.
    """
    by_agent: dict[tuple[str, str], list[EpisodeTotal]] = {}
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


def _resample(agents: list[list[EpisodeTotal]], rng: np.random.Generator, resamples: int) -> np.ndarray:
    """Return the totals and cases of one stratum in each resample: (resamples, 2).

    The n episodes of an agent that is drawn k times are drawn k n times: one multinomial draw for all resamples.
    """
    times = rng.multinomial(len(agents), np.full(len(agents), 1 / len(agents)), size=resamples)  # (resamples, agents)
    sums = np.zeros((resamples, 2))
    for column, episodes in zip(times.T, agents, strict=True):
        size = len(episodes)
        weights = rng.multinomial(column * size, np.full(size, 1 / size))  # (resamples, episodes)
        sums += weights @ np.array([(episode.total, episode.cases) for episode in episodes], dtype=float)
    return sums


def _freedom(drawn: np.ndarray, units: np.ndarray) -> tuple[float, float]:
    """Return the degrees of freedom, and the factor by which a bootstrap of n units is too narrow.

    As in the Welch-Satterthwaite equation, each stratum is weighted by its share of the variance.
    """
    totals, cases = np.moveaxis(drawn, -1, 0)  # (strata, resamples)
    variances = np.var(totals - totals.sum() / cases.sum() * cases, axis=1)
    free = np.maximum(units - 1, 1)  # a stratum of one unit has no variance either
    if not variances.sum():
        return float(free.sum()), 1.0
    shares = variances / variances.sum()
    return float(1 / np.sum(shares**2 / free)), float(np.sqrt(np.sum(shares * (free + 1) / free)))


def _level(freedom: float, widening: float) -> float:
    """Return the percentile that replaces 2.5 %: the bootstrap has normal tails, not Student's."""
    from scipy.stats import norm, t

    return float(norm.cdf(widening * t.ppf(0.025, freedom)))


@dataclass(frozen=True)
class PairedTest:
    """McNemar's exact test of two searches on the same cases."""

    both: int
    first: int
    """Found by the first search only."""
    second: int
    """Found by the second search only."""
    neither: int

    @property
    def cases(self) -> int:
        return self.both + self.first + self.second + self.neither

    @property
    def difference(self) -> float:
        """Rate of the first search minus that of the second."""
        return (self.first - self.second) / self.cases

    @property
    def p_value(self) -> float:
        """Two-sided p-value. If both searches are equally good, discordant cases are fair coin flips."""
        if not self.first + self.second:
            return 1.0
        from scipy.stats import binomtest

        return float(binomtest(self.first, self.first + self.second).pvalue)


def pair_rows(first: Iterable[Row], second: Iterable[Row]) -> list[tuple[Row, Row]]:
    """Return the rows of two searches case by case; both must have answered the same cases."""
    mine, theirs = ({row.case: row for row in rows} for rows in (first, second))
    if mine.keys() != theirs.keys() or not mine:
        raise InvalidInput.expected(
            "two searches with the same cases",
            f"{len(mine):,} and {len(theirs):,} cases with {len(mine.keys() & theirs.keys()):,} in common",
        )
    return [(row, theirs[case]) for case, row in mine.items()]


def paired_test(pairs: Iterable[tuple[Row, Row]]) -> PairedTest:
    """Return McNemar's test of the pairs of `pair_rows`."""
    counts = Counter((first.found, second.found) for first, second in pairs)
    return PairedTest(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


def difference_interval(pairs: Sequence[tuple[Row, Row]], stratum: Stratum = stratum_of_agent) -> Interval:
    """Return the cluster-bootstrap interval of the difference of rates; McNemar's test ignores clusters."""
    more = {first.case: first.found - second.found for first, second in pairs}
    return cluster_interval(episodes_of((first for first, _ in pairs), lambda row: more[row.case], stratum))


def rate_interval(rows: Iterable[Row], stratum: Stratum = stratum_of_agent) -> Interval:
    """Return the cluster-bootstrap interval of the success rate."""
    return cluster_interval(episodes_of(rows, lambda row: int(row.found), stratum))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests with Holm's correction for multiple tests."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return adjusted.tolist()


def paired_table(rows: Iterable[Row], reference: str, *, stratum: Stratum = stratum_of_agent) -> Table:
    """Return the paired tests of one search against each other search on the same cases."""
    by_search: dict[str, list[Row]] = {}
    for row in rows:
        by_search.setdefault(row.search, []).append(row)
    if reference not in by_search:
        raise InvalidInput.expected(f"a search among {', '.join(by_search)}", repr(reference))
    pairs = {name: pair_rows(by_search[reference], by_search[name]) for name in by_search if name != reference}
    title = f"Paired tests: {reference} against each other search"
    return pairs_table(title, "against", pairs, (reference, "other"), stratum=stratum)


def pairs_table(
    title: str,
    group: str,
    pairs: Mapping[str, Sequence[tuple[Row, Row]]],
    searches: tuple[str, str],
    *,
    stratum: Stratum = stratum_of_agent,
) -> Table:
    """Return one paired test of two searches per group."""
    tests = {name: paired_test(paired) for name, paired in pairs.items()}
    adjusted = holm([test.p_value for test in tests.values()])
    lines = []
    for (name, test), p in zip(tests.items(), adjusted, strict=True):
        counts = (test.cases, test.both, test.first, test.second, test.neither)
        interval = difference_interval(pairs[name], stratum)
        lines.append((name, *counts, 100 * test.difference, interval, _p(test.p_value), _p(p)))
    columns = (
        *(group, "cases", "both find", f"{searches[0]} alone", f"{searches[1]} alone", "neither"),
        *("difference (points)", "cluster [95 % CI]", "McNemar p", "p (Holm)"),
    )
    return Table(title, columns, tuple(lines), PAIRED_NOTE)


LEAST_P = 1e-6
"""Smaller p-values are printed as an upper bound: cases of one episode are dependent, so more digits mean nothing."""


def _p(value: float) -> float | str:
    return value if value >= LEAST_P else "< 1e-6"


PAIRED_NOTE = (
    "All searches answer the same cases. McNemar's exact two-sided test compares the discordant cases (found by one "
    "search only) and assumes that they are independent; Holm's correction covers the tests of this table. The "
    "interval of the difference is that of a cluster bootstrap, which accounts for the dependence of cases of one "
    "episode and of one agent: if it contains 0, do not rely on a small p."
)

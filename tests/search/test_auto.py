"""The search that nobody chose: it proves what it can, within a time that a newcomer waits."""

import pytest

import paretofoil as pf
from paretofoil.core.limit import NO_LIMITS, Limits
from paretofoil.search import Exact
from paretofoil.search.registry import AUTO_SECONDS, choose_limits


@pytest.fixture(autouse=True)
def newcomer(no_time_limit: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit as users have it."""
    monkeypatch.setattr("paretofoil.search.registry.AUTO_SECONDS", AUTO_SECONDS)


def test_auto_stops_in_time_unless_another_time_is_given() -> None:
    assert choose_limits("auto", NO_LIMITS) == Limits(seconds=AUTO_SECONDS)
    assert choose_limits("auto", Limits(queries=500)) == Limits(seconds=AUTO_SECONDS, queries=500)
    assert choose_limits("auto", Limits(seconds=3600)) == Limits(seconds=3600)


def test_a_search_that_is_named_takes_the_time_that_it_needs() -> None:
    assert choose_limits("exact", NO_LIMITS) == NO_LIMITS
    assert choose_limits(Exact(), NO_LIMITS) == NO_LIMITS


@pytest.mark.parametrize("whole_episode", [False, True])
def test_what_is_asked_without_a_search_is_asked_with_that_limit(
    monkeypatch: pytest.MonkeyPatch, whole_episode: bool
) -> None:
    seen = []
    run = Exact.run

    def spy(self, batch, limits=NO_LIMITS):  # type: ignore[no-untyped-def]
        seen.append(limits)
        return run(self, batch, limits)

    monkeypatch.setattr(Exact, "run", spy)
    agent = pf.load_agent("branch-path")
    if whole_episode:
        pf.explain_episode(agent, agent.front[0], steps=[0])
    else:
        pf.explain_decision(agent, pf.rollout(agent, agent.front[0])[0])
    assert {limits.seconds for limits in seen} == {AUTO_SECONDS}

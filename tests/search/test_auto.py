"""The search "auto" has a time limit by default."""

import pytest

import paretofoil as pf
from paretofoil.core.options import NO_LIMITS, Limits
from paretofoil.search import Exact
from paretofoil.search.registry import AUTO_SECONDS, choose_limits


@pytest.fixture(autouse=True)
def newcomer(no_time_limit: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the default time limit."""
    monkeypatch.setattr("paretofoil.search.registry.AUTO_SECONDS", AUTO_SECONDS)


def test_auto_has_a_time_limit_unless_another_is_given() -> None:
    assert choose_limits("auto", NO_LIMITS) == Limits(seconds=AUTO_SECONDS)
    assert choose_limits("auto", Limits(queries=500)) == Limits(seconds=AUTO_SECONDS, queries=500)
    assert choose_limits("auto", Limits(seconds=3600)) == Limits(seconds=3600)


def test_other_searches_have_no_time_limit() -> None:
    assert choose_limits("exact", NO_LIMITS) == NO_LIMITS
    assert choose_limits(Exact(), NO_LIMITS) == NO_LIMITS


@pytest.mark.parametrize("whole_episode", [False, True])
def test_explaining_without_a_search_uses_the_time_limit_of_auto(
    monkeypatch: pytest.MonkeyPatch, whole_episode: bool
) -> None:
    used = []
    run = Exact.run

    def spy(self, batch, limits=NO_LIMITS):  # type: ignore[no-untyped-def]
        used.append(limits)
        return run(self, batch, limits)

    monkeypatch.setattr(Exact, "run", spy)
    agent = pf.load_agent("branch-path")
    if whole_episode:
        pf.explain_episode(agent, agent.front[0], steps=[0])
    else:
        pf.explain_decision(agent, pf.rollout(agent, agent.front[0])[0])
    share = 1.0 if whole_episode else 0.9  # the rest is for the norm linf, if the proof in l2 stays open
    assert {limits.seconds for limits in used} == {share * AUTO_SECONDS}

"""Report cards: verdicts, measures and pages say what was examined."""

import re
from dataclasses import replace

import numpy as np
import pytest
from markup import Markup
from policies import random_pcn

import paretofoil as pf
from paretofoil.core.pareto import hypervolume
from paretofoil.explanation.atlas import delivers, ends_of
from paretofoil.explanation.report import MAX_STATES, MAX_STEPS, Report, examine
from paretofoil.show.report import measures, parts, report_html, verdict


@pytest.fixture(scope="module")
def line() -> pf.Agent:
    return pf.load_agent("reward-line")


@pytest.fixture(scope="module")
def broken(line: pf.Agent) -> pf.Agent:
    policy = random_pcn(4, line.policy.state_size, 2, len(line.actions))  # type: ignore[attr-defined]
    return replace(line, name="broken <agent>", policy=policy, achieved=None)


@pytest.fixture(scope="module")
def good_report(line: pf.Agent, broken: pf.Agent) -> Report:
    return examine(line, broken, seconds=20)


@pytest.fixture(scope="module")
def broken_report(broken: pf.Agent) -> Report:
    return examine(broken, seconds=10)


def titles(report: Report) -> list[str]:
    return [part.title for part in parts(report)]


def test_the_verdict_tells_a_broken_agent_from_a_good_one(good_report: Report, broken_report: Report) -> None:
    good, poor = verdict(good_report), verdict(broken_report)
    assert good.level == "good"
    assert (
        good.headline
        == "It does what it is told on the front: it achieves each of the 11 best returns when asked for it."
    )
    assert poor.level == "poor"
    assert poor.headline.startswith("It often does not do what it is told: it misses 10 of the 11 best returns")
    assert poor.sentences[0].startswith("For example, asked for")


def test_the_front_is_asked_for_and_rolled_out(broken: pf.Agent, broken_report: Report) -> None:
    front = broken_report.front
    assert front is not None
    assert front.best
    achieved = ends_of(broken, front.points)[:, :-1]
    assert (front.achieved == achieved).all()
    assert (front.reached == delivers(achieved, front.points, 1e-6)).all()
    assert measures(broken_report)[0].shown == "1 of 11"


def test_the_share_of_commands_that_can_be_fulfilled_is_the_area_below_the_front(
    line: pf.Agent, good_report: Report
) -> None:
    commands = np.random.default_rng(0).uniform(line.space.low, line.space.high, (20_000, 2))
    below = np.any([(commands <= point).all(axis=1) for point in line.front], axis=0).mean()
    assert good_report.fulfillable == pytest.approx(below, abs=0.01)
    assert good_report.fulfillable == pytest.approx(hypervolume(line.front, line.space.low))
    share = next(m for m in measures(good_report) if m.name.startswith("commands within the front"))
    atlas = good_report.atlas
    assert atlas is not None
    low, high = atlas.interval(atlas.delivers)
    assert (share.low, share.high) == (pytest.approx(low / 0.45), pytest.approx(min(high / 0.45, 1.0)))
    assert share.how == "proven"


def test_neighbours_that_end_alike_are_counted(good_report: Report, broken_report: Report) -> None:
    assert good_report.neighbours is not None
    alike, pairs = good_report.neighbours
    low, high = good_report.agreement
    assert pairs == 2_000
    assert 0.9 < low < alike / pairs < high < 1.0
    assert broken_report.neighbours != good_report.neighbours


def test_the_comparison_brings_the_atlas(good_report: Report) -> None:
    assert good_report.comparison is not None
    assert good_report.atlas is good_report.comparison.atlases[0]
    assert "Compared with broken <agent>" in titles(good_report)
    assert "broken <agent> achieves 1 of the 11 returns of the front" in verdict(good_report).sentences[-1]


def test_the_page_is_well_formed_and_needs_nothing_else(good_report: Report) -> None:
    text = report_html(good_report)
    page = Markup(text)
    assert "broken <agent>" not in text
    assert "broken &lt;agent&gt;" in text
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "iframe"}
    assert re.findall(r"https?://|url\(|@import", text) == []
    pictures = [attributes for tag, attributes in page.tags if tag == "img"]
    assert len(pictures) == 6
    assert all(str(picture["src"]).startswith("data:image/png;base64,") and picture["alt"] for picture in pictures)
    assert text.count("<h2>") == 1 + len(parts(good_report))


def test_chance_leaves_out_what_it_forbids_and_says_so() -> None:
    report = examine(pf.load_agent("breakable-bottles"), seconds=1)
    assert report.atlas is None
    assert report.neighbours is None
    assert report.front is not None
    assert not report.front.best
    assert "There is no map of outcomes: chance plays a part in breakable-bottles." in verdict(report).sentences
    assert "on average over rollouts" in parts(report)[0].sentences[0]
    assert "What it never does" in titles(report)
    Markup(report_html(report))


def test_more_objectives_are_sampled_and_the_page_says_so() -> None:
    report = examine(pf.load_agent("collect-two"), seconds=1)
    assert "95 % intervals of 10,000 sampled commands" in verdict(report).sentences[0]
    assert {measure.how for measure in measures(report)} == {"rolled out", "sampled"}
    [text] = parts(report)[1].sentences
    assert text.endswith(
        "to 100 % of the commands is proven. The shares are 95 % intervals of 10,000 sampled commands."
    )


def test_a_black_box_has_no_proof_about_actions(line: pf.Agent) -> None:
    opaque = replace(line, policy=line.policy.log_probs)
    report = examine(opaque, seconds=2)
    assert report.nevers == ()
    [part] = [part for part in parts(report) if part.title == "What it never does"]
    assert part.sentences[0].startswith("There is no proof about actions: expected a")


def test_preferences_are_not_compared_with_returns(line: pf.Agent) -> None:
    space = pf.CommandSpace.preferences(["A", "B"])
    weighed = replace(line, space=space, front=np.eye(2), achieved=None, error=None)
    report = examine(weighed, seconds=2)
    assert verdict(report).level == "open"
    assert "its commands are preferences" in verdict(report).sentences[0]
    assert report.fulfillable == 0.0
    Markup(report_html(report))


def test_an_agent_without_a_front_is_asked_for_the_best_returns(broken: pf.Agent) -> None:
    report = examine(replace(broken, front=np.zeros((0, 2)), error=None), seconds=2)
    assert measures(report)[0].shown == "1 of 11"
    assert report.episode.command == pytest.approx([0.5, 0.5])
    Markup(report_html(report))


@pytest.mark.long
def test_long_episodes_and_many_states_are_thinned() -> None:
    agent = pf.load_agent("minecart-early")
    few = replace(agent, front=agent.front[:2], achieved=None, error=None)
    report = examine(few, seconds=1)
    assert report.profile is not None
    assert len(report.profile.steps) == min(MAX_STEPS, len(report.episode))
    assert report.nevers[0].visited <= MAX_STATES

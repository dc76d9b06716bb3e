"""The map of the command space: the page computes the policy, and its numbers are those of the library."""

import numpy as np
import pytest
from discrete import DISCRETE
from visit import QUESTION, Visit, share

import paretofoil as pf
from paretofoil.core.policy import probabilities
from paretofoil.web.documents import command_text

pytestmark = pytest.mark.long

STEPS = {
    "deep-sea-treasure": ((8, -8), 5),
    "minecart": ((0, 1.5, -0.96), 3),
    "branch-path": ((2, 2), 6),  # with 2 of A collected already, which narrows what can be asked for
    "fruit-tree": (None, 2),
    "breakable-bottles": (None, 1),
}
COMPUTED = """async ([state, commands, valid]) => {
  const { probabilities } = await import("/page/js/policy.js");
  const { folded } = window.paretofoil.store.get();
  return commands.map((command) => probabilities(folded, command, valid));
}"""
DRAFTED = """async () => {
  const { computeMap } = await import("/page/js/action_map.js");
  const { draftMap } = await import("/page/js/draft_map.js");
  const { regionOf } = await import("/page/js/search_region.js");
  const { agent, episode, step, folded } = window.paretofoil.store.get();
  const { valid_actions: valid, command, ...decision } = episode.decisions[step];
  const region = regionOf(agent, { command, ...decision });
  return [draftMap, computeMap].map((make) => [...make(folded, valid, command, [0, 1], region).winners]);
}"""
MAPPED = """async ([axes]) => {
  const { nodesOf, computeMap } = await import("/page/js/action_map.js");
  const { regionOf } = await import("/page/js/search_region.js");
  const { agent, episode, step, folded } = window.paretofoil.store.get();
  const decision = episode.decisions[step];
  const region = regionOf(agent, decision);
  const map = computeMap(folded, decision.valid_actions, decision.command, axes, region);
  const commands = [...nodesOf(decision.command, axes, region)];
  return { low: region.low, high: region.high, commands, winners: [...map.winners] };
}"""


def step_of(name: str) -> tuple[pf.Agent, pf.Decision, str]:
    agent = pf.load_agent(name)
    command, time = STEPS[name]
    command = agent.front[0] if command is None else command
    link = f"#agent={name}&command={','.join(map(repr, map(float, command)))}&step={time}&explore=space"
    return agent, pf.rollout(agent, command)[time], link


@pytest.mark.parametrize("name", STEPS)
def test_the_pages_numbers_are_the_librarys(visit: Visit, name: str) -> None:
    agent, decision, link = step_of(name)
    page = visit.open(link)
    visit.until(page, "window.paretofoil.store.get().folded")
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, (200, agent.space.dim))
    asked = [decision.state.tolist(), commands.tolist(), list(decision.valid_actions)]
    computed = np.array(page.evaluate(COMPUTED, asked))
    scores = agent.policy.log_probs(np.repeat(decision.state[None], 200, axis=0), commands)
    told = np.array([probabilities(agent.policy, row, decision.valid_actions) for row in scores])
    assert np.abs(computed - told).max() <= 1e-5


@pytest.mark.parametrize("name", ["branch-path", "minecart"])
def test_the_map_shows_what_the_agent_would_choose_in_the_searched_region(visit: Visit, name: str) -> None:
    agent, decision, link = step_of(name)
    page = visit.open(link)
    visit.until(page, "window.paretofoil.store.get().folded")
    shown = page.evaluate(MAPPED, [[0, agent.space.dim - 1]])
    foil = next(action for action in decision.valid_actions if action != decision.action)
    answer = pf.explain(agent, decision, foil=foil)
    np.testing.assert_allclose([shown["low"], shown["high"]], [answer.question.low, answer.question.high])
    commands = np.array(shown["commands"]).reshape(61 * 61, agent.space.dim)
    scores = agent.policy.log_probs(np.repeat(decision.state[None], len(commands), axis=0), commands)
    valid = list(decision.valid_actions)
    best = np.array(valid)[scores[:, valid].argmax(axis=1)]
    gap = np.sort(scores[:, valid], axis=1)[:, -1] - np.sort(scores[:, valid], axis=1)[:, -2]
    assert ((best == shown["winners"]) | (gap < 1e-4)).all()


@pytest.mark.parametrize("name", ["deep-sea-treasure", "minecart", "fruit-tree"])
def test_the_draft_shows_the_same_regions_as_the_whole_map_that_follows_it(visit: Visit, name: str) -> None:
    page = visit.open(step_of(name)[2])
    visit.until(page, "window.paretofoil.lastWhole !== null")
    draft, whole = page.evaluate(DRAFTED)
    assert draft == whole


TEXTS = """async ([name]) => {
  const { commandText } = await import("/page/js/text.js");
  const agent = await (await fetch(`/api/agents/${name}`)).json();
  return agent.front.map((command) => commandText(agent.objectives, command));
}"""


@pytest.mark.parametrize("name", DISCRETE)
def test_the_page_writes_commands_as_the_library_does(visit: Visit, name: str) -> None:
    agent = pf.load_agent(name)
    if not agent.space.simplex:
        texts = visit.open().evaluate(TEXTS, [name])
        assert texts == [command_text(agent.space, command) for command in agent.front]


PRESENT = """async ([name]) => {
  const { present } = await import("/page/js/text.js");
  const agent = await (await fetch(`/api/agents/${name}`)).json();
  return agent.actions.map((_, action) => present(agent, action));
}"""


def test_what_an_action_does_is_said_in_english(visit: Visit) -> None:
    page = visit.open()
    verbs = {verb.split()[0] for name in DISCRETE for verb in page.evaluate(PRESENT, [name])}
    assert verbs >= {"accelerates", "brakes", "does", "goes", "mines", "picks", "turns"}
    assert verbs <= {"accelerates", "brakes", "chooses", "coasts", "does", "goes", "mines", "picks", "pushes", "turns"}


def test_a_slider_changes_the_probabilities_without_a_request(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5&explore=space")
    visit.until(page, "window.paretofoil.store.get().folded")
    visit.until(page, "Object.keys(window.paretofoil.store.get().precomputed).length === 3")
    before, asked = share(page, "down"), len(visit.requests)
    page.locator(".space-controls").get_by_label("time", exact=True).fill("0")
    assert share(page, "down") > before + 0.3
    rollout = ("/api/consequences", "/api/pictures")  # what the command leads to, once it is let go
    assert not [url for url in visit.requests[asked:] if "/api/" in url and not any(part in url for part in rollout)]


def test_dragging_the_command_on_the_map_moves_it(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5&explore=space")
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    canvas = page.locator("canvas.space")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + box["height"] * 0.75)
    page.mouse.up()
    treasure, time = page.evaluate("window.paretofoil.store.get().probe")
    assert 70 < treasure < 110
    assert -39 < time < -25
    assert "probe=" in page.url


def test_the_map_shows_the_answer_and_the_answers_of_every_search(visit: Visit) -> None:
    page = visit.ask(QUESTION + "&explore=space")
    page.get_by_text("What the map shows").click()
    page.get_by_role("button", name="Ask every search").click()
    visit.until(page, "Object.keys(window.paretofoil.store.get().bySearch).length === 4")
    legend = page.locator(".space-tools .legend").inner_text()
    for words in (
        "answer of Exact",
        "answer of CF-ZOO",
        "answer of Boundary",
        "proven range",
        "goals the agent has learned",
    ):
        assert words in legend


def test_in_the_slice_through_the_answer_the_foil_wins(visit: Visit) -> None:
    page = visit.ask("#agent=collect-two&command=0,0,0.8,1&step=0&foil=up&explore=space")
    page.get_by_role("button", name="Go to the answer").click()
    assert share(page, "up") > max(share(page, action) for action in ("down", "left", "right"))


def test_other_objectives_can_be_put_on_the_axes(visit: Visit) -> None:
    page = visit.open("#agent=minecart&command=0,1.5,-0.96&step=3&explore=space")
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    page.get_by_label("Objective on the vertical axis").select_option("fuel")
    assert page.evaluate("window.paretofoil.store.get().axes") == [0, 2]
    assert "axes=0,2" in page.url


def test_the_map_can_be_saved_as_a_picture(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5&explore=space")
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    with page.expect_download() as saved:
        page.get_by_text("What the map shows").click()
        page.get_by_role("button", name="Save as PNG").click()
    with open(saved.value.path(), "rb") as file:
        assert file.read(8) == b"\x89PNG\r\n\x1a\n"

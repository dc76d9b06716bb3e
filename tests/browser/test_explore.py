"""One click deeper: whole episodes, comparisons, options, export; and what happens when something fails."""

import csv
import json

import pytest
from visit import QUESTION, Visit

import paretofoil as pf
from paretofoil.agents.store import shipped_folder
from paretofoil.core.options import describe_options

pytestmark = pytest.mark.long


def test_the_flip_map_fills_and_a_cell_asks_its_question(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=0&explore=episode")
    page.get_by_role("button", name="Ask about every step").click()
    page.get_by_role("button", name="Step 8, up: proven: no command in the search region leads to it").wait_for()
    in_map, in_legend = (page.locator(f"{place} .taken").all_inner_texts() for place in (".flips", ".legend"))
    assert in_legend == ["→"]
    assert in_legend[0] in in_map
    page.get_by_role("button", name="Step 6, down: a change of").click()
    page.wait_for_selector(".answer .sentence")
    assert "step=5" in page.url
    assert "foil=down" in page.url
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    with open(saved.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = pf.explain_episode(pf.load_agent("deep-sea-treasure"), (8, -8), limits=pf.Limits(seconds=2))
    assert [row["sentence"] for row in rows] == [str(answer) for answer in expected.answers]


def test_two_agents_are_compared_at_the_same_question(visit: Visit) -> None:
    page = visit.ask("#agent=deep-sea-treasure&command=16,-9&step=2&foil=down&explore=compare")
    page.get_by_label("Compare with").select_option(label="the agent Deep Sea Treasure Early")
    visit.until(page, "document.querySelectorAll('.panel .sentence').length === 2")
    agents = map(pf.load_agent, ("deep-sea-treasure", "deep-sea-treasure-early"))
    expected = [str(pf.explain(agent, pf.rollout(agent, (16, -9))[2], foil="down")) for agent in agents]
    assert page.locator(".panel .sentence").all_inner_texts() == expected
    assert expected[0] != expected[1]


def test_an_agent_that_does_the_foil_itself_says_so_beside_the_other(visit: Visit) -> None:
    page = visit.ask(
        "#agent=deep-sea-treasure&command=16,-9&step=3&foil=down&explore=compare"
        '&compare={"agent":"deep-sea-treasure-early"}'
    )
    page.get_by_text("It goes down anyway.").wait_for()
    assert page.locator(".panel .scene").count() == 2


def test_two_searches_are_compared_at_the_same_question(visit: Visit) -> None:
    page = visit.ask(QUESTION + "&explore=compare")
    page.get_by_label("Compare with").select_option(label="the search Nearest front point")
    visit.until(page, "document.querySelectorAll('.panel .sentence').length === 2")
    told = page.locator(".panel .sentence").all_inner_texts()
    assert told[0] != told[1]


def test_an_objective_that_is_kept_does_not_change(visit: Visit) -> None:
    page = visit.ask("#agent=deep-sea-treasure&command=16,-9&step=3&foil=down&explore=options")
    page.locator("#option-keep-0").check()
    page.get_by_text("unchanged: 16").wait_for()
    page.wait_for_selector(".answer .sentence")
    assert "treasure" not in page.locator(".answer .sentence").inner_text()
    assert "keep" in page.url


def test_several_answers_and_a_range_are_given_as_asked(visit: Visit) -> None:
    link = '#agent=collect-two&command=0.8,0,0,1&step=0&foil=up&options={"k":2,"ranges":{"A":[0.5,0.98]}}'
    page = visit.ask(link)
    page.get_by_role("heading", name="Alternatives").wait_for()
    agent = pf.load_agent("collect-two")
    options = pf.Options(k=2, ranges={"A": (0.5, 0.98)})
    expected = pf.explain(agent, pf.rollout(agent, (0.8, 0, 0, 1))[0], foil="up", options=options)
    shown = page.evaluate("window.paretofoil.store.get().answer.result.answer")
    assert len(shown["alternatives"]) == 1
    for answer, same in zip([shown, *shown["alternatives"]], [expected, *expected.alternatives], strict=True):
        assert same.quoted is not None
        assert answer["quoted"]["command"] == same.quoted.command.tolist()
        assert 0.5 <= answer["quoted"]["command"][0] <= 0.98
    page.locator(".alternatives .show").click()
    page.locator(".verdict-text").get_by_text("It went up.").wait_for()


def test_the_form_has_a_control_for_every_option(visit: Visit) -> None:
    page = visit.ask(QUESTION + "&explore=options")
    for info in describe_options():
        name = info.name + {"objectives": "-0", "ranges": "-0-from"}.get(info.kind, "")
        assert page.locator(f"#option-{name}").count() == 1
        assert page.get_by_text(info.help, exact=True).is_visible()
    page.get_by_label("norm").select_option("l1")
    page.get_by_label("sparse").check()
    page.wait_for_selector(".answer .sentence")
    assert page.evaluate("window.paretofoil.store.get().settings.options") == {"norm": "l1", "sparse": True}


def test_an_answer_is_saved_as_the_librarys_json(visit: Visit) -> None:
    page = visit.ask()
    page.get_by_text("Details, proof and export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as JSON").click()
    with open(saved.value.path(), encoding="utf-8") as file:
        read = pf.Answer.from_json(file.read())
    assert str(read) == page.locator(".answer .sentence").inner_text()
    assert "pf.explain(" in page.locator(".answer pre").inner_text()


def test_a_search_that_runs_can_be_cancelled(visit: Visit) -> None:
    page = visit.open("#agent=fruit-tree")
    page.locator(".goal").first.click()
    page.wait_for_selector(".stage")
    page.evaluate("window.paretofoil.controller.setSettings({ search: 'cf-zoo:thorough', seconds: 60 })")
    page.locator(".why:visible").first.click()
    with page.expect_request(lambda request: request.method == "DELETE"):
        page.get_by_role("button", name="Cancel").click()
    page.get_by_text("The search was cancelled.").wait_for()
    visit.until(page, "fetch('/api/health').then((r) => r.json()).then((h) => h.running + h.waiting === 0)")


def test_a_refusal_is_told_in_the_servers_own_sentence(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasur")
    told = page.get_by_role("alert")
    told.get_by_text("This page does not exist on this server.").wait_for()
    told.get_by_text("Details").click()
    told.get_by_text("did you mean deep-sea-treasure?").wait_for()
    assert page.get_by_role("button", name="Try again").count() == 0
    page.get_by_role("button", name="Show all environments").click()
    page.wait_for_selector(".environment-card")
    assert page.get_by_role("alert").count() == 0
    visit.forgive("404")


def test_a_server_that_is_gone_is_told_kindly_and_can_be_tried_again(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure")
    page.wait_for_selector(".goal")
    page.route("**/api/episodes", lambda route: route.abort())
    page.locator(".goal").first.click()
    page.get_by_role("alert").get_by_text("The server cannot be reached.").wait_for()
    page.unroute("**/api/episodes")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector(".stage")
    visit.forgive("Failed to load resource")


def test_a_strangers_name_is_text_and_not_markup(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_selector(".environment-card")
    agents = page.evaluate("fetch('/api/agents').then((answer) => answer.json())")
    evil = "<img src=x onerror=window.hurt=1>"
    changed = [{**agents[0], "title": evil, "about": evil, "name": evil, "environment": evil}, *agents]
    page.route("**/api/agents", lambda route: route.fulfill(body=json.dumps(changed), content_type="application/json"))
    page.route("**/picture.png", lambda route: route.fulfill(body=b"", content_type="image/png"))
    page.reload()
    page.get_by_text(evil).first.wait_for()
    assert page.evaluate("window.hurt") is None


def test_an_attainable_command_is_offered_and_shown(visit: Visit) -> None:
    page = visit.ask()
    page.get_by_text("To get what you ask for, ask for 5 treasure in 2 steps from here on: ").wait_for()
    page.locator(".attainable .show").click()
    verdict = page.locator(".verdict-text")
    words = "The new command asks for 5 treasure in 7 steps in all: the agent delivered exactly that."
    verdict.get_by_text(words).wait_for()


def test_the_influence_of_the_command_is_drawn_along_the_episode(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=2,-3&step=1&explore=episode")
    page.get_by_role("button", name="Measure the influence").click()
    visit.until(page, "window.paretofoil.store.get().influence.status === 'done'")
    assert page.locator(".profile .column").count() == 3
    assert page.locator(".step.measured").count() == 3
    assert "of the commands lead to another action" in page.locator(".influence-text").inner_text()


def test_an_agent_of_ones_own_is_brought_and_asked(visit: Visit) -> None:
    folder = shipped_folder() / "branch-path"
    page = visit.open()
    page.get_by_text("Upload your own agent").click()
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("alert").get_by_text("Please choose both files.").wait_for()
    page.get_by_label("agent.json").set_input_files(folder / "agent.json")
    page.get_by_label("weights.safetensors").set_input_files(folder / "weights.safetensors")
    page.get_by_label("Name").fill("my-own")
    page.get_by_role("button", name="Upload").click()
    page.locator(".goal").first.click()
    page.wait_for_selector(".stage")
    assert "agent=my-own" in page.url
    page.get_by_role("button", name="Ask for something else").click()
    page.get_by_role("button", name="Delete this agent").click()
    page.wait_for_selector(".environment-card")
    assert page.get_by_role("button", name="my-own").count() == 0


def test_the_map_of_outcomes_says_how_a_command_ends(visit: Visit) -> None:
    page = visit.open("#agent=reward-line&command=0.5,0.5&step=2")
    page.get_by_role("button", name="How it ends").click()
    page.wait_for_selector("canvas.outcomes")
    told = page.locator(".outcome-map .probe-text")
    assert "Asked for 0.5 A and 0.5 B at the start, it " in told.inner_text()
    page.locator("canvas.outcomes").focus()
    ends = set()
    for _ in range(12):
        page.keyboard.press("ArrowUp")
        ends.add(told.inner_text().partition(", it ")[2])
    assert [end for end in ends if end.startswith("ends with ")]
    page.get_by_role("button", name="Ask for this", exact=True).click()
    visit.until(page, "window.paretofoil.store.get().command[1] > 0.6")

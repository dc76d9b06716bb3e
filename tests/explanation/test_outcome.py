"""Outcomes as foils: the answer's rollout meets the outcome, and nothing closer does."""

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.core.answer import Status
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import tabulate
from paretofoil.envs.episode import Episodes, greedy, run_episodes
from paretofoil.explanation.outcome import read_outcome
from paretofoil.explanation.outcome_search import GAP

AMPLE = pf.Limits(20)


@cache
def agent_named(name: str) -> pf.Agent:
    return pf.load_agent(name)


@cache
def answer_of(name: str, command: tuple[float, ...], text: str, step: int = 0) -> pf.Answer:
    agent = agent_named(name)
    return pf.explain(agent, pf.rollout(agent, command)[step], pf.outcome(text), limits=AMPLE)


def episodes_under(agent: pf.Agent, commands: np.ndarray, snapshot: Any = None) -> Episodes:
    seeds = np.zeros(len(commands), dtype=np.uint64)
    return run_episodes(agent.batch_env(), greedy(agent.policy), commands, seeds, snapshot=snapshot)


def closer_commands(agent: pf.Agent, answer: pf.Answer, count: int) -> np.ndarray:
    """Return random commands of the search region that are closer than the proven distance; half of them only just."""
    rng, question = np.random.default_rng(0), answer.question
    if answer.lower_bound == np.inf:
        return rng.uniform(question.low, question.high, (count, len(question.low)))
    directions = rng.normal(size=(count, agent.space.dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    sizes = answer.lower_bound * np.where(np.arange(count) % 2, 1.0 - 1e-9, rng.random(count))
    commands = question.command + directions * sizes[:, None] * agent.space.scale
    inside = ((commands >= question.low) & (commands <= question.high)).all(axis=1)
    return commands[inside]


@pytest.mark.parametrize("name", ["reward-line", "branch-path"])
def test_every_point_of_the_front_is_reached_by_the_closest_command_and_no_closer_one(name: str) -> None:
    agent = agent_named(name)
    for i, j in itertools.islice(itertools.permutations(range(len(agent.front)), 2), 3):
        names = [objective.name for objective in agent.environment.objectives]
        text = ", ".join(f"{n} = {v:.9g}" for n, v in zip(names, agent.achieved[j], strict=True))
        answer = pf.explain(agent, agent.front[i], pf.outcome(text), limits=AMPLE)
        assert answer.status is Status.PROVEN_CLOSEST
        for found in (answer.quoted, answer.closest):
            assert episodes_under(agent, found.command[None]).returns[0] == pytest.approx(agent.achieved[j])
        assert answer.lower_bound >= (1 - GAP) * answer.closest.distance
        closer = closer_commands(agent, answer, 2000)
        assert len(closer) > 200
        assert np.abs(episodes_under(agent, closer).returns - agent.achieved[j]).max(axis=1).min() > 1e-3


SEA = "deep-sea-treasure"


def dominates(returns: np.ndarray, point: np.ndarray) -> np.ndarray:
    return np.asarray((returns >= point).all(axis=1) & (returns > point).any(axis=1))


CLAUSES = [
    ("treasure >= 20", lambda e: e.returns[:, 0] >= 20),
    ("treasure <= 5, time <= 6", lambda e: (e.returns[:, 0] <= 5) & (e.returns[:, 1] >= -6)),
    ("dominates treasure=5 time=7", lambda e: dominates(e.returns, np.array([5, -7]))),
    ("steps <= 6", lambda e: e.lengths <= 6),
    ("steps >= 15, ends", lambda e: (e.lengths >= 15) & e.terminated),
    ("takes up, ends", lambda e: e.terminated & [0 in a[:n] for a, n in zip(e.actions, e.lengths, strict=True)]),
    ("never takes down, ends", lambda e: [1 not in a[:n] for a, n in zip(e.actions, e.lengths, strict=True)]),
    (
        "visits (7, 6)",
        lambda e: [_visits(o, end, n) for o, end, n in zip(e.observations, e.end, e.lengths, strict=True)],
    ),
]


def _visits(observations: np.ndarray, end: np.ndarray, length: int) -> bool:
    """Whether an episode of the sea visits row 7, column 6, of which the observation is a one-hot vector each."""
    table = tabulate(agent_named(SEA).environment)
    place = {
        o.tobytes()
        for o, s in zip(table.observations, table.states, strict=True)
        if tuple(s["current_state"]) == (7, 6)
    }
    return bool(place & {o.tobytes() for o in [*observations[:length], end]})


@pytest.mark.parametrize(("text", "holds"), CLAUSES)
def test_each_clause_is_met_by_the_answer_and_by_no_closer_command(text: str, holds: Any) -> None:
    agent, answer = agent_named(SEA), answer_of(SEA, (8.0, -8.0), text)
    assert answer.status in (Status.PROVEN_CLOSEST, Status.PROVEN_INFEASIBLE)
    for found in filter(None, (answer.quoted, answer.closest)):
        assert np.all(holds(episodes_under(agent, found.command[None])))
    closer = closer_commands(agent, answer, 2000)
    assert len(closer) > 100
    assert not np.any(holds(episodes_under(agent, closer)))


def test_from_a_step_the_remaining_command_changes_and_the_whole_episode_counts() -> None:
    agent, answer = agent_named(SEA), answer_of(SEA, (8.0, -8.0), "treasure >= 20, time <= 14, steps <= 14", step=3)
    decision = pf.rollout(agent, [8, -8])[3]
    assert answer.status is Status.PROVEN_CLOSEST
    assert answer.question.command.tolist() == [8.0, -5.0]
    rest = episodes_under(agent, answer.command[None], decision.snapshot)
    assert rest.returns[0, 0] >= 20
    assert rest.lengths[0] + 3 <= 14
    rests = episodes_under(agent, closer_commands(agent, answer, 2000), decision.snapshot)
    assert not ((rests.returns[:, 0] >= 20) & (rests.lengths + 3 <= 14)).any()
    text = answer.paragraph()
    assert text.startswith("Asked for 8 treasure in 5 steps from here on, the whole episode ends with 8 treasure after")
    assert "For the whole episode, this is" in text


def test_an_outcome_that_no_command_leads_to_is_proven_impossible() -> None:
    agent, answer = agent_named("branch-path"), answer_of("branch-path", (3.0, 1.0), "A >= 2, B >= 3")
    assert answer.status is Status.PROVEN_INFEASIBLE
    assert answer.command is None
    assert answer.lower_bound == np.inf
    assert str(answer) == 'No command in the search region makes the episode meet "A >= 2, B >= 3" (proven).'
    returns = episodes_under(agent, closer_commands(agent, answer, 5000)).returns
    assert not ((returns[:, 0] >= 2) & (returns[:, 1] >= 3)).any()


def test_a_state_may_be_given_as_a_function_of_the_observation() -> None:
    agent = agent_named("branch-path")
    there = pf.rollout(agent, [3, 1])[4].state

    def fourth_state(observation: np.ndarray) -> bool:
        return bool((observation == there).all())

    answer = pf.explain(agent, [3, 1], pf.outcome(never_visits=fourth_state), limits=AMPLE)
    assert answer.status is Status.PROVEN_CLOSEST
    assert answer.question.outcome == "never visits fourth_state"
    assert not any(fourth_state(decision.state) for decision in pf.rollout(agent, answer.command))


def test_restrictions_hold() -> None:
    options = pf.Options(keep=["time"], norm="linf")
    answer = pf.explain(agent_named(SEA), [8, -8], pf.outcome("treasure <= 3"), limits=AMPLE, options=options)
    assert answer.status is Status.PROVEN_CLOSEST
    assert answer.command[1] == -8.0
    assert answer.proof.norm == "linf"


def test_a_time_limit_leaves_a_bound_that_holds_and_claims_no_proof() -> None:
    limits = pf.Limits(1e-6)
    answer = pf.explain(agent_named(SEA), [124, -19], pf.outcome("treasure = 2, time = 3"), limits=limits)
    assert answer.status in (Status.FOUND, Status.NOT_FOUND)
    assert answer.lower_bound == 0.0
    assert answer.proof.status == "gap"


@pytest.mark.parametrize("step", [0, 3])
def test_without_a_finite_environment_it_is_proven_how_far_the_episode_stays_the_same(step: int) -> None:
    agent = agent_named("minecart")
    decision = pf.rollout(agent, agent.front[5])[step]
    answer = pf.explain(agent, decision, pf.outcome("ore 0 >= 1"), limits=pf.Limits(2))
    assert answer.status in (Status.FOUND, Status.NOT_FOUND)
    assert 0.001 < answer.lower_bound < (answer.closest.distance if answer.closest else np.inf)
    assert "the episode stays the same (proven)." in answer.paragraph()
    commands = np.concatenate([answer.question.command[None], closer_commands(agent, answer, 40)])
    episodes = episodes_under(agent, commands, decision.snapshot)
    assert (episodes.actions == episodes.actions[0]).all()
    wider = answer.question.command + 20 * (commands - answer.question.command)
    assert not (episodes_under(agent, wider, decision.snapshot).lengths == episodes.lengths[0]).all()


def test_without_a_finite_environment_the_answer_is_what_rollouts_found() -> None:
    agent, foil = agent_named("minecart"), pf.outcome("ore 0 >= 1")
    answer = pf.explain(agent, [0.3, 0.3, -1.0], foil, limits=pf.Limits(0.5))
    assert answer.status is Status.FOUND
    assert answer.search.name == "rollouts"
    assert pf.explain(agent, [0.3, 0.3, -1.0], foil, limits=pf.Limits(0.2), search="rollouts").proof is None
    assert episodes_under(agent, answer.command[None]).returns[0, 0] >= 1 - 1e-3 * agent.space.scale[0]
    with pytest.raises(InvalidInput, match="finitely many states and a white-box policy"):
        pf.explain(agent, [0.3, 0.3, -1.0], foil, search="exact")


def test_where_chance_plays_a_part_most_runs_meet_the_outcome_and_nothing_is_proven() -> None:
    agent = agent_named("breakable-bottles")
    answer = pf.explain(agent, agent.front[0], pf.outcome("breakage >= 1"), limits=pf.Limits(1))
    assert answer.status is Status.FOUND
    assert answer.proof is None
    assert answer.rollouts.original.met == 0.0
    assert answer.rollouts.quoted.repeats == 200
    assert answer.rollouts.quoted.met > 0.35  # at least half of 200 other runs
    assert "of 200 runs meet it, 95 % interval" in answer.paragraph()


def test_an_answer_is_read_again_from_json() -> None:
    for answer in (
        answer_of("branch-path", (3.0, 1.0), "A = 2"),
        answer_of("branch-path", (3.0, 1.0), "A >= 2, B >= 3"),
    ):
        again = pf.Answer.from_json(answer.to_json())
        assert again.paragraph() == answer.paragraph()
        assert repr(again) == repr(answer)
        assert again.question.foil is None


def test_a_document_with_an_action_and_an_outcome_is_refused() -> None:
    document = answer_of("branch-path", (3.0, 1.0), "A = 2").to_dict()
    document["question"] = {**document["question"], "foil": 0}
    with pytest.raises(InvalidInput, match=r"either question\.foil or question\.outcome"):
        pf.Answer.from_dict(document)


def test_a_document_of_the_second_schema_is_read() -> None:
    agent = agent_named("branch-path")
    document = pf.explain(agent, pf.rollout(agent, [3, 1])[0], pf.rollout(agent, [3, 1])[0].others[0]).to_dict()
    sentence = document["sentence"]
    del document["question"]["outcome"]
    assert str(pf.Answer.from_dict({**document, "schema": "paretofoil/answer/2"})) == sentence


def test_outcomes_and_actions_are_explained_together() -> None:
    agent = agent_named("branch-path")
    decision = pf.rollout(agent, [3, 1])[0]
    action = decision.others[0]
    both = pf.explain_decision(agent, decision, [pf.outcome("A = 2"), action], limits=AMPLE)
    assert [answer.question.outcome for answer in both] == ["A = 2", None]
    assert both[1].question.foil == action


def test_the_figure_and_the_notebook_show_the_answer(tmp_path: Path) -> None:
    answer = answer_of("branch-path", (3.0, 1.0), "A = 2")
    figure = answer.plot(tmp_path / "outcome.png")
    assert (tmp_path / "outcome.png").stat().st_size > 10_000
    [legend] = [axes.get_legend() for axes in figure.axes if axes.get_legend()]
    assert "the outcome is met" in [text.get_text() for text in legend.get_texts()]
    assert "why not &quot;A = 2&quot;?" in answer._repr_html_()


def test_a_text_is_read_with_positive_costs() -> None:
    goal = read_outcome(pf.outcome("treasure >= 50, time <= 10,steps <= 12"), agent_named(SEA))
    assert goal.low.tolist() == [50.0, -10.0]
    assert goal.high.tolist() == [np.inf, np.inf]
    assert goal.most_steps == 12
    assert str(pf.outcome("treasure >= 50 and time <= 10")) == "treasure >= 50, time <= 10"
    goal = read_outcome(pf.outcome("treasure = 5,time >= 3"), agent_named(SEA))
    assert goal.low.tolist() == [5.0, -np.inf]
    assert goal.high.tolist() == [5.0, -3.0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("treasure", r"got 'treasure' \(did you mean treasure >= 1\?\)"),
        ("treasur >= 3", r"did you mean treasure >= 3\?"),
        ("treasure > 3", r"did you mean treasure >= 3\?"),
        ("treasure >= 1, takes dwn", r"got 'takes dwn' \(did you mean takes down\?\)"),
        ("ends now", r"did you mean ends\?"),
        ("visits (99, 1)", r"expected a current_state of deep-sea-treasure, such as \(10, 10\), got '\(99, 1\)'"),
        ("dominates treasure=3", "expected a point with every objective"),
        ("treasure >= 1e999", "expected a finite number in an outcome, got '1e999'"),
        (
            "treasure >= 5, treasure <= 3",
            "a lower limit of treasure that is not above its upper limit, got at least 5 and at most 3",
        ),
        (
            "time >= 5, time <= 3",
            "a lower limit of time that is not above its upper limit, got at least 5 and at most 3",
        ),
    ],
)
def test_a_clause_that_cannot_be_read_is_named_with_the_nearest_right_one(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        read_outcome(pf.outcome(text), agent_named(SEA))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"foil": pf.outcome("A >= 2")}, "which it already meets"),
        ({"search": "boundary"}, "a search for outcomes among auto, exact, rollouts, got 'boundary'"),
        ({"limits": pf.Limits(queries=10)}, "a question about an outcome, got 10 queries"),
        ({"options": pf.Options(k=2)}, "got k=2"),
        ({"foil": 0}, r"a decision of a rollout, such as episode\[0\], got \[3, 1\]"),
    ],
)
def test_what_does_not_go_together_with_an_outcome_is_an_error(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        pf.explain(agent_named("branch-path"), [3, 1], **{"foil": pf.outcome("A = 2"), **arguments})


@pytest.mark.parametrize(
    "arguments", [{}, {"text": " , "}, {"text": None}, {"text": "ends", "share": 0}, {"visits": 3}, {"visits": [3]}]
)
def test_an_outcome_needs_a_clause_and_functions(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError if arguments == {"visits": 3} else InvalidInput):
        pf.outcome(**arguments)


def test_the_sentence_says_what_to_ask_for_and_what_it_then_brings() -> None:
    text = answer_of("branch-path", (3.0, 1.0), "A = 2").paragraph()
    assert text.startswith("Asked for 3 A and 1 B, the episode ends with 3 A and 1 B. Had you asked for 0.7 less A ")
    assert 'the episode would have met "A = 2". The episode then ends with 2 A and 2 B.' in text
    assert text.endswith("% smaller works (proven).")


def test_the_closest_command_that_delivers_is_fulfilled_and_no_closer_one_is() -> None:
    agent = agent_named(SEA)
    answer = pf.explain(agent, [8, -8], pf.outcome("treasure >= 16, delivers"), limits=AMPLE)
    assert answer.status is Status.PROVEN_CLOSEST
    assert pf.explain(agent, [8, -8], pf.outcome("treasure >= 16"), limits=AMPLE).lower_bound < answer.lower_bound
    [brought] = episodes_under(agent, answer.command[None]).returns
    assert (np.abs(brought - answer.command) <= 0.01 * agent.space.scale).all()
    commands = closer_commands(agent, answer, 2000)
    returns = episodes_under(agent, commands).returns
    near = (np.abs(returns - commands) <= 0.01 * agent.space.scale).all(axis=1)
    assert not (near & (returns[:, 0] >= 16)).any()

"""The tasks of workers: one function for each kind of task, from JSON to JSON."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from paretofoil.agents.agent import Agent, decision_in, rollout
from paretofoil.core.amounts import query_amounts
from paretofoil.core.answer import Answer
from paretofoil.core.command import as_vector
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.influence import Influence
from paretofoil.core.json import plain
from paretofoil.core.options import Limits, Options
from paretofoil.core.policy import probabilities, query
from paretofoil.explanation.explain import explain, explain_episode
from paretofoil.explanation.outcome import check_outcome, outcome
from paretofoil.explanation.questions import find_action, make_questions
from paretofoil.search.registry import choose_search
from paretofoil.show.sentences import runs_text
from paretofoil.web.agent_store import Shown, check_agent, load_from
from paretofoil.web.documents import (
    as_base64,
    check_state,
    command_text,
    consequence_document,
    episode_document,
    foil_names,
    folded_document,
    has_atlas,
)
from paretofoil.web.episodes import EpisodeCache, EpisodeSpec
from paretofoil.web.python_lines import python_lines
from paretofoil.web.state_policy import StatePolicy

Request = Mapping[str, Any]
Report = Callable[[float, Sequence[Any]], None]
"""Called with the share of the work that is done, and the results since the last call."""
LONG_TASKS = frozenset({"flip-map", "influence"})
"""Kinds of tasks that may take minutes. They never occupy all workers."""


load_cached = lru_cache(maxsize=32)(load_from)


def run_task(task: Mapping[str, Any], report: Report, load: Callable[[str], Shown] = load_cached) -> Any:
    """Return the result of a task {"kind", "address", "request"}: the agent's address and the HTTP request's fields."""
    kind, address, request = task["kind"], task["address"], task["request"]
    agent = load(address)
    if kind not in STATE_TASKS:
        check_agent(agent)
    if kind in QUICK_TASKS:
        return QUICK_TASKS[kind](agent, request)
    return {**JOB_TASKS[kind](agent, request, report), "python": python_lines(kind, agent, address, request)}


# Quick tasks take milliseconds, or a second for a long episode.

_EPISODES = EpisodeCache()


def _spec(request: Request) -> EpisodeSpec:
    issued = request.get("issued")
    other = None if issued is None else tuple(issued)
    return EpisodeSpec(request["agent"], tuple(request["command"]), request["seed"], request.get("since"), other)


def _decision(agent: Shown, request: Request) -> Decision:
    """Return the decision that a question is about. The command of a policy with free features includes its state."""
    if not isinstance(agent, StatePolicy):
        return _EPISODES.decision(agent, _spec(request), request["step"])
    if request["outcome"] is not None or request["step"]:
        got = "an outcome" if request["step"] == 0 else f"step {request['step']}"
        raise InvalidInput.expected(f"an action as foil, at step 0, since {agent.name} has no environment", got)
    return agent.decision_of(request["command"])


def _subject(agent: Shown) -> Any:
    return agent.policy if isinstance(agent, StatePolicy) else agent


def _episode(agent: Shown, request: Request) -> Any:
    if isinstance(agent, StatePolicy):
        return agent.as_episode(request["command"])
    spec = _spec(request)
    return episode_document(agent, spec, _EPISODES.episode(agent, spec))


def _probabilities(agent: Shown, request: Request) -> Any:
    valid, count = request["valid_actions"], len(foil_names(agent))
    if max(valid) >= count:
        raise InvalidInput.expected(f"actions from 0 to {count - 1}", max(valid))
    space = agent.space
    commands = np.stack(
        [space.checked(as_vector(c, "the command", space.dim), "the command") for c in request["commands"]]
    )
    states = np.repeat(check_state(agent, request["state"])[None], len(commands), axis=0)
    if agent.actor is not None:
        return agent.actor.actions.clip(query_amounts(agent.actor, states, commands)).tolist()
    scores = query(agent.discrete_policy, states, commands)
    return [probabilities(agent.discrete_policy, row, valid).tolist() for row in scores]


def _check_answer(agent: Shown, request: Request) -> Any:
    """Return the request with its foil as a number, or as a text about amounts.

    Errors are raised here, before the request waits in the queue.
    """
    decision = _decision(agent, request)
    if (request["foil"] is None) == (request["outcome"] is None):
        got = "neither" if request["foil"] is None else "both"
        raise InvalidInput.expected("either a foil or an outcome", got)
    if request["outcome"] is not None:
        end = outcome(request["outcome"], share=request["share"])
        check_outcome(check_agent(agent), end, request["search"], Options(**request["options"]), decision)
        return request
    foil = request["foil"]
    if agent.actor is None:
        foil = find_action(foil, agent.actions, decision.valid_actions)
        if foil == decision.action:
            raise InvalidInput.expected("a foil that the agent does not choose", agent.actions[foil])
    elif foil in foil_names(agent):
        foil = foil_names(agent).index(foil)
    choose_search(request["search"], agent.policy, request["seed"])
    make_questions(_subject(agent), decision, [foil], Options(**request["options"]))
    return {**request, "foil": foil}


def _check_steps(agent: Agent, request: Request) -> Any:
    """Return the request with its steps sorted and without duplicates."""
    choose_search(request.get("search", "auto"), agent.policy, request["seed"])
    episode, steps = _EPISODES.episode(agent, _spec(request)), request["steps"]
    for step in steps or ():
        if step >= len(episode):
            raise InvalidInput.expected(f"steps from 0 to {len(episode) - 1} of this episode", step)
    return {**request, "steps": None if steps is None else sorted(set(steps))}


def _check_atlas(agent: Agent, request: Request) -> Any:
    if not has_atlas(agent):
        raise InvalidInput.expected("a white-box agent with two objectives in a deterministic environment", agent.name)
    return request


STATE_TASKS = frozenset({"answer", "check-answer", "episode", "folded", "probabilities"})
"""Kinds of tasks that are possible for a policy without an environment."""
QUICK_TASKS: dict[str, Callable[[Any, Request], Any]] = {
    "check-answer": _check_answer,
    "check-atlas": _check_atlas,
    "check-steps": _check_steps,
    "consequence": lambda agent, request: consequence_document(
        _EPISODES, agent, _spec({**request, "since": request["step"]})
    ),
    "episode": _episode,
    "folded": lambda agent, request: folded_document(agent, request["state"]),
    "picture": lambda agent, request: as_base64(_EPISODES.picture(agent, _spec(request), request["step"])),
    "probabilities": _probabilities,
    "start-picture": lambda agent, request: as_base64(_EPISODES.start_picture(agent)),
}


# Tasks of jobs are searches and proofs, which may take long.


def _answer(agent: Shown, request: Request, report: Report) -> dict[str, Any]:
    if isinstance(agent, StatePolicy):
        decision = _decision(agent, request)
    else:
        decision = decision_in(agent, request["command"], request["step"], seed=request["seed"])
    answer = explain(
        _subject(agent),
        decision,
        foil=request["foil"] if request["outcome"] is None else outcome(request["outcome"], share=request["share"]),
        limits=Limits(request["seconds"], request["queries"]),
        search=request["search"],
        seed=request["seed"],
        options=Options(**request["options"]),
    )
    texts = {"sentence": str(answer), "paragraph": answer.paragraph(), "runs": runs_text(answer)}
    return {"answer": answer.to_dict(), **texts}


def _flip_map(agent: Agent, request: Request, report: Report) -> dict[str, Any]:
    num_reported = 0

    def show(answers: Sequence[Answer], total: int) -> None:
        nonlocal num_reported
        report(len(answers) / total if total else 1.0, [_cell(answer) for answer in answers[num_reported:]])
        num_reported = len(answers)

    flip_map = explain_episode(
        agent,
        request["command"],
        steps=request["steps"],
        search=request["search"],
        limits=Limits(request["seconds"]),
        options=Options(**request["options"]),
        seed=request["seed"],
        progress=show,
    )
    return {"flip_map": flip_map.to_dict()}


def _cell(answer: Answer) -> dict[str, Any]:
    """Return an answer as a cell of an incomplete flip map."""
    return {
        "step": answer.question.step,
        "foil": answer.question.column,
        "status": answer.status.value,
        "distance": None if answer.quoted is None else answer.quoted.distance,
        "sentence": str(answer),
    }


def _influence(agent: Agent, request: Request, report: Report) -> dict[str, Any]:
    from paretofoil.explanation.influence import InfluenceEffort, influence, influences, profile_of

    episode = rollout(agent, request["command"], seed=request["seed"])
    steps = range(len(episode)) if request["steps"] is None else request["steps"]
    report(0.0, [])
    if agent.actor is not None:
        ranges = []
        for done, step in enumerate(steps, start=1):
            here = influence(agent, episode[step], seconds=request["seconds"], seed=request["seed"])
            ranges.append({**here.to_dict(), "step": step, "sentence": str(here)})
            report(done / len(steps), ranges[-1:])
        return {"influence": {"steps": ranges}}
    found: list[Influence] = []
    effort = InfluenceEffort(seconds=request["seconds"], seed=request["seed"])
    for one in influences(agent, [episode[step] for step in steps], effort, "reachable", workers=2):
        found.append(one)
        report(len(found) / len(steps), [one.to_dict()])
    return {"influence": profile_of(agent, episode, found).to_dict()}


PIXELS = 240
"""Pixels on each side of a map of outcomes."""
UNDECIDED = 255
"""The value of a pixel without a proven outcome."""


def _atlas(agent: Agent, request: Request, report: Report) -> dict[str, Any]:
    from paretofoil.explanation.atlas import atlas

    def show(done: int, total: int) -> None:
        report(done / total, [])

    result = atlas(agent, seconds=request["seconds"], progress=show)
    image = Image.new("L", (PIXELS, PIXELS), UNDECIDED)
    pen = ImageDraw.Draw(image)
    places = (result.cells - result.low) / (result.high - result.low) * (PIXELS - 1)
    places[..., 1] = PIXELS - 1 - places[..., 1]
    for corners, number in zip(places, result.outcome_of.tolist(), strict=True):
        if 0 <= number < UNDECIDED:
            pen.polygon([*map(tuple, corners.tolist())], fill=number)
    outcomes = [
        {
            "text": command_text(agent.space, o.achieved),
            "share": o.share,
            "on_front": o.on_front,
            "finished": o.finished,
        }
        for o in result.outcomes[:UNDECIDED]
    ]
    region = plain({"low": result.low, "high": result.high, "undecided": result.undecided})
    return {**region, "outcomes": outcomes, "pixels": PIXELS, "winners": as_base64(image.tobytes())}


JOB_TASKS: dict[str, Callable[[Any, Request, Report], dict[str, Any]]] = {
    "answer": _answer,
    "atlas": _atlas,
    "flip-map": _flip_map,
    "influence": _influence,
}

"""What other processes compute: one function for each kind of job, from JSON to JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from paretofoil.agents.agent import Agent
from paretofoil.agents.rollout import decision_in, rollout
from paretofoil.core.answer import Answer
from paretofoil.core.influence import Influence
from paretofoil.core.limit import Limits
from paretofoil.explanation.explain import explain, explain_episode
from paretofoil.explanation.influence import influence_episode
from paretofoil.web.lines import answer_lines, flip_map_lines, influence_lines
from paretofoil.web.quick import QUICK, quick
from paretofoil.web.shelf import Place

Tell = Callable[[float, Sequence[Any]], None]
"""Called with the share that is done, and what has become known since the last time."""


def run_task(task: Mapping[str, Any], tell: Tell) -> Any:
    """The result of a task: {"kind", "address" of the agent, "asked": the fields of the question}."""
    agent = _load(task["address"])
    if task["kind"] in TASKS:
        return TASKS[task["kind"]](agent, task, tell)
    quick().meet(task["asked"]["agent"], agent)
    return QUICK[task["kind"]](agent, task["asked"])


@lru_cache(maxsize=32)
def _load(address: str) -> Agent:
    return Place(address).load()


def _answer(agent: Agent, task: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    asked = task["asked"]
    decision = decision_in(agent, asked["command"], asked["time"], seed=asked["seed"])
    names = ("search", "seed", "box", "kappa", "norm", "keep", "sparse", "k", "min_change")
    found = explain(
        agent,
        decision,
        foil=asked["foil"],
        limits=Limits(asked["seconds"], asked["queries"]),
        ranges={name: (low, high) for name, (low, high) in asked["ranges"].items()},
        **{name: asked[name] for name in names},
    )
    told = {"sentence": str(found), "paragraph": found.paragraph()}
    return {"answer": found.to_dict(), **told, "python": answer_lines(agent, task["address"], asked)}


def _flip_map(agent: Agent, task: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    asked, known = task["asked"], 0

    def show(answers: Sequence[Answer], total: int) -> None:
        nonlocal known
        tell(len(answers) / total if total else 1.0, [_cell(answer) for answer in answers[known:]])
        known = len(answers)

    found = explain_episode(
        agent,
        asked["command"],
        times=asked["times"],
        search=asked["search"],
        limits=Limits(asked["seconds"]),
        seed=asked["seed"],
        show=show,
    )
    return {"flip_map": found.to_dict(), "python": flip_map_lines(agent, task["address"], asked)}


def _influence(agent: Agent, task: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    asked = task["asked"]
    moments: list[Influence] = []
    episode = rollout(agent, asked["command"], seed=asked["seed"])
    times = range(len(episode)) if asked["times"] is None else asked["times"]
    tell(0.0, [])
    for done, time in enumerate(times, start=1):  # one by one, so that each is told as soon as it is known
        found = influence_episode(agent, episode, times=[time], seconds=asked["seconds"], seed=asked["seed"])
        moments += found.moments
        tell(done / len(times), [moment.to_dict() for moment in found.moments])
    whole = replace(found, moments=tuple(moments))
    return {"influence": whole.to_dict(), "python": influence_lines(agent, task["address"], asked)}


def _cell(answer: Answer) -> dict[str, Any]:
    """An answer of a flip map that is not whole yet."""
    return {
        "step": answer.step,
        "foil": answer.foil,
        "status": answer.status.value,
        "distance": answer.distance,
        "sentence": str(answer),
    }


TASKS: dict[str, Callable[[Agent, Mapping[str, Any], Tell], dict[str, Any]]] = {
    "answer": _answer,
    "flip-map": _flip_map,
    "influence": _influence,
}
LONG = frozenset({"flip-map", "influence"})
"""Kinds that may take minutes: they never take all workers."""

"""A user study that runs: who takes part, what they see next, and what becomes of their replies."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paretofoil.agents.agent import Agent
from paretofoil.core.document import brief
from paretofoil.core.errors import InvalidInput
from paretofoil.web.study.plan import END, Rating, UserStudy
from paretofoil.web.study.posed import Film, Posed, poses_of
from paretofoil.web.study.replies import Participant, Replies, Reply


@dataclass(frozen=True)
class Step:
    """One screen of a participant: a task with its ratings, or the ratings of the whole."""

    name: str
    kind: str
    posed: Posed | None
    films: tuple[Film, ...]
    """In the order in which they are seen."""
    ratings: tuple[Rating, ...]

    @property
    def agents(self) -> str:
        return " ".join(film.agent for film in self.films)


class RunningStudy:
    """A study with its agents and its file of replies."""

    def __init__(self, study: UserStudy, find: Callable[[str], Agent], replies: Path) -> None:
        self.study = study
        self._poses = poses_of(study, find)
        self._replies = Replies(replies, study.document)

    @property
    def path(self) -> Path:
        """Where the replies are."""
        return self._replies.path

    def about(self) -> dict[str, Any]:
        """What everybody reads first."""
        study = self.study
        count = len(self._steps_of_all())
        return {
            "title": study.title,
            "consent": study.consent,
            "introduction": study.introduction,
            "thanks": study.thanks,
            "steps": count,
        }

    def join(self, key: str) -> dict[str, Any]:
        """Take part, or go on: who has an id already keeps condition, order and replies."""
        return self._document(self._replies.join(key, lambda number: self.study.condition_of(number).name))

    def show(self, key: str) -> dict[str, Any]:
        return self._document(self._replies.find(key))

    def take(self, key: str, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a reply to the next step; the same one may be sent again."""
        participant = self._replies.find(key)
        steps = self._steps(participant)
        names = [step.name for step in steps]
        if sent["step"] not in names:
            raise InvalidInput.expected(f"a step among {', '.join(names)}", brief(sent["step"]))
        position, done = names.index(sent["step"]), len(self._replies.of(participant))
        if position > done:
            raise InvalidInput.expected(f"a reply to {names[done]}, which is next", f"one to {names[position]}")
        self._replies.add(_judged(participant, position, steps[position], sent))
        return self._document(participant)

    def close(self) -> None:
        self._replies.close()

    def _steps_of_all(self) -> list[str]:
        ends = [END] if any(rating.asked == END for rating in self.study.ratings) else []
        return [*(task.name for task in self.study.tasks), *ends]

    def _steps(self, participant: Participant) -> list[Step]:
        study, number = self.study, participant.number
        beside = tuple(study.ratings_of(number, "task"))
        steps = []
        for task in study.tasks_of(number):
            posed = self._poses[participant.condition, task.name]
            films = tuple(posed.films[side] for side in study.sides_of(number, task))
            steps.append(Step(task.name, task.kind, posed, films, beside))
        last = tuple(study.ratings_of(number, END))
        return [*steps, Step(END, END, None, (), last)] if last else steps

    def _document(self, participant: Participant) -> dict[str, Any]:
        """What the page needs to go on; neither the condition's name nor what is right is told."""
        [condition] = [c for c in self.study.conditions if c.name == participant.condition]
        steps = self._steps(participant)
        return {
            "shows": condition.shows,
            "steps": [_step_document(step) for step in steps],
            "next": len(self._replies.of(participant)),
        }


def _step_document(step: Step) -> dict[str, Any]:
    task = None if step.posed is None else step.posed.task
    films = [{**asdict(film), "explained": [{"time": t, "foil": f} for t, f in film.explained]} for film in step.films]
    return {
        "step": step.name,
        "kind": step.kind,
        "text": None if task is None else task.text,
        "films": films,
        "command": None if task is None else task.command,
        "foil": None if task is None else task.foil,
        "ratings": [asdict(rating) for rating in step.ratings],
    }


def _judged(participant: Participant, position: int, step: Step, sent: Mapping[str, Any]) -> Reply:
    """What was sent for a step, checked and compared with what is right."""
    if step.posed is None and sent["reply"] is not None:
        raise InvalidInput.expected("ratings alone at the end", brief(sent["reply"]))
    verdict = None if step.posed is None else step.posed.judge(sent["reply"])
    return Reply(
        number=participant.number,
        position=position,
        step=step.name,
        kind=step.kind,
        agents=step.agents,
        reply=None if verdict is None else verdict.reply,
        truth=None if verdict is None else verdict.truth,
        correct=None if verdict is None else verdict.right,
        ratings=_checked_ratings(step.ratings, sent["ratings"]),
        **{name: sent[name] for name in ("seconds", "away", "loads")},
    )


def _checked_ratings(asked: tuple[Rating, ...], given: Mapping[str, int]) -> dict[str, int]:
    names = [rating.name for rating in asked]
    if set(given) != set(names):
        raise InvalidInput.expected(f"ratings of {', '.join(names) or 'nothing'}", ", ".join(given) or "none")
    for rating in asked:
        if not 1 <= given[rating.name] <= rating.points:
            raise InvalidInput.expected(f"{rating.name} from 1 to {rating.points}", given[rating.name])
    return dict(given)

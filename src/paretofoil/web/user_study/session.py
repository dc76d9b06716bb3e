"""A running user study: its participants, their screens and replies, and the routes."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, Field

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief
from paretofoil.web.models import Command, StrictModel
from paretofoil.web.user_study.plan import END, CheckTask, Parameter, Part, Rating, UserStudy
from paretofoil.web.user_study.replies import Participant, Replies, Reply
from paretofoil.web.user_study.tasks import FindAgent, JudgedReply, WatchedEpisode, prepare_tasks

MAX_SECONDS = 1e7


class Screen(BaseModel):
    """One screen of a participant: a task with its ratings, or the ratings at the end. The right reply is left out."""

    name: str
    kind: Literal["predict", "choose", "steer", "check", "end"]
    text: str | None = None
    episodes: Sequence[WatchedEpisode] = ()
    command: Sequence[float] | None = None
    foil: str | None = None
    options: Sequence[str] = ()
    ratings: Sequence[Rating]


class Completion(BaseModel):
    """The code, and maybe a link, with which a participant returns to the recruitment service."""

    code: str
    link: str | None


class ParticipantScreens(BaseModel):
    """The screens of a participant. The name of the condition is left out."""

    key: str = Field(description="The participant's random number; that of an earlier visit if the id is known.")
    shows: Sequence[Part]
    screens: Sequence[Screen]
    next: int = Field(description="Index of the first screen without a reply; the number of screens if all have one.")
    completion: Completion | None = Field(description="After the last reply, if participants are recruited.")


ScreenName = Annotated[str, Field(min_length=1, max_length=63)]


class Consent(StrictModel):
    """The consent of a participant."""

    agreed: Literal[True]
    ids: dict[Parameter, Annotated[str, Field(max_length=200)]] = Field(
        default={}, max_length=10, description="Parameters of the address that the study stores."
    )


class ReplyRequest(StrictModel):
    """The reply of a participant on a screen, and its time."""

    screen: ScreenName
    reply: Annotated[str, Field(max_length=200)] | Command | None = Field(
        default=None, description="An action, an agent or a command, depending on the screen; null at the end."
    )
    ratings: dict[ScreenName, Annotated[int, Field(strict=True)]] = Field(default={}, max_length=100)
    seconds: Annotated[float, Field(ge=0, le=MAX_SECONDS)]
    away: Annotated[float, Field(ge=0, le=MAX_SECONDS)] = 0.0
    loads: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class UserStudySession:
    """A user study with its agents and its file of replies."""

    def __init__(self, study: UserStudy, find: FindAgent, replies: Path) -> None:
        self.study, self.path = study, replies
        self._tasks = prepare_tasks(study, find)
        self._replies = Replies(replies, study)

    def join(self, key: str, ids: Mapping[str, str]) -> ParticipantScreens:
        """Add a participant. Someone who has joined before keeps condition, order and replies."""
        parameters = self.study.recruitment.parameters if self.study.recruitment else ()
        if unknown := set(ids) - set(parameters):
            names = f"ids among {', '.join(parameters)}"
            expected = names if parameters else "no ids, since the study names no parameters"
            raise InvalidInput.expected(expected, ", ".join(sorted(unknown)))
        recruited = {name: ids[name] for name in parameters if ids.get(parameters[0]) and name in ids}
        return self._show(self._replies.join(key, lambda number: self.study.condition_of(number).name, recruited))

    def show(self, key: str) -> ParticipantScreens:
        return self._show(self._replies.find(key))

    def take(self, key: str, request: ReplyRequest) -> ParticipantScreens:
        """Store the reply to the next screen. An equal reply may be sent again."""
        participant = self._replies.find(key)
        screens = {screen.name: screen for screen in self._screens(participant)}
        names = list(screens)
        if request.screen not in screens:
            raise InvalidInput.expected(f"a screen among {', '.join(names)}", brief(request.screen))
        position, num_replies = names.index(request.screen), self._replies.count(participant)
        if position > num_replies:
            raise InvalidInput.expected(f"a reply to {names[num_replies]}, which is next", f"one to {request.screen}")
        self._replies.add(self._judge(participant, position, screens[request.screen], request))
        return self._show(participant)

    def close(self) -> None:
        self._replies.close()

    def _screens(self, participant: Participant) -> list[Screen]:
        study, number = self.study, participant.number
        ratings = study.ratings_of(number, "task")
        screens = []
        for task in study.tasks_of(number):
            checks = isinstance(task, CheckTask)
            episodes = self._tasks[participant.condition, task.name].episodes
            screens.append(
                Screen(
                    name=task.name,
                    kind=task.kind,
                    text=task.text,
                    episodes=[episodes[side] for side in study.sides_of(number, task)],
                    command=getattr(task, "command", None),
                    foil=getattr(task, "foil", None),
                    options=getattr(task, "options", ()),
                    ratings=() if checks else ratings,
                )
            )
        last = study.ratings_of(number, END)
        return [*screens, Screen(name=END, kind=END, ratings=last)] if last else screens

    def _show(self, participant: Participant) -> ParticipantScreens:
        [condition] = [c for c in self.study.conditions if c.name == participant.condition]
        screens, num_replies = self._screens(participant), self._replies.count(participant)
        completion = self._completion(participant) if num_replies == len(screens) else None
        return ParticipantScreens(
            key=participant.id, shows=condition.shows, screens=screens, next=num_replies, completion=completion
        )

    def _completion(self, participant: Participant) -> Completion | None:
        recruitment = self.study.recruitment
        if recruitment is None:
            return None
        failed = self._replies.failed_checks(participant) > self.study.analysis.max_failed_checks
        code = recruitment.failed_code if failed and recruitment.failed_code else recruitment.code
        return Completion(code=code, link=recruitment.link and recruitment.link.replace("{code}", code))

    def _judge(self, participant: Participant, position: int, screen: Screen, request: ReplyRequest) -> Reply:
        """Check a reply and compare it with the right one."""
        verdict = JudgedReply()
        if screen.kind != END:
            verdict = self._tasks[participant.condition, screen.name].judge(request.reply)
        elif request.reply is not None:
            raise InvalidInput.expected("ratings and no reply on the last screen", brief(request.reply))
        return Reply(
            number=participant.number,
            position=position,
            step=screen.name,
            kind=screen.kind,
            agents=" ".join(episode.agent for episode in screen.episodes),
            ratings=_check_ratings(screen.ratings, request.ratings),
            **asdict(verdict),
            **request.model_dump(include={"seconds", "away", "loads"}),
        )


def _check_ratings(ratings: Sequence[Rating], replies: Mapping[str, int]) -> dict[str, int]:
    names = [rating.name for rating in ratings]
    if set(replies) != set(names):
        expected = f"ratings of {', '.join(names)}" if names else "no ratings"
        raise InvalidInput.expected(expected, ", ".join(replies) or "none")
    for rating in ratings:
        if not 1 <= replies[rating.name] <= rating.points:
            raise InvalidInput.expected(f"{rating.name} from 1 to {rating.points}", replies[rating.name])
    return dict(replies)


Key = Annotated[
    str, InPath(pattern=r"^[0-9a-f]{32}$", examples=["0" * 32], description="A random number that the page made.")
]


def study_router(session: UserStudySession) -> APIRouter:
    router = APIRouter(tags=["user study"])

    public = {"title", "consent", "introduction", "thanks"}
    included = {**dict.fromkeys(public, True), "recruitment": {"parameters"}}  # the codes are shown at the end

    @router.get("/study", response_model_include=included)  # type: ignore[arg-type]
    async def show_study() -> UserStudy:
        """Return what the user study is about, and what participants agree to."""
        return session.study

    @router.put("/study/participants/{key}")
    async def take_part(key: Key, consent: Consent) -> ParticipantScreens:
        """Take part under a random number. Participants who have joined before continue."""
        return await asyncio.to_thread(session.join, key, consent.ids)

    @router.get("/study/participants/{key}")
    async def show_participant(key: Key) -> ParticipantScreens:
        """Return a participant's screens and progress."""
        return await asyncio.to_thread(session.show, key)

    @router.post("/study/participants/{key}/replies")
    async def take_reply(key: Key, reply: ReplyRequest) -> ParticipantScreens:
        """Reply to the next screen. A reply may be sent again, but cannot be changed."""
        return await asyncio.to_thread(session.take, key, reply)

    return router

"""The file of a user study: what people are shown and asked, and in which order."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationError, model_validator

from paretofoil.agents.store import read_bytes
from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import MAX_TEXT, brief, is_line, read_document
from paretofoil.web.models import Command, StrictModel, first_problem

SCHEMA = "paretofoil/user-study/1"
MAX_ITEMS = 100
"""Largest number of tasks, conditions, ratings or paragraphs."""
END: Literal["end"] = "end"
"""The name of the last screen, with the ratings of the whole study."""
Part = Literal["counterfactuals", "proofs", "influence", "regions"]
"""What a condition may show beside the agent's episode."""


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", name) or name == END:
        expected = f"a name of at most 63 lower-case letters, digits and hyphens, other than {END!r}"
        raise InvalidInput.expected(expected, repr(name))
    return name


def _check_line(line: str) -> str:
    if not line.strip() or not is_line(line):
        raise InvalidInput.expected(f"one line of 1 to {MAX_TEXT:,} printable characters", brief(line))
    return line


def _check_unique(items: Sequence[Any]) -> Sequence[Any]:
    names = [item.name for item in items]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput.expected("a different name for each item", f"{names.count(name)} items named {name!r}")
    return items


Name = Annotated[str, AfterValidator(_check_name)]
Line = Annotated[str, AfterValidator(_check_line)]
Paragraphs = Annotated[tuple[Line, ...], Field(max_length=MAX_ITEMS)]
Step = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
Seed = Annotated[int, Field(strict=True, ge=0, lt=2**32)]
Unique = AfterValidator(_check_unique)
Parameter = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$")]
Code = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]


class Condition(StrictModel):
    """What a group of participants is shown."""

    name: Name
    shows: tuple[Part, ...] = ()
    instead: dict[str, str] = Field(default={})
    """Agents that replace others in tasks about one agent, such as an under-trained twin."""

    @model_validator(mode="after")
    def _check_proofs(self) -> "Condition":
        if "proofs" in self.shows and "counterfactuals" not in self.shows:
            expected = "'counterfactuals' in `shows`, because proofs are about them"
            raise InvalidInput.expected(expected, f"shows={list(self.shows)}")
        return self

    def agent(self, name: str) -> str:
        """Return the agent that this condition shows in a task about the named agent."""
        return self.instead.get(name, name)


class Rating(StrictModel):
    """A statement or question with a scale of points."""

    name: Name
    text: Line
    low: Line
    high: Line
    points: Annotated[int, Field(strict=True, ge=2, le=11)] = 5
    asked: Literal["task", "end"] = "task"
    """Whether it is asked with every task, or once at the end."""


class BaseTask(StrictModel):
    """The fields of all tasks about agents."""

    name: Name
    text: Line
    command: Command
    explained: Annotated[tuple[Step, ...], Field(max_length=MAX_ITEMS)] = ()
    """Steps whose counterfactuals are shown, each for the most probable foil."""
    seed: Seed = 0
    """Seed of the environment."""


class OneAgentTask(BaseTask):
    """A task about a step of one agent. Its episode is watched up to that step."""

    agent: str
    step: Step

    @model_validator(mode="before")
    @classmethod
    def _read_earlier_name(cls, values: Any) -> Any:
        """Read `time`, the name of `step` in earlier versions."""
        if isinstance(values, dict) and "time" in values and "step" not in values:
            return {"step" if name == "time" else name: value for name, value in values.items()}
        return values

    @property
    def agents(self) -> tuple[str, ...]:
        return (self.agent,)

    @property
    def watched(self) -> list[float]:
        """The command of the episode that is watched."""
        return self.command


class PredictTask(OneAgentTask):
    """Predict what the agent does."""

    kind: Literal["predict"]

    @model_validator(mode="after")
    def _check_explained(self) -> "PredictTask":
        if any(step >= self.step for step in self.explained):
            expected = f"explained steps before step {self.step}, which is to be predicted"
            raise InvalidInput.expected(expected, list(self.explained))
        return self


class SteerTask(OneAgentTask):
    """Change the command so that the agent takes the foil."""

    kind: Literal["steer"]
    foil: str


class ChooseTask(BaseTask):
    """Choose the agent that will do better under the command, after watching both under another command."""

    kind: Literal["choose"]
    agents: Annotated[tuple[str, ...], Field(min_length=2, max_length=2)]
    watched: Command

    @model_validator(mode="after")
    def _check_agents(self) -> "ChooseTask":
        if len(set(self.agents)) != 2:
            raise InvalidInput.expected("two different agents", list(self.agents))
        return self


class CheckTask(StrictModel):
    """An attention check: the text says which option to choose."""

    kind: Literal["check"]
    name: Name
    text: Line
    options: Annotated[tuple[Line, ...], Field(min_length=2, max_length=11)]
    correct: Line

    @model_validator(mode="after")
    def _check_correct(self) -> "CheckTask":
        if self.correct not in self.options:
            raise InvalidInput.expected(f"a correct option among {', '.join(self.options)}", repr(self.correct))
        return self

    @property
    def agents(self) -> tuple[str, ...]:
        return ()


AgentTask = PredictTask | SteerTask | ChooseTask
Task = Annotated[AgentTask | CheckTask, Field(discriminator="kind")]


class Recruitment(StrictModel):
    """A service that sends participants by a link with their ids, and pays those who return with a code."""

    parameters: Annotated[tuple[Parameter, ...], Field(min_length=1, max_length=10)] = (
        "PROLIFIC_PID",
        "STUDY_ID",
        "SESSION_ID",
    )
    """Parameters of the link whose values are stored. The first one identifies the participant."""
    code: Code
    """The code that is shown to a participant after the last screen."""
    failed_code: Code | None = None
    """The code for participants who failed an attention check; if None, `code`."""
    link: Annotated[Line, Field(pattern=r"^https://[^{}]*\{code\}[^{}]*$")] | None = None
    """The address to which participants return; {code} stands for the code."""


class Analysis(StrictModel):
    """The rules by which the report evaluates the replies. A preregistration states them."""

    baseline: Name | None = None
    """The condition with which each other one is compared; if None, the first one."""
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    """Significance level of the tests, after Holm's correction for the number of comparisons."""
    min_seconds: Annotated[float, Field(ge=0, le=3600)] = 2.0
    """Participants whose median time per task is shorter are excluded."""
    max_failed_checks: Annotated[int, Field(strict=True, ge=0, le=MAX_ITEMS)] = 0
    """Participants who failed more attention checks are excluded."""


class UserStudy(StrictModel):
    """The content of a user study's file."""

    schema_name: Literal["paretofoil/user-study/1"] = Field(alias="schema")
    title: Line
    consent: Paragraphs
    conditions: Annotated[tuple[Condition, ...], Field(min_length=1, max_length=MAX_ITEMS), Unique]
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=MAX_ITEMS), Unique]
    ratings: Annotated[tuple[Rating, ...], Field(max_length=MAX_ITEMS), Unique] = ()
    introduction: Paragraphs = ()
    thanks: Paragraphs = ("Thank you for taking part.",)
    seed: Seed = 0
    recruitment: Recruitment | None = None
    analysis: Analysis = Analysis()

    @model_validator(mode="after")
    def _check_study(self) -> "UserStudy":
        names = [condition.name for condition in self.conditions]
        if self.analysis.baseline not in (None, *names):
            raise InvalidInput.expected(f"a baseline among {', '.join(names)}", repr(self.analysis.baseline))
        if all(isinstance(task, CheckTask) for task in self.tasks):
            raise InvalidInput.expected("a task about an agent", "attention checks only")
        return self

    @property
    def baseline(self) -> Condition:
        """The condition with which the others are compared."""
        return next(c for c in self.conditions if self.analysis.baseline in (None, c.name))

    def condition_of(self, number: int) -> Condition:
        """Return the condition of a participant (from 0). Each block of participants has each condition once."""
        block, index = divmod(number, len(self.conditions))
        return self.conditions[self._order(len(self.conditions), 0, block)[index]]

    def tasks_of(self, number: int) -> list[Task]:
        """Return all tasks in the order of a participant."""
        return [self.tasks[i] for i in self._order(len(self.tasks), 1, number)]

    def sides_of(self, number: int, task: Task) -> list[int]:
        """Return the order in which a participant sees the agents of a task."""
        return self._order(len(task.agents), 2, number, self.tasks.index(task))

    def ratings_of(self, number: int, asked: str) -> list[Rating]:
        """Return the ratings of each task in the file's order, or those at the end in the order of a participant."""
        ratings = [rating for rating in self.ratings if rating.asked == asked]
        return [ratings[i] for i in self._order(len(ratings), 3, number)] if asked == END else ratings

    def _order(self, size: int, *purpose: int) -> list[int]:
        """Return a random order that depends only on the seed and the purpose."""
        return [int(i) for i in np.random.default_rng([self.seed, *purpose]).permutation(size)]


def read_user_study(path: Path) -> UserStudy:
    """Read a user study's file."""
    content = read_bytes(path, "a user study's file")
    try:
        return parse_user_study(read_document(content, "a user study"))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None


def parse_user_study(document: Any) -> UserStudy:
    """Return the user study that a JSON document describes."""
    try:
        return UserStudy.model_validate(document)
    except ValidationError as error:
        raise InvalidInput(first_problem(error.errors())) from None

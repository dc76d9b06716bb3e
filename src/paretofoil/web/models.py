"""The JSON of requests and responses as pydantic models, from which the OpenAPI document is derived.

The models check types and sizes. The library checks everything else.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, model_validator

from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.core.json import MAX_NUMBER, brief
from paretofoil.core.options import DEFAULTS, Options, describe_options
from paretofoil.web.state_policy import MAX_COMMAND

MAX_SECONDS = 60.0
"""Largest time limit of a search for one question."""

# Long lists fail at their first error, because a hundred thousand errors would take a second.
Number = Annotated[FiniteFloat, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Command = Annotated[list[Number], Field(min_length=1, max_length=MAX_COMMAND, examples=[[8.0, -8.0]])]
State = Annotated[list[Number], Field(min_length=1, max_length=100_000, fail_fast=True)]
AgentName = Annotated[str, Field(min_length=1, max_length=200, examples=["deep-sea-treasure"])]
Action = Annotated[int, Field(ge=0, le=10_000)]
Seed = Annotated[int, Field(ge=0, lt=2**32, description="Seed of the environment and of the search.")]
Step = Annotated[int, Field(ge=0, le=1_000_000, examples=[5], description="Step of the episode; the first is 0.")]
Steps = Annotated[list[Step] | None, Field(min_length=1, max_length=1000, description="These steps only; null: all.")]
SearchName = Annotated[str, Field(max_length=100)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, description="Time limit of each search, in seconds.")]


class StrictModel(BaseModel):
    """A model that refuses unknown fields and suggests the nearest known one."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, values: Any) -> Any:
        return _refuse_unknown(values, [field.alias or name for name, field in cls.model_fields.items()])


def _refuse_unknown(values: Any, names: Sequence[str]) -> Any:
    for name in values if isinstance(values, Mapping) else ():
        if name not in names:
            raise InvalidInput.expected(f"fields among {', '.join(names)}", did_you_mean(str(name)[:80], names))
    return values


KnownOptions = Annotated[
    Options, BeforeValidator(lambda values: _refuse_unknown(values, [info.name for info in describe_options()]))
]

_EXPECTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a finite number"),
    **dict.fromkeys(("list_type", "tuple_type", "sequence_str", "is_instance_of"), "a list"),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type", "dataclass_type", "mapping_type"), "an object"
    ),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "literal_error": "{expected}",
    "union_tag_invalid": "{expected_tags} as {discriminator}",
    "union_tag_not_found": "an object with {discriminator}",
    "missing": "a value",
}
"""What was expected, by pydantic's type of error."""


def first_problem(errors: Sequence[Any]) -> str:
    """Return the first of pydantic's errors as one sentence that says where it is."""
    first = errors[0]
    where = ".".join(map(str, first["loc"]))
    prefix = f"{where}: " if where else ""
    if first["type"] == "value_error":
        return f"{prefix}{first['ctx']['error']}"
    expected = _EXPECTED.get(first["type"], f"a valid value ({first['msg']})").format(**first.get("ctx", {}))
    return f"{prefix}expected {expected}, got {'none' if first['type'] == 'missing' else brief(first.get('input'))}"


class EpisodeRequest(StrictModel):
    """The greedy episode of an agent under a command."""

    agent: AgentName
    command: Command
    seed: Seed = 0


class FoldedRequest(StrictModel):
    """A state at which the page needs the policy as a network of the command."""

    agent: AgentName
    state: State


class ProbabilitiesRequest(StrictModel):
    """A state and commands for which the page needs the probabilities of the actions."""

    agent: AgentName
    state: State
    valid_actions: Annotated[list[Action], Field(min_length=1, max_length=10_000, fail_fast=True)]
    commands: Annotated[list[Command], Field(min_length=1, max_length=10_000, fail_fast=True)]


class ConsequenceRequest(EpisodeRequest):
    """Another command, issued at a step of an episode."""

    step: Step
    issued: Command


class AnswerRequest(EpisodeRequest):
    """A question about a step of an episode: why does the agent not choose the foil, or not reach an outcome?"""

    step: Step
    foil: Annotated[int | str | None, Field(examples=["down"], description="Name or number of the action.")] = None
    outcome: Annotated[
        str | None,
        Field(max_length=500, examples=["treasure >= 50"], description="Outcome of the episode, instead of `foil`."),
    ] = None
    share: Annotated[
        float, Field(gt=0, le=1, description="Share of runs that must meet the outcome, in stochastic environments.")
    ] = 0.5
    search: SearchName = "auto"
    options: KnownOptions = DEFAULTS
    seconds: Seconds = 10.0
    queries: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class FlipMapRequest(EpisodeRequest):
    """Questions about every step of an episode and every foil."""

    steps: Steps = None
    search: SearchName = "auto"
    options: KnownOptions = DEFAULTS
    seconds: Seconds = 10.0


class InfluenceRequest(EpisodeRequest):
    """A question how much the command matters at the steps of an episode."""

    steps: Steps = None
    seconds: Seconds = 1.0


class AtlasRequest(StrictModel):
    """A question about the outcome of every command."""

    agent: AgentName
    seconds: Seconds = 3.0


class Upload(StrictModel):
    """An agent in the library's format."""

    name: Annotated[str, Field(max_length=200, examples=["mine"])]
    description: dict[str, Any] = Field(description="The content of agent.json.")
    weights: str = Field(description="The content of weights.safetensors, in base64.")


class ErrorMessage(BaseModel):
    """Why a request was refused."""

    error: str = Field(examples=["expected the command to have 2 numbers, got 3: [1.0, 2.0, 3.0]"])


class Health(BaseModel):
    """Whether the server works."""

    status: Literal["ok", "degraded", "failing"] = Field(
        description="degraded: some workers cannot run jobs; failing (status 503): no jobs or no quick tasks can run."
    )
    problems: list[str] = Field(description="The problem of each worker that cannot run tasks.")
    version: str
    waiting: int = Field(description="Jobs that wait for a worker.")
    running: int


class JobStatus(BaseModel):
    """A job with its state and its result."""

    job: str = Field(description="The key of the job. Equal questions have one key.")
    ticket: str | None = Field(description="The ticket that cancels the job; only in the response to the question.")
    kind: Literal["answer", "flip-map", "influence", "atlas"]
    state: Literal["waiting", "running", "done", "cancelled", "failed"]
    progress: float | None = Field(description="From 0 to 1; null if it is unknown.")
    partial: list[Any] = Field(description="The results so far.")
    result: dict[str, Any] | None
    error: str | None

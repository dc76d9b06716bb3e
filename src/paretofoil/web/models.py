"""What requests may hold, field by field; OpenAPI is made from it. What it all means is checked by the library."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from paretofoil.core.document import MAX_NUMBER
from paretofoil.core.policy import Activation

MAX_COMMAND = 64
"""Numbers of a command."""
MAX_ROWS = 10_000
"""Commands that are asked about at once."""
MAX_SECONDS = 60.0
"""Of a search, for each question."""
USUAL_SECONDS = 10.0

Number = Annotated[FiniteFloat, Field(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Command = Annotated[list[Number], Field(min_length=1, max_length=MAX_COMMAND, examples=[[8.0, -8.0]])]
State = Annotated[list[Number], Field(min_length=1, max_length=100_000)]
AgentName = Annotated[str, Field(min_length=1, max_length=200, examples=["deep-sea-treasure"])]
Seed = Annotated[int, Field(ge=0, lt=2**32, description="Of chance in the environment, and of the search.")]
Time = Annotated[int, Field(ge=0, le=1_000_000, examples=[5], description="The moment of the episode, from 0 on.")]
Seconds = Annotated[float, Field(gt=0, le=MAX_SECONDS, description="What the search of each question may take.")]


Times = Annotated[
    list[Time] | None, Field(min_length=1, max_length=1000, description="These moments only; all if left out.")
]


class Asked(BaseModel):
    """What is asked has these fields and no others: a misspelt one is told, not ignored."""

    model_config = ConfigDict(extra="forbid", strict=False)


class EpisodeAsked(Asked):
    """An agent's greedy episode under a command."""

    agent: AgentName
    command: Command
    seed: Seed = 0


class FoldedAsked(Asked):
    """The policy at a state."""

    agent: AgentName
    state: State


class ProbabilitiesAsked(Asked):
    """What the agent would do at a state, under many commands."""

    agent: AgentName
    state: State
    valid_actions: list[Annotated[int, Field(ge=0, le=10_000)]] = Field(min_length=1, max_length=10_000)
    commands: list[Command] = Field(min_length=1, max_length=MAX_ROWS)


class ConsequenceAsked(EpisodeAsked):
    """What happens if another command is issued at a moment of an episode."""

    time: Time
    issued: Command


class AnswerAsked(EpisodeAsked):
    """Why not the foil, at a moment of an episode? The options are those of `explain_decision`."""

    time: Time
    foil: Annotated[int | str, Field(examples=["down"], description="By name or number.")]
    search: Annotated[str, Field(max_length=100)] = "auto"
    kappa: Annotated[FiniteFloat, Field(ge=0, le=1e6)] | None = None
    norm: Literal["l1", "l2", "linf"] = "l2"
    box: Literal["reachable", "paper"] = "reachable"
    keep: list[Annotated[str, Field(max_length=200)]] = Field(default=[], max_length=MAX_COMMAND)
    ranges: dict[str, tuple[Number, Number]] = Field(default={}, max_length=MAX_COMMAND)
    sparse: bool = False
    k: Annotated[int, Field(ge=1, le=10)] = 1
    min_change: Annotated[FiniteFloat, Field(ge=0, le=1)] = 0.0
    seconds: Seconds = USUAL_SECONDS
    queries: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class FlipMapAsked(EpisodeAsked):
    """Every moment of an episode and every foil."""

    times: Times = None
    search: Annotated[str, Field(max_length=100)] = "auto"
    seconds: Seconds = USUAL_SECONDS


class InfluenceAsked(EpisodeAsked):
    """How much the command matters at the moments of an episode."""

    times: Times = None
    seconds: Seconds = 1.0


class Upload(Asked):
    """An agent in the library's own format: its `agent.json`, and its `weights.safetensors` in base64."""

    name: Annotated[str, Field(max_length=200, examples=["mine"])]
    description: dict[str, Any]
    weights: str


class Refused(BaseModel):
    """Why something was refused."""

    error: str = Field(examples=["expected the command to have 2 numbers, got 3: [1.0, 2.0, 3.0]"])


class Health(BaseModel):
    status: Literal["well"]
    version: str
    waiting: int = Field(description="Jobs that wait for a worker.")
    running: int


class ObjectiveShown(BaseModel):
    name: str
    unit: str
    cost: bool
    probability: bool
    natural_low: float | None
    natural_high: float | None


class AgentShown(BaseModel):
    """An agent as it is listed."""

    name: str
    title: str
    environment: str
    about: str
    objectives: list[ObjectiveShown]
    actions: list[str]
    front_size: int
    early: bool = Field(description="Whether it is an under-trained twin.")
    uploaded: bool
    beside: list[str] = Field(description="Other agents of the same environment.")
    picture: str = Field(description="Where its world is seen.")


class SpaceShown(BaseModel):
    """The commands that an agent understands."""

    kind: Literal["box", "simplex"]
    low: list[float]
    high: list[float]
    scale: list[float]


class AgentWhole(AgentShown):
    """All that is known of an agent."""

    phrases: list[str]
    space: SpaceShown
    front: list[list[float]]
    front_texts: list[str]
    achieved: list[list[float]] | None
    reached: list[bool] | None
    stochastic: bool
    step_limit: int
    horizon: bool
    values: bool = Field(description="Whether it tells values instead of probabilities.")
    paper_box: bool = Field(description="Whether questions can be asked in the paper's box.")
    provenance: dict[str, Any]
    computable: bool = Field(description="Whether the page can compute its policy (POST /api/folded).")


class LayerShown(BaseModel):
    outputs: int
    inputs: int
    weight: str = Field(description="(outputs, inputs) row by row: float32, little-endian, base64.")
    bias: str
    activation: Activation | Literal["none"]


class FoldedShown(BaseModel):
    """logits = the layers, one behind the other, of the command."""

    layers: list[LayerShown]


class SearchShown(BaseModel):
    name: str
    about: str
    needs: Literal["queries", "gradients", "inside"]
    proves: bool


class JobShown(BaseModel):
    """Work that takes time, and what came of it."""

    job: str = Field(description="The same question has the same one.")
    kind: Literal["answer", "flip-map", "influence"]
    state: Literal["waiting", "running", "done", "cancelled", "failed"]
    progress: float | None = Field(description="From 0 to 1, where it is known.")
    partial: list[Any] = Field(description="What is known so far.")
    result: dict[str, Any] | None
    error: str | None

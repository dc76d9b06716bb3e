"""Episodes and their pictures, computed once and cached."""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from PIL import Image

from paretofoil.agents.agent import Agent, rollout, rollout_from
from paretofoil.core.decision import Decision, Episode
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.pictures import picture_of
from paretofoil.web.cache import SizedCache

EPISODES_BYTES = 64 << 20
"""Memory limit of the cached episodes."""
DECISION_BYTES = 2000
"""Memory of a decision with the snapshot of the environment, without its state."""
PICTURES_BYTES = 32 << 20
"""Memory limit of the cached pictures."""


@dataclass(frozen=True)
class EpisodeSpec:
    """What determines an episode: agent, command, seed, and optionally another command issued at a later step."""

    agent: str
    """The agent's name on this server."""
    command: tuple[float, ...]
    seed: int = 0
    since: int | None = None
    """The step at which `issued` replaces the command; None if no other command is issued."""
    issued: tuple[float, ...] | None = None

    @property
    def original(self) -> "EpisodeSpec":
        """The episode without the other command."""
        return EpisodeSpec(self.agent, self.command, self.seed)

    def picture_link(self, step: int) -> str:
        fields: dict[str, Any] = {"agent": self.agent, "command": comma_separated(self.command), "seed": self.seed}
        if self.since is not None and self.issued is not None:
            fields |= {"since": self.since, "issued": comma_separated(self.issued)}
        return f"/api/pictures?{urlencode({**fields, 'step': step}, safe=',')}"


def comma_separated(command: Iterable[float]) -> str:
    return ",".join(map(repr, command))


class EpisodeCache:
    """Episodes and PNG pictures by `EpisodeSpec`. Use it from one thread: environments draw with global state."""

    def __init__(self) -> None:
        self._episodes: SizedCache[Episode] = SizedCache(EPISODES_BYTES)
        self._pictures: SizedCache[bytes] = SizedCache(PICTURES_BYTES)

    def episode(self, agent: Agent, spec: EpisodeSpec) -> Episode:
        """Return the episode, or the rest of it from `spec.since` on."""
        episode = self._episodes.get(str(spec))
        if episode is None:
            if spec.since is None or spec.issued is None:
                episode = rollout(agent, spec.command, seed=spec.seed)
            else:
                decision = self.decision(agent, spec.original, spec.since)
                episode = rollout_from(agent, decision, spec.issued, seed=spec.seed)
            self._episodes.put(str(spec), episode, len(episode) * (DECISION_BYTES + episode[0].state.nbytes))
        return episode

    def decision(self, agent: Agent, spec: EpisodeSpec, step: int) -> Decision:
        episode = self.episode(agent, spec)
        return episode[_index(episode, step, last=len(episode) - 1)]

    def start_picture(self, agent: Agent) -> bytes:
        """Return the picture of the agent's environment before the first step."""
        return self._picture(f"start of {agent.environment.name}", lambda: picture_of(agent.environment))

    def picture(self, agent: Agent, spec: EpisodeSpec, step: int) -> bytes:
        """Return the picture of a step. The step after the last decision is the end of the episode."""

        def draw() -> np.ndarray:
            episode = self.episode(agent, spec)
            index = _index(episode, step, last=len(episode))
            snapshot: Any = episode[index].snapshot if index < len(episode) else episode.end
            if snapshot is None and index:  # without a snapshot, the start is drawn
                expected = "an environment that can be copied, because this picture is of a later step"
                raise InvalidInput.expected(expected, agent.environment.name)
            return picture_of(agent.environment, snapshot)

        return self._picture(f"{step} of {spec}", draw)

    def _picture(self, key: str, draw: Callable[[], np.ndarray]) -> bytes:
        png = self._pictures.get(key)
        if png is None:
            file = io.BytesIO()
            Image.fromarray(draw()).save(file, format="png", compress_level=6)
            png = file.getvalue()
            self._pictures.put(key, png, len(png))
        return png


def _index(episode: Episode, step: int, last: int) -> int:
    first = episode[0].step
    if not first <= step <= first + last:
        raise InvalidInput.expected(f"a step from {first} to {first + last} of this episode", step)
    return step - first

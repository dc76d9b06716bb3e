"""Environments as people type them: from the catalogue, or any that Gymnasium knows, with names for what it counts."""

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paretofoil.cli.options import allow_typed, complete_environment
from paretofoil.core.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from paretofoil.envs import CatalogueEntry

_ENVIRONMENT = "A name from `paretofoil envs`, or any Gymnasium id; my_module:my-env-v0 imports the module first."
_OBJECTIVES = (
    "For an environment of your own: names of its objectives, with a minus sign before costs, such as ore,-fuel; "
    "its attribute objective_names, or numbers, if left out."
)
_ACTIONS = "The same for its actions, such as dig,left,right; its attribute action_names, or numbers, if left out."
_MAX_STEPS = "The same for the step limit of an episode; that of its registration if left out."

EnvironmentName = Annotated[str, typer.Argument(help=_ENVIRONMENT, autocompletion=complete_environment)]
Objectives = Annotated[str | None, typer.Option(help=_OBJECTIVES)]
Actions = Annotated[str | None, typer.Option(help=_ACTIONS)]
MaxSteps = Annotated[int | None, typer.Option(min=1, help=_MAX_STEPS)]


def find_environment(
    environment: str, objectives: str | None = None, actions: str | None = None, max_steps: int | None = None
) -> "CatalogueEntry":
    """A catalogued environment, or any that Gymnasium knows; "module:id" imports that module first."""
    from paretofoil import envs

    if environment in envs.names():
        if (objectives, actions, max_steps) != (None, None, None):
            what = "--objectives, --actions and --max-steps for an environment of your own only"
            raise InvalidInput.expected(what, f"{environment}, which the catalogue describes")
        return envs.entry(environment)
    _check_registered(environment, max_steps)
    entry = envs.describe(environment, max_steps=max_steps)
    attributes = _attributes(entry)
    named = _names(objectives) or attributes["objective_names"] or [o.name for o in entry.objectives]
    called = _names(actions) or attributes["action_names"] or list(entry.actions)
    _check_count("--objectives", named, len(entry.objectives))
    _check_count("--actions", called, len(entry.actions))
    return replace(entry, objectives=tuple(map(_objective, named)), actions=tuple(called))


def _check_registered(environment: str, max_steps: int | None) -> None:
    """Say what to type where Gymnasium does not know the environment, or when its episodes end."""
    import gymnasium
    import mo_gymnasium  # noqa: F401 (registers its environments)

    from paretofoil import envs

    module, _, gym_id = environment.rpartition(":")
    if module:
        allow_typed([module])
        try:
            import_module(module)
        except ImportError as error:
            raise InvalidInput.expected(f"the module {module} to be imported", f"an error ({error})") from None
    if gym_id not in gymnasium.registry:
        hint = "" if module else f" (my_module:{gym_id} if your module registers it)"
        what = f"an environment of `paretofoil envs`, or the id of one that Gymnasium knows{hint}"
        raise InvalidInput.expected(what, did_you_mean(gym_id, envs.names()))
    if max_steps is None and gymnasium.registry[gym_id].max_episode_steps is None:
        raise InvalidInput.expected(f"--max-steps, because {environment} has no step limit of its own", "none")


def _attributes(entry: "CatalogueEntry") -> dict[str, list[str]]:
    """The names that the environment itself gives, where it does."""
    from paretofoil.envs.catalogue import make_raw

    env = make_raw(entry)
    found = {key: list(getattr(env.unwrapped, key, None) or ()) for key in ("objective_names", "action_names")}
    env.close()
    return found


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def _objective(name: str) -> Any:
    """ "-fuel" is a cost called fuel."""
    from paretofoil.core.command import Objective

    return Objective(name.removeprefix("-").strip(), cost=name.startswith("-"))


def _check_count(option: str, names: list[str], count: int) -> None:
    plain = [name.removeprefix("-").strip() for name in names]
    if len(names) != count or len(set(plain)) != count or not all(plain):
        raise InvalidInput.expected(f"{option} with {count} different names", ", ".join(names))

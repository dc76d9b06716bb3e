"""What may be imported: making the environment "module:id" imports the module, which then runs.

Such a name may stand in a file that somebody else wrote. It is followed only where the catalogue names the module, the
user has imported it already, or has allowed it by its name.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from paretofoil.core.errors import InvalidInput

_NAMED = re.compile(r"([^:\s/\\]+):[^:\\]+")
"""module:id, but not a path such as C:\\maps."""
_allowed: set[str] = {"paretofoil"}


def allow(module: str) -> None:
    """Allow environments of that module to be made, which imports it; `--allow-import` on the command line."""
    if not all(part.isidentifier() for part in str(module).split(".")):
        raise InvalidInput.expected("the name of a Python module, such as my_module", repr(module))
    _allowed.add(module)


def allow_module_of(gym_id: str) -> None:
    """Allow what somebody has put into the catalogue, or has typed."""
    module, colon, _ = gym_id.partition(":")
    if colon:
        allow(module)


def check_allowed(gym_id: str, arguments: Mapping[str, Any]) -> None:
    """Refuse an environment that would import a module without permission.

    Its arguments are looked at as well: some environments (Shimmy's) are told by them which other one to make.
    """
    module, colon, rest = gym_id.partition(":")
    if colon and (not module or ":" in rest):
        raise InvalidInput.expected("a Gymnasium id, or module:id", repr(gym_id))
    named = [match[1] for match in map(_NAMED.fullmatch, _texts(arguments)) if match]
    for name in [module, *named] if colon else named:
        if name not in _allowed and name not in sys.modules:
            raise InvalidInput(
                f"expected an environment of a module that is allowed, got {gym_id}, for which {name} would be "
                f'imported, and run. If you trust it: --allow-import {name}, or pf.allow("{name}") in Python'
            )


def _texts(value: Any) -> Iterator[str]:
    """Every text in nested values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)

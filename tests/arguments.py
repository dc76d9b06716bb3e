"""Arguments of `explain` as tests write them: options beside the other arguments."""

from typing import Any

from paretofoil.core.options import Options, describe_options


def arguments(**given: Any) -> dict[str, Any]:
    """Return the arguments with the options among them as one `options`."""
    names = [info.name for info in describe_options() if info.name in given]
    options = Options(**{name: given.pop(name) for name in names})
    return {**given, "options": options}

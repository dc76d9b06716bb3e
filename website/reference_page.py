"""The page of the library: every public name, under the folder that it lives in."""

import importlib

import paretofoil

FOLDERS = {
    "explanation": "Ask",
    "core": "Questions, answers and what they are made of",
    "agents": "Agents and policies",
    "search": "Searches",
    "proof": "Proofs",
    "show": "Figures",
    "envs": "Environments",
}
"""The order of the page, from what is used most; a folder that is not named here comes last, under its own name."""


def folder_of(name: str) -> str:
    """The folder of the package that a public name comes from."""
    return str(getattr(paretofoil, name).__module__).split(".")[1]


def public_names() -> dict[str, list[str]]:
    """Every public name, by its folder, in the order of the page: functions first, then what they take and give."""
    names = [name for name in paretofoil.__all__ if name != "__version__"]
    names.sort(key=lambda name: isinstance(getattr(paretofoil, name), type))
    folders = [*FOLDERS, *sorted({folder_of(name) for name in names} - set(FOLDERS))]
    return {folder: [name for name in names if folder_of(name) == folder] for folder in folders}


def reference_page() -> str:
    """The page, as Markdown for mkdocstrings, which reads the docstrings."""
    parts = ["# The library\n\nEvery name of `import paretofoil as pf`, made from its docstring."]
    for folder, names in public_names().items():
        if names:
            about = str(importlib.import_module(f"paretofoil.{folder}").__doc__).split("\n\n")[0]
            parts.append(f"## {FOLDERS.get(folder, folder.title())}\n\n{about}")
            parts += [f"::: paretofoil.{name}" for name in names]
    return "\n\n".join(parts) + "\n"

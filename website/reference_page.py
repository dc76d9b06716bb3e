"""Generate the library reference: every public name, grouped by folder."""

import importlib

import paretofoil

FOLDERS = {
    "explanation": "Explain",
    "core": "Questions, answers and their parts",
    "agents": "Agents and policies",
    "search": "Searches",
    "proof": "Proofs",
    "show": "Figures",
    "envs": "Environments",
}
"""Folders in the order of the page; other folders come last, under their own name."""


MORE = {
    "core": ["answer.Attainable", "influence.InfluenceProfile", "options.Stop"],
    "agents": ["agent.rollouts"],
    "explanation": ["attainable.consequence"],
    "search": ["Boundary", "CFZoo", "Exact", "NearestFront", "Search", "Finding"],
    "show": ["landscape.Landscape"],
}
"""Names of each folder that are imported from their module."""


def folder_of(name: str) -> str:
    """Return the folder that defines a public name."""
    return str(getattr(paretofoil, name).__module__).split(".")[1]


def public_names() -> dict[str, list[str]]:
    """Return the public names of each folder, functions before classes."""
    names = [name for name in paretofoil.__all__ if name != "__version__"]
    names.sort(key=lambda name: isinstance(getattr(paretofoil, name), type))
    folders = [*FOLDERS, *sorted({folder_of(name) for name in names} - set(FOLDERS))]
    return {folder: [name for name in names if folder_of(name) == folder] for folder in folders}


def reference_page() -> str:
    """Return the page as Markdown for mkdocstrings."""
    parts = [
        "# Python library\n\nThis page documents every name of `import paretofoil as pf`. It also documents some names "
        "of the modules, such as `paretofoil.search.Exact`."
    ]
    for folder, names in public_names().items():
        if names:
            about = str(importlib.import_module(f"paretofoil.{folder}").__doc__).split("\n\n")[0]
            parts.append(f"## {FOLDERS.get(folder, folder.title())}\n\n{about}")
            parts += [f"::: paretofoil.{name}" for name in names]
            parts += [f"::: paretofoil.{folder}.{name}" for name in MORE.get(folder, [])]
    return "\n\n".join(parts) + "\n"

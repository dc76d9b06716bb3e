"""The values that every other layer uses, and the version of the package."""

__version__ = "0.1.0"


def installed_versions(*packages: str) -> dict[str, str]:
    """Return the versions of this package, of Python, and of those of the given packages that are installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"paretofoil": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions

"""The values that every other layer uses, and the version of the package."""

__version__ = "0.1.0"

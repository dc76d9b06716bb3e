"""Searches for the closest command: one module per method, with the contract of `core/search.py`."""

from paretofoil.core import lazy_names

__getattr__, __all__ = lazy_names(__name__, __file__)

"""Signatures as help() shows them: names and defaults; types are in the docstrings, in words.

Spelt out, the annotations of one function take more than a thousand characters. Type checkers
read the source; ``typing.get_type_hints`` finds nothing.
"""

import inspect
from types import ModuleType
from typing import Any


def shorten(module: ModuleType) -> None:
    """Drop the annotations of a module's public functions and classes, once they are made."""
    for name, item in vars(module).items():
        if not name.startswith("_") and getattr(item, "__module__", "").startswith("nuvmatch"):
            for owner in item.__mro__ if inspect.isclass(item) else ():
                if owner.__module__.startswith("nuvmatch"):
                    for method in vars(owner).values():
                        _drop_annotations(getattr(method, "__func__", method))  # if of the class
            _drop_annotations(item)


def _drop_annotations(item: Any) -> None:
    if inspect.isfunction(item):
        item.__annotations__ = {}

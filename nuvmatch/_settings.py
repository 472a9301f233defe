"""What measures and families of tones share: they are written as the Python that makes them."""

import math
from dataclasses import fields
from typing import Any


class Settings:
    """A frozen dataclass whose repr has all settings, and whose str those that are no defaults."""

    _prefix = ""  # of its name, where `nuvmatch` alone is at hand

    def __repr__(self) -> str:
        return self._write(repr, all_of_them=True)

    def __str__(self) -> str:
        return self._write(str, all_of_them=False)

    def _write(self, write: Any, *, all_of_them: bool) -> str:
        shown = [f for f in fields(self) if f.repr]  # type: ignore[arg-type]  # of a dataclass
        settings = [(f, getattr(self, f.name)) for f in shown]
        written = [
            f"{f.name}={_written(value, write)}"
            for f, value in settings
            if all_of_them or value != f.default
        ]
        return f"{self._prefix}{type(self).__name__}({', '.join(written)})"

    def _set(self, **settings: Any) -> None:
        """Put checked settings in place of those given."""
        for name, value in settings.items():
            object.__setattr__(self, name, value)


def _written(value: Any, write: Any) -> str:
    """Write a setting; infinity has no literal."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tuple):
        parts = [_written(part, write) for part in value]
        return f"({', '.join(parts)}{',' * (len(value) == 1)})"
    return repr(value) if isinstance(value, str) else str(write(value))

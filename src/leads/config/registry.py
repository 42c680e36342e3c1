"""Parts by name: those of the package, imported when one is needed, and anybody's as `module:name`."""

from importlib import import_module
from operator import attrgetter
from typing import Any

from leads.errors import UserError


class CannotImport(UserError):
    """A part from outside the package that is not there, or not any more."""


class Registry(dict[str, str]):
    """Parts of one kind: name -> `module:attribute`. A new part is one line here."""

    def __init__(self, kind: str, needs: tuple[str, ...], parts: dict[str, str]):
        """`needs` are the attributes that every part has."""
        super().__init__(parts)
        self.kind, self.needs = kind, needs

    def find(self, part: Any) -> Any:
        """The class that a name or `module:name` stands for; a class stands for itself."""
        if isinstance(part, str) and part not in self and ":" not in part:
            raise UserError(f"{self.kind}: {part!r} is unknown; allowed are {', '.join(self)} and MODULE:NAME")
        found = imported(self.kind, self.get(part, part)) if isinstance(part, str) else part
        lacks = [name for name in ("Config", *self.needs) if not hasattr(found, name)]
        if lacks or not isinstance(found, type):
            what = f"it has no {lacks[0]}" if lacks else "it is not a class"
            raise UserError(f"{self.kind}: {part!r} cannot be used: {what}")
        return found

    def name_of(self, part: Any) -> str:
        """Name under which the part can be found again: its own, or `module:name`."""
        found = self.find(part)
        where = f"{found.__module__}:{found.__qualname__}"
        outside = part if isinstance(part, str) else where
        return next((name for name, known in self.items() if known == where), outside)


def imported(kind: str, where: str) -> Any:
    """What `module:name` stands for."""
    module, _, name = where.partition(":")
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise CannotImport(f"{kind}: {where} cannot be imported ({error})") from error

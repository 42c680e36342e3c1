"""Parts by name: those of the package, imported when one is needed, and anybody's as `module:name`."""

from importlib import import_module
from operator import attrgetter
from typing import Any

from leads.errors import UserError


class Registry(dict[str, str]):
    """Parts of one kind: name -> `module:attribute`. A new part is one line here."""

    def __init__(self, kind: str, parts: dict[str, str]):
        super().__init__(parts)
        self.kind = kind

    def find(self, part: Any) -> Any:
        """The part that a name or `module:name` stands for; a part itself stands for itself."""
        if not isinstance(part, str):
            return part
        if part not in self and ":" not in part:
            raise UserError(f"{self.kind}: {part!r} is unknown; allowed are {', '.join(self)} and MODULE:NAME")
        found = imported(self.kind, self.get(part, part))
        if not hasattr(found, "Config"):
            raise UserError(f"{self.kind}: {part} cannot be used: it has no Config")
        return found

    def name_of(self, part: Any) -> str:
        """By what a part is found again."""
        where = f"{part.__module__}:{part.__qualname__}"
        return next((name for name, known in self.items() if known == where), where)


def imported(kind: str, where: str) -> Any:
    """What `module:name` stands for."""
    module, _, name = where.partition(":")
    try:
        return attrgetter(name)(import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"{kind}: {where} cannot be imported ({error})") from error

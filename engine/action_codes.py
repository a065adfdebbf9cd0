"""The numbers of the actions of a game in Python, from its declaration.

The engine knows an action as a 64-bit number, rules in Python as a tuple such as ("play", 7). Both
are made from a declaration such as {"play": {"card": 52}, "pass": {}}: the kinds with their
parameters, and how many values each parameter has. The numbers ascend in the order of the
declaration, the last parameter first.
"""

import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.errors import ActionError

MAX_CACHED = 1 << 16
MAX_CODE = (1 << 64) - 1


class _Kind(NamedTuple):
    name: str
    parameters: tuple[tuple[str, int], ...]  # Names and numbers of values.
    first: int  # The code of the action whose parameters are all 0.
    size: int


class ActionCodes:
    """The codes of the actions of one game."""

    def __init__(self, declared: Any, where: str) -> None:
        """Raises TypeError if this is no declaration of actions."""
        self.codes: dict[tuple[Any, ...], int] = {}  # Those that were asked for.
        self.actions: dict[int, tuple[Any, ...]] = {}
        self._kinds: dict[str, _Kind] = {}
        if not isinstance(declared, Mapping) or not declared:
            raise TypeError(f"{where} must be a dict with the kinds of actions")
        first = 1
        for name, parameters in declared.items():
            size = 1
            for parameter, values in parameters.items():
                if parameter == "kind" or not isinstance(values, int) or values < 1:
                    raise TypeError(
                        f"{where}: {parameter} of {name} must be a name with a number of values"
                    )
                size *= values
            self._kinds[name] = _Kind(name, tuple(parameters.items()), first, size)
            first += size
        if first - 1 > MAX_CODE:
            raise TypeError(f"{where} has more than 2^64 - 1 actions")

    def code(self, action: Any) -> int:
        """Returns the code of an action of the rules; raises ValueError if it was not declared."""
        found = self.codes.get(action)
        if found is not None:
            return found
        if not isinstance(action, tuple) or not action or action[0] not in self._kinds:
            raise ValueError(f"{action!r} is no action that was declared")
        kind = self._kinds[action[0]]
        if len(action) != 1 + len(kind.parameters):
            raise ValueError(f"{action!r} must have {len(kind.parameters)} parameters")
        number = 0
        for (parameter, values), value in zip(kind.parameters, action[1:], strict=True):
            value = operator.index(value)
            if not 0 <= value < values:
                raise ValueError(f"{action!r}: {parameter} must be from 0 to {values - 1}")
            number = number * values + value
        return self._keep(action, kind.first + number)

    def action(self, code: int) -> tuple[Any, ...]:
        """Returns the action of a code; raises ActionError if no action has it."""
        found = self.actions.get(code)
        if found is not None:
            return found
        for kind in self._kinds.values():
            if kind.first <= code < kind.first + kind.size:
                number = code - kind.first
                values = []
                for _, size in reversed(kind.parameters):
                    number, value = divmod(number, size)
                    values.append(value)
                action = (kind.name, *reversed(values))
                self._keep(action, code)
                return action
        raise ActionError("", f"no action has the number {code}")

    def read(self, code: int) -> dict[str, Any]:
        """Returns the fields of an action: its kind and its parameters."""
        name, *values = self.action(code)
        names = [parameter for parameter, _ in self._kinds[name].parameters]
        return {"kind": name, **dict(zip(names, values, strict=True))}

    def make(self, fields: Mapping[str, Any]) -> int:
        """Returns the code of the action with these fields; raises ActionError."""
        name = fields.get("kind")
        kind = self._kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ActionError("kind", f"must be one of {', '.join(self._kinds)}")
        for given in fields:
            if given != "kind" and given not in dict(kind.parameters):
                raise ActionError(given, f"is not a parameter of {name}")
        values = []
        for parameter, count in kind.parameters:
            try:
                value = operator.index(fields[parameter])
            except (KeyError, TypeError):
                raise ActionError(parameter, "must be a number") from None
            if not 0 <= value < count:
                raise ActionError(parameter, f"must be from 0 to {count - 1}")
            values.append(value)
        return self.code((name, *values))

    def _keep(self, action: tuple[Any, ...], code: int) -> int:
        if len(self.codes) >= MAX_CACHED:
            self.codes.clear()
            self.actions.clear()
        self.codes[action] = code
        self.actions[code] = action
        return code

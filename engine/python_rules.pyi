"""The types of what calls rules in Python; engine/python_rules.pyx says what everything does."""

from typing import Any

from engine.game import Game

class PythonRules(Game): ...

def parts_of(cls: type[PythonRules]) -> tuple[Any, Any, Any]: ...

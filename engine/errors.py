"""The errors of the engine.

GameError(ValueError)
├── RulesetError      a ruleset breaks a rule
├── ActionError       an action cannot be read, or is not legal now
└── ViewError         a view contradicts itself
"""


class GameError(ValueError):
    """Input that breaks a rule.

    `field` is the path of the field that is wrong, empty if the whole input is wrong. `rule` is a
    sentence without a subject that says what must hold.
    """

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field
        self.rule = rule


class RulesetError(GameError):
    """A ruleset breaks a rule."""


class ActionError(GameError):
    """An action cannot be read, or is not legal now."""


class ViewError(GameError):
    """A view contradicts itself."""

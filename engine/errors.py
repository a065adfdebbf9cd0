"""The errors of the engine.

GameError(ValueError)
├── RulesetError      a ruleset breaks a rule
├── ActionError       an action cannot be read, or is not legal now
└── ViewError         a view contradicts itself

RulesFault(RuntimeError)   rules in Python raised an exception, which is no fault of the input
"""


class GameError(ValueError):
    """Input that breaks a rule.

    `field` is the path of the field that is wrong, empty if the whole input is wrong. `rule` is a
    sentence without a subject that says what must hold. `reason` identifies the rule for programs,
    in capitals, such as "NOT_IN_HAND"; not given: that of the class.
    """

    reason = "INVALID"

    def __init__(self, field: str, rule: str, reason: str = "") -> None:
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field
        self.rule = rule
        if reason:
            self.reason = reason


class RulesetError(GameError):
    """A ruleset breaks a rule."""

    reason = "INVALID_RULESET"


class ActionError(GameError):
    """An action cannot be read, or is not legal now."""

    reason = "MALFORMED_ACTION"


class ViewError(GameError):
    """A view contradicts itself."""

    reason = "INCONSISTENT_VIEW"


class RulesFault(RuntimeError):
    """The rules of a game raised an exception, from which this one is raised.

    Nothing was changed: a match is as it was before the call.
    """

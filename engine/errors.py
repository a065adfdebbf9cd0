"""The errors of the engine.

GameError(ValueError)
├── RulesetError      a ruleset breaks a rule
├── ActionError       an action cannot be read, or is not legal now
└── ViewError         a view contradicts itself

RulesFault(RuntimeError)   rules in Python raised an exception, which is no fault of the input
Overtime(BaseException)    is raised in rules in Python that do not return
"""


class GameError(ValueError):
    """Input that breaks a rule.

    `field` is the path of the field that is wrong, empty if the whole input is wrong. `rule` is a
    sentence without a subject that says what must hold. `reason` identifies the rule for programs,
    in capitals, such as "NOT_IN_HAND"; not given: that of the class.
    """

    reason = "INVALID"

    def __init__(self, field: str, rule: str, reason: str = "") -> None:
        super().__init__(field, rule, reason)  # All of it, so that other processes get it whole.
        self.field = field
        self.rule = rule
        if reason:
            self.reason = reason

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}" if self.field else self.rule


class RulesetError(GameError):
    """A ruleset breaks a rule."""

    reason = "INVALID_RULESET"


class ActionError(GameError):
    """An action cannot be read, or is not legal now.

    `legal` are the legal actions, if the rules have no sentence that says why it is not.
    """

    legal: tuple[int, ...] = ()
    reason = "MALFORMED_ACTION"


class ViewError(GameError):
    """A view contradicts itself."""

    reason = "INCONSISTENT_VIEW"


class RulesFault(RuntimeError):
    """The rules of a game raised an exception, from which this one is raised.

    Nothing was changed: a match is as it was before the call.
    """

    def __init__(self, text: str, game_id: str, method: str) -> None:
        super().__init__(text, game_id, method)
        self.game_id = game_id
        self.method = method

    def __str__(self) -> str:
        return str(self.args[0])


class Overtime(BaseException):
    """Code of a package did not return in time. `except Exception` there does not stop it."""

    def __str__(self) -> str:
        return "it did not return in time"

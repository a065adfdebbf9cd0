"""The settings of a session."""

from collections.abc import Sequence
from dataclasses import dataclass

from croupier.terminal.arguments import DEFAULT_ADDRESS
from croupier.transport import CLEARTEXT, Security

HINT_ITERATIONS = 5000  # Of a hint without a limit.


@dataclass(frozen=True)
class Settings:
    """What is played, against whom and how."""

    server: str = DEFAULT_ADDRESS  # "HOST:PORT".
    program: str = "croupier play"  # What a friend joins with.
    game: str = ""  # Its id; empty if an invitation names the match.
    seat: int = 0
    opponent: str = "casual"  # The strength of the bot.
    invite: bool = False  # Whether a friend is invited to play instead of a bot.
    puzzle: int = 0  # The number of a puzzle to begin with; 0: a match is played.
    invitation: str = ""  # To a match that somebody else has created; empty for a new match.
    name: str = ""  # By which the other player sees this one.
    hide: bool = False  # Whether the other player is not told that this one is there.
    hints: str = ""  # A name of HINT_POLICIES; empty for what the server chooses.
    yes: bool = False  # Whether an invitation is used without a question.
    save: bool = True  # Whether the seat is saved, so that it can be resumed.
    options: Sequence[str] = ()  # Of the ruleset, each "NAME=VALUE".
    language: str = ""  # Of names and texts; empty for English.
    clock: int | None = None  # Seconds that the player has for a decision.
    auto: bool = False  # Whether hints play the seat.
    seed: int | None = None  # Of the match and its hints.
    hint_iterations: int | None = None
    hint_time: float | None = None  # Seconds.
    review_iterations: int = 0  # Of each search of a review; 0: what the server chooses.
    delay: float = 0.0  # Seconds between decisions with `auto`.
    security: Security = CLEARTEXT  # Of the connection to the server.
    api_key: str = ""  # That each call carries.

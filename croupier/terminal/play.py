"""Opens a match against a bot and plays it in the terminal."""

from rich.console import Console

from croupier.client import OPEN, Client, CroupierError, bot, clock
from croupier.retry import is_lasting, may_pass
from croupier.terminal import drawing, options
from croupier.terminal.session import Left, Session
from croupier.terminal.settings import Settings

INTERRUPTED = 130  # The exit status of a shell for SIGINT.


class PlayError(Exception):
    """The match cannot be played, or not to its end; the message says why."""


class SettingsError(PlayError):
    """The settings do not fit the server or the game."""


def play(settings: Settings, console: Console) -> int:
    """Plays a match; returns the exit status. Raises PlayError."""
    with Client(settings.server, **settings.security._asdict()) as client:
        try:
            session = _open(client, settings, console)
        except KeyboardInterrupt:
            return INTERRUPTED
        try:
            session.play()
        except Left:
            session.leave("Left")
        except KeyboardInterrupt:
            session.leave("Interrupted")
            return INTERRUPTED
        except CroupierError as error:
            if may_pass(error):
                raise PlayError(f"lost the server at {settings.server}") from error
            raise PlayError(f"the server refused: {error}") from error
    return 0


def _open(client: Client, settings: Settings, console: Console) -> Session:
    # Finds the game and creates the match.
    try:
        games = {game.name.removeprefix("games/"): game for game in client.games()}
    except CroupierError as error:
        if is_lasting(error):
            raise PlayError(f"no connection to {settings.server}: {error.message}") from error
        if may_pass(error):
            raise PlayError(
                f"no server answers at {settings.server}."
                f" Start one with: croupier serve --listen {settings.server}"
            ) from error
        raise PlayError(f"{settings.server} is not a Croupier server: {error}") from error
    name = settings.game.replace("-", "_")
    if name not in games:
        known = ", ".join(games) or "none"
        raise SettingsError(f"there is no game {settings.game!r}. Games of this server: {known}")
    try:
        ruleset = options.ruleset(name, settings.options)
    except options.OptionError as error:
        raise SettingsError(str(error)) from error
    seats = [OPEN, OPEN]
    seats[1 - settings.seat] = bot(settings.opponent)
    try:
        game = client.game(name, language=settings.language)
        time_control = None if settings.clock is None else clock(settings.clock)
        match = client.create_match(ruleset, seats, seed=settings.seed, time_control=time_control)
    except CroupierError as error:
        if error.reason == "SEEDS_NOT_ALLOWED":
            raise PlayError(
                "this server takes no seeds. Start one that does with:"
                f" croupier serve --listen {settings.server} --allow-seeds"
            ) from error
        if error.violations:
            faults = "; ".join(f"{v.field}: {v.description}" for v in error.violations)
            raise SettingsError(f"the server refused: {faults}") from error
        raise PlayError(f"the server refused: {error}") from error
    draw = drawing.find(game, settings.seat, f"{settings.opponent} bot")
    return Session(match.seats[settings.seat], draw, settings, console)

"""Opens or joins a match and plays it in the terminal."""

from dataclasses import replace

from rich.console import Console

from croupier.client import INVITED, OPEN, Client, CroupierError, NewMatch, bot, clock
from croupier.messages import GameMessages
from croupier.retry import is_lasting, may_pass
from croupier.terminal import drawing, options
from croupier.terminal.session import Left, Session
from croupier.terminal.settings import Settings
from croupier.v1 import catalog_pb2

FRIEND = "friend"
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
    # Finds the game, and creates or joins the match.
    games = _games(client, settings)
    if settings.invitation:
        return _join(client, settings, console)
    name = settings.game.replace("-", "_")
    if name not in games:
        known = ", ".join(games) or "none"
        raise SettingsError(f"there is no game {settings.game!r}. Games of this server: {known}")
    try:
        game = client.game(name, language=settings.language)
        match = _create(client, settings, game)
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
    for invitation in match.invitations.values():
        console.print("Your friend joins with:", style="dim")
        # Not wrapped, so that it can be copied.
        tls = " --tls" if any(settings.security._replace(insecure=False)) else ""
        command = f"{settings.program} --server {settings.server}{tls} --join {invitation}"
        console.print(command, soft_wrap=True, markup=False)
    opponent = FRIEND if settings.invite else f"{settings.opponent} bot"
    draw = drawing.find(game, settings.seat, opponent)
    return Session(match.seats[settings.seat], draw, settings, console)


def _games(client: Client, settings: Settings) -> dict[str, catalog_pb2.Game]:
    # The games of the server, by id.
    try:
        return {game.name.removeprefix("games/"): game for game in client.games()}
    except CroupierError as error:
        if is_lasting(error):
            raise PlayError(f"no connection to {settings.server}: {error.message}") from error
        if may_pass(error):
            raise PlayError(
                f"no server answers at {settings.server}."
                f" Start one with: croupier serve --listen {settings.server}"
            ) from error
        raise PlayError(f"{settings.server} is not a Croupier server: {error}") from error


def _create(client: Client, settings: Settings, game: catalog_pb2.Game) -> NewMatch:
    try:
        ruleset = options.ruleset(GameMessages(game), settings.options)
    except options.OptionError as error:
        raise SettingsError(str(error)) from error
    seats = [OPEN, OPEN]
    seats[1 - settings.seat] = INVITED if settings.invite else bot(settings.opponent)
    time_control = None if settings.clock is None else clock(settings.clock)
    return client.create_match(ruleset, seats, seed=settings.seed, time_control=time_control)


def _join(client: Client, settings: Settings, console: Console) -> Session:
    try:
        match = client.join(settings.invitation)
        (number, seat), *_ = match.seats.items()
        view = seat.view()
        name = client.game_of(view.ruleset)
        game = client.game(name, language=settings.language)
    except CroupierError as error:
        if error.reason == "INVITATION_USED":
            raise PlayError(
                "this invitation was used before: somebody else sits in your seat."
                " Ask your friend for a new match"
            ) from error
        if error.reason == "INVITATION_INVALID":
            raise SettingsError(f"this is not an invitation of {settings.server}") from error
        raise PlayError(f"the server refused: {error}") from error
    control = view.clocks.time_control
    settings = replace(
        settings,
        game=name,
        seat=number,
        clock=control.per_decision.seconds if control.HasField("per_decision") else None,
    )
    other = view.players[1 - number]
    is_bot = other.HasField("bot")
    opponent = f"{other.bot.strength.lower()} bot" if is_bot else other.key_name or FRIEND
    return Session(seat, drawing.find(game, number, opponent), settings, console)

"""Opens or joins a match, or comes back to one, and plays it in the terminal."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from croupier.client import (
    HINT_POLICIES,
    INVITED,
    Client,
    CroupierError,
    NewMatch,
    Seat,
    bot,
    clock,
    open_seat,
)
from croupier.messages import GameMessages
from croupier.phrases import origin_sentence
from croupier.retry import is_lasting, may_pass
from croupier.terminal import drawing, options, program, texts
from croupier.terminal.puzzle import Puzzle
from croupier.terminal.saved import SavedSeat, SavedSeats
from croupier.terminal.screen import Left, Screen
from croupier.terminal.session import Session
from croupier.terminal.settings import Settings
from croupier.transport import proxy_of
from croupier.v1 import catalog_pb2, clock_pb2, game_pb2, match_pb2

# The refusals of a seat whose match is gone, or whose token is void.
GONE = ("MATCH_NOT_FOUND", "TOKEN_INVALID", "TOKEN_REPLACED")
HINTS = {
    game_pb2.HINT_POLICY_ALLOWED: "Both of you may ask for hints.",
    game_pb2.HINT_POLICY_AFTER_END: "There are no hints before the end.",
}
REFUSED = "the server refused: {}"
_REFUSALS = {
    "INVITATION_USED": "this invitation was used before: somebody else sits in your seat."
    " Ask your friend for a new match",
    "MATCH_OVER": "this match ended before you joined. Ask your friend for a new one",
    "MATCH_NOT_FOUND": "the server no longer knows this match",
    "TOKEN_INVALID": "the server no longer knows this seat",
    "TOKEN_REPLACED": "somebody has taken over your seat with a new token",
    "HINTS_NOT_ALLOWED": "in this match nobody may ask for hints before it is over, so --auto"
    " cannot play it. For a match with hints, create it with: --hints allow",
}


class PlayError(Exception):
    """The match cannot be played, or not to its end; the message says why.

    It is a text with a place in braces for each further argument.
    """

    def said(self, say: texts.Say) -> str:
        """Returns the message in another language."""
        text, *given = self.args
        return say(text).format(*given) if given else say(text)

    def __str__(self) -> str:
        return self.said(str)


class SettingsError(PlayError):
    """The settings do not fit the server or the game."""


def play(settings: Settings, console: Console, saved: SavedSeat | None = None) -> int:
    """Plays a match, and rematches of it; returns the exit status. Raises PlayError.

    With a saved seat, it goes on with the match of that seat.
    """
    screen = Screen(console, stops=not settings.auto)
    security = settings.security._asdict()
    with Client(settings.server, **security, api_key=settings.api_key) as client:
        try:
            if settings.puzzle:
                _solve_puzzles(client, settings, screen)
                return 0
            session: Session | None = (
                _resume(client, settings, saved, screen)
                if saved
                else _open(client, settings, screen)
            )
            while session is not None:
                session = _play_one(session)
        except KeyboardInterrupt:
            return program.INTERRUPTED
        except Left:
            return 0
    return 0


def _play_one(session: Session) -> Session | None:
    # Plays a match to its end; returns that of the rematch, if there is one.
    back = _save(session)
    try:
        session.play()
        _forget(session)
        return _rematch(session)
    except Left:
        session.leave("Left", back)
        raise
    except KeyboardInterrupt:
        if not session.over:
            session.leave("Interrupted", back)
        raise
    except CroupierError as error:
        if may_pass(error):
            text = "lost the server at {}. When it is back: {}" if back else "lost the server at {}"
            raise PlayError(text, session.settings.server, back) from error
        if error.reason in GONE:
            _forget(session)
        raise _refused(error) from error


def _save(session: Session) -> str:
    # Saves the seat; returns the command that comes back to it, empty if there is none.
    settings = session.settings
    if not settings.save:
        return ""
    seat = _saved(session)
    try:
        SavedSeats().keep(seat)
    except OSError as error:
        warning = session.say("This seat cannot be saved, so it cannot be resumed: {}")
        session.screen.print(Text(warning.format(error), style="dim"))
        return ""
    return f"{settings.program} --resume {seat.id}"


def _forget(session: Session) -> None:
    if session.settings.save:
        try:
            SavedSeats().drop(_saved(session))
        except OSError:
            return  # It could not be saved either.


def _saved(session: Session) -> SavedSeat:
    settings = session.settings
    given = {name: value for name, value in settings.security._asdict().items() if value}
    return SavedSeat(
        match=session.seat.match,
        server=settings.server,
        seat=settings.seat,
        token=session.seat.token,
        game=session.draw.name,
        opponent=session.opponent,
        created=datetime.now(UTC).isoformat(),
        language=settings.language,
        security={
            name: str(value.absolute()) if isinstance(value, Path) else value
            for name, value in given.items()
        },
    )


def _rematch(session: Session) -> Session | None:
    match = session.rematch()
    if match is None:
        return None
    (number, seat), *_ = match.seats.items()
    draw = drawing.find(session.draw.game, number, session.opponent)
    return Session(seat, draw, replace(session.settings, seat=number), session.screen)


def _open(client: Client, settings: Settings, screen: Screen) -> Session:
    # Creates or joins the match.
    if settings.invitation:
        _games(client, settings)
        return _join(client, settings, screen)
    game = _game(client, settings)
    try:
        match = _create(client, settings, game)
    except CroupierError as error:
        if error.reason == "SEEDS_NOT_ALLOWED":
            told = "this server takes no seeds. Start one that does with: {}"
            raise PlayError(
                told, f"croupier serve --listen {settings.server} --allow-seeds"
            ) from error
        if error.violations:
            faults = "; ".join(f"{v.field}: {v.description}" for v in error.violations)
            raise SettingsError(REFUSED, faults) from error
        raise _refused(error) from error
    say = texts.in_language(game.language_code)
    for invitation in match.invitations.values():
        screen.print(Text(say("Your friend joins with:"), style="dim"))
        # Not wrapped, so that it can be copied.
        tls = " --tls" if any(settings.security._replace(insecure=False)) else ""
        command = f"{settings.program} --server {settings.server}{tls} --join {invitation}"
        screen.console.print(command, soft_wrap=True)
    opponent = drawing.FRIEND if settings.invite else f"{settings.opponent} bot"
    draw = drawing.find(game, settings.seat, opponent)
    return Session(match.seats[settings.seat], draw, settings, screen)


def _solve_puzzles(client: Client, settings: Settings, screen: Screen) -> None:
    game = _game(client, settings)
    names = list(client.puzzles(game.name))
    if not names:
        raise PlayError("there are no puzzles for this game")
    if settings.puzzle > len(names):
        raise SettingsError("the last puzzle of this game is {}", len(names))
    for number, name in enumerate(names[settings.puzzle - 1 :], settings.puzzle):
        Puzzle(client, game, name, number, settings, screen).play()


def _game(client: Client, settings: Settings) -> catalog_pb2.Game:
    # The game that is named.
    games = _games(client, settings)
    name = settings.game.replace("-", "_")
    if name not in games:
        known = ", ".join(games) or "none"
        raise SettingsError("there is no game {!r}. Games of this server: {}", settings.game, known)
    return client.game(name, language=settings.language)


def _games(client: Client, settings: Settings) -> dict[str, catalog_pb2.Game]:
    # The games of the server, by id.
    try:
        return {game.name.removeprefix("games/"): game for game in client.games()}
    except CroupierError as error:
        if is_lasting(error) or (may_pass(error) and proxy_of(settings.server)):
            told = "no connection to {}: {}"
            raise PlayError(told, settings.server, error.message) from error
        if may_pass(error):
            told = "no server answers at {0}. Start one with: croupier serve --listen {0}"
            raise PlayError(told, settings.server) from error
        if error.reason:
            raise  # Only a Croupier server gives one.
        raise PlayError("{} is not a Croupier server: {}", settings.server, error) from error


def _create(client: Client, settings: Settings, game: catalog_pb2.Game) -> NewMatch:
    try:
        ruleset = options.ruleset(GameMessages(game), settings.options)
    except options.OptionError as error:
        raise SettingsError(str(error)) from error
    seats = [open_seat(settings.name)] * 2
    seats[1 - settings.seat] = INVITED if settings.invite else bot(settings.opponent)
    return client.create_match(
        ruleset,
        seats,
        seed=settings.seed,
        time_control=None if settings.clock is None else clock(settings.clock),
        hint_policy=HINT_POLICIES[settings.hints] if settings.hints else None,
    )


def _join(client: Client, settings: Settings, screen: Screen) -> Session:
    try:
        if screen.asks and not settings.yes:
            _show_invitation(client, settings, screen)
        match = client.join(settings.invitation, display_name=settings.name)
        (_, seat), *_ = match.seats.items()
        return _session(client, settings, seat, screen, whole=True)
    except CroupierError as error:
        if error.reason == "INVITATION_INVALID":
            raise SettingsError("this is not an invitation of {}", settings.server) from error
        raise _refused(error) from error


def _show_invitation(client: Client, settings: Settings, screen: Screen) -> None:
    # Says what the player is invited to; raises Left if they do not want it.
    invitation = client.get_invitation(settings.invitation)
    if invitation.state == match_pb2.INVITATION_STATE_USED:
        raise PlayError(_REFUSALS["INVITATION_USED"])
    if invitation.state == match_pb2.INVITATION_STATE_EXPIRED:
        raise PlayError(_REFUSALS["MATCH_OVER"])
    name = client.game_of(invitation.ruleset)
    game = client.game(name, language=settings.language)
    host = opponent_name(invitation.players[1 - invitation.seat])
    draw = drawing.find(game, invitation.seat, host)
    say = screen.say = draw.say
    line = Text(game.title, style="bold").append(": ", style="not bold")
    line.append(say("a friend") if host == drawing.FRIEND else host, style="bold")
    line.append(say(" invites you to play "), style="not bold")
    line.append_text(draw.seat_name(invitation.seat))
    control = invitation.time_control if invitation.HasField("time_control") else None
    screen.print(line, Text(_clock(control, say)), Text(say(HINTS.get(invitation.hint_policy, ""))))
    if invitation.HasField("origin"):
        screen.print(Text(origin_sentence(invitation.origin, say)))
    if not screen.agrees("Join?"):
        raise Left


def _clock(control: clock_pb2.TimeControl | None, say: texts.Say) -> str:
    kinds = {
        "per_decision": "{:g} seconds for a decision",
        "per_match": "{:g} seconds for the match",
        "increment": "{:g} seconds back after each decision",
    }
    parts = [
        say(what).format(getattr(control, name).ToMilliseconds() / 1000)
        for name, what in kinds.items()
        if control is not None and control.HasField(name)
    ]
    if not parts:
        return say("There is no clock.")
    return say("Each of you has {}.").format(", ".join(parts))


def _resume(client: Client, settings: Settings, saved: SavedSeat, screen: Screen) -> Session:
    _games(client, settings)
    try:
        return _session(client, settings, Seat(client, saved.match, saved.token), screen)
    except CroupierError as error:
        if error.reason in GONE:
            SavedSeats().drop(saved)
        raise _refused(error) from error


def _session(
    client: Client, settings: Settings, seat: Seat, screen: Screen, *, whole: bool = False
) -> Session:
    # A match that is there; with `whole`, all that has happened in it is told.
    view = seat.view()
    name = client.game_of(view.ruleset)
    game = client.game(name, language=settings.language)
    control = view.clocks.time_control
    settings = replace(
        settings,
        game=name,
        seat=view.seat,
        clock=control.per_decision.seconds if control.HasField("per_decision") else None,
    )
    draw = drawing.find(game, view.seat, opponent_name(view.players[1 - view.seat]))
    seen = None if whole or not view.version else view.version - 1
    return Session(seat, draw, settings, screen, seen)


def opponent_name(player: game_pb2.Player) -> str:
    """Returns how a player is called: what strangers wrote, without what acts on a terminal."""
    if player.HasField("bot"):
        return f"{player.bot.strength.lower()} bot"
    return (
        drawing.printable(player.display_name)
        or drawing.printable(player.key_name)
        or drawing.FRIEND
    )


def _refused(error: CroupierError) -> PlayError:
    known = _REFUSALS.get(error.reason)
    return PlayError(known) if known else PlayError(REFUSED, error)

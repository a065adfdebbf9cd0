"""Finds the saved seat that a player wants to come back to."""

from datetime import datetime

from rich.console import Console
from rich.text import Text

from croupier.client import Client, CroupierError, Seat
from croupier.terminal import drawing, texts
from croupier.terminal.play import GONE, SettingsError
from croupier.terminal.saved import SavedSeat, SavedSeats
from croupier.terminal.screen import Screen
from croupier.transport import Security

PATIENCE = 1.0  # Seconds for which a server is asked whether a match still runs.
RUNS, OVER, SILENT = "", "over", "the server does not answer"


def find(match: str, server: str | None, console: Console, language: str = "") -> SavedSeat:
    """Returns the saved seat of a match, or the one that runs if no match is named.

    If several run, a player at a terminal chooses, and else it is the newest one. `server` names
    the only server that counts; None: all. Raises SettingsError if there is no such seat, and
    Left if the player does not choose.
    """
    try:
        store = SavedSeats()
        saved = [seat for seat in store.read() if server in (None, seat.server)]
    except OSError as error:
        raise SettingsError("there are no saved seats: {}", error) from error
    if match:
        wanted = match.removeprefix("matches/")
        for seat in saved:
            if seat.id == wanted:
                return seat
        known = ", ".join([*(seat.id for seat in saved), *store.unreadable]) or "none"
        raise SettingsError("no seat of the match {!r} is saved here. Saved: {}", wanted, known)
    states = {seat: _state(seat) for seat in saved}
    for seat, state in states.items():
        if state is None:
            store.drop(seat)
    there = [seat for seat, state in states.items() if state is not None]
    if not there and store.unreadable:
        left_out = ", ".join(store.unreadable)
        raise SettingsError("there is no match to come back to; no saved seat: {}", left_out)
    if not there:
        raise SettingsError("there is no match to come back to")
    chosen = [seat for seat in there if states[seat] == RUNS] or there
    screen = Screen(console)
    screen.say = texts.in_language(language)
    return chosen[0] if len(chosen) == 1 or not screen.asks else _choose(chosen, screen)


def _state(saved: SavedSeat) -> str | None:
    # What has become of a match; None if the server does not know it any more.
    try:
        security = Security(**saved.security)  # type: ignore[arg-type]
        with Client(saved.server, patience=PATIENCE, **security._asdict()) as client:
            view = Seat(client, saved.match, saved.token).view()
    except CroupierError as error:
        return None if error.reason in GONE else SILENT
    except (OSError, ValueError, TypeError):
        return SILENT  # Its certificates are gone, say.
    return OVER if view.HasField("result") else RUNS


def _choose(seats: list[SavedSeat], screen: Screen) -> SavedSeat:
    headings = ("game", "against", "since", "server", "match")
    table = drawing.table("", *map(screen.say, headings))
    for number, seat in enumerate(seats, 1):
        since = datetime.fromisoformat(seat.created).astimezone()
        table.add_row(
            Text(str(number), style="bold yellow"),
            Text(seat.game),
            Text(drawing.cropped(screen.say(seat.opponent), drawing.LONG_NAME)),
            f"{since:%Y-%m-%d %H:%M}",
            Text(seat.server),
            Text(seat.id),
        )
    screen.print(table)
    while True:
        typed = screen.ask(screen.say("Which match? (1 to {}) ").format(len(seats)))
        chosen = drawing.number_of(typed)
        if chosen is not None and 1 <= chosen <= len(seats):
            return seats[chosen - 1]

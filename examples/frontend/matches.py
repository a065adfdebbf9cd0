"""Matches at the Croupier server: challenges, the list of an account, and the way to a seat."""

import json
import os
import uuid
from functools import lru_cache
from typing import Any

import grpc
from store import transaction

from croupier.client import STRENGTHS, Client, CroupierError, Seat, bot, clock, open_seat
from croupier.v1 import game_pb2

SERVER = os.environ.get("CROUPIER_SERVER", "127.0.0.1:50051")
PAGE = os.environ.get("CROUPIER_PAGE", "http://127.0.0.1:8080/").rstrip("/")
KEY = os.environ.get("CROUPIER_API_KEY", "")
UNSURE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
CLOCKS = {"": "No limit", "300": "5 minutes a move", "86400": "A day a move"}
MOST_LISTED = 100  # As many as BatchGetViews takes.
SCORES = ("points", "goals")  # What the sides of a view count, in the games that count something.


@lru_cache(200)
def client_of(account: int) -> Client:
    """Returns the client that calls for an account, which has budgets of its own at the server."""
    # Nobody who looks at a page wants to wait long for a server that is away.
    return Client(SERVER, api_key=KEY, player=str(account), patience=2)


def choices(account: int) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the titles of the games, and the names of the accounts that can be challenged."""
    with transaction() as db:
        select = "SELECT id, name FROM accounts WHERE id != ? ORDER BY name LIMIT 200"
        people = {str(row["id"]): row["name"] for row in db.execute(select, (account,))}
    return {game.name: game.title for game in client_of(account).games()}, people


def challenge(account: int, game: str, opponent: str, seconds: str) -> set[int]:
    """Creates a match against an account or a bot; raises ValueError, with a text, if it cannot.

    Returns the accounts that it is news for.
    """
    games, people = choices(account)
    if game not in games or seconds not in CLOCKS or opponent not in {**people, **STRENGTHS}:
        raise ValueError("There is no such game or player.")
    rival = (int(opponent), None) if opponent in people else (None, opponent)
    with transaction() as db:
        # What is wanted is on the disk before the server hears of it. After a crash in between, the
        # same request_id gets the same match and its tokens, not a second match.
        insert = "INSERT INTO matches (request_id, game, title, seconds) VALUES (?, ?, ?, ?)"
        values = (str(uuid.uuid4()), game, games[game], int(seconds) if seconds else None)
        match = db.execute(insert, values).lastrowid or 0
        insert = "INSERT INTO seats (match, seat, account, bot) VALUES (?, ?, ?, ?)"
        db.executemany(insert, ((match, 0, account, None), (match, 1, *rival)))
    return create(match)


def create(match: int) -> set[int]:
    """Creates a match that the database has; raises ValueError if it is not created."""
    with transaction() as db:
        select = (
            "SELECT * FROM seats LEFT JOIN accounts ON id = account WHERE match = ? ORDER BY seat"
        )
        seats = db.execute(select, (match,)).fetchall()
        row = db.execute("SELECT * FROM matches WHERE id = ?", (match,)).fetchone()
    try:
        created = client_of(seats[0]["account"]).create_match(
            row["game"],
            [bot(each["bot"]) if each["bot"] else open_seat(each["name"]) for each in seats],
            time_control=clock(row["seconds"]) if row["seconds"] else None,
            request_id=row["request_id"],
        )
    except CroupierError as error:
        if error.code in UNSURE:  # The follower tries again.
            raise ValueError("The game server does not answer. The match begins later.") from error
        with transaction() as db:
            db.execute("DELETE FROM seats WHERE match = ?", (match,))
            db.execute("DELETE FROM matches WHERE id = ?", (match,))
        raise ValueError(error.message) from error
    with transaction() as db:
        db.execute("UPDATE matches SET name = ? WHERE id = ?", (created.name, match))
        tokens = [(seat.token, match, number) for number, seat in created.seats.items()]
        db.executemany("UPDATE seats SET token = ? WHERE match = ? AND seat = ?", tokens)
    return {each["account"] for each in seats}  # The feed may have told of it before.


def link(account: int, match: str) -> str | None:
    """Returns the address at which an account plays; None unless it has a seat in the match."""
    select = "SELECT token FROM seats JOIN matches ON id = match WHERE name = ? AND account = ?"
    with transaction() as db:
        row = db.execute(select, (f"matches/{match}", account)).fetchone()
    # Browsers send what follows the # to no server, and Croupier's page keeps it to itself.
    return f"{PAGE}/#/seat/{match}/{row['token']}" if row else None


def listed(account: int) -> list[dict[str, Any]]:
    """Returns what an account may know of its newest matches, the newest change first."""
    with transaction() as db:
        rows = db.execute(
            "SELECT matches.name, title, mine.seat, mine.token, due, result, theirs.bot,"
            " accounts.name AS opponent FROM seats AS mine"
            " JOIN seats AS theirs ON theirs.match = mine.match AND theirs.seat != mine.seat"
            " JOIN matches ON matches.id = mine.match JOIN feed ON feed.name = matches.name"
            " LEFT JOIN accounts ON accounts.id = theirs.account"
            " WHERE mine.account = ? ORDER BY changed DESC LIMIT ?",
            (account, MOST_LISTED),
        ).fetchall()
    client = client_of(account)
    holders = [Seat(client, row["name"], row["token"]) for row in rows]
    try:
        views = [each.view for each in client.views(holders)] if holders else []
    except CroupierError:  # What the feed has told is enough for a list without scores.
        views = [game_pb2.View() for _ in rows]
    found = [dict(row) for row in rows]
    for each, view in zip(found, views, strict=True):
        each["opponent"] = each["opponent"] or f"{each['bot'].capitalize()} bot"
        each["due"], each["result"] = json.loads(each["due"]), json.loads(each["result"])
        sides = getattr(getattr(view, view.WhichOneof("game") or "name"), "sides", ())
        each["scores"] = [getattr(s, word) for s in sides for word in SCORES if hasattr(s, word)]
    return found

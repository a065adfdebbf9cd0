"""Follows the feed of the Croupier server, and keeps what it says of each match."""

import json
import logging
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from grpc import StatusCode
from matches import KEY, MOST_LISTED, SERVER, client_of, create
from store import transaction

from croupier.client import END_REASONS, Client, CroupierError, Seat
from croupier.v1 import feed_pb2, game_pb2

PAUSE = 2.0  # Seconds before another try after an error.
log = logging.getLogger("uvicorn.error")


def follow(tell: Callable[[set[int]], None]) -> None:
    """Follows the feed for as long as the process lives; tells which accounts have news."""
    # The feed is that of the key, of no player. A lost stream ends it, so that the loop goes round.
    client = Client(SERVER, api_key=KEY, patience=0)
    while True:
        try:
            with transaction() as db:
                [cursor] = db.execute("SELECT value FROM cursor").fetchone()
                wanted = db.execute("SELECT id FROM matches WHERE name IS NULL").fetchall()
            for [match] in wanted:  # They were not created, as a process died.
                tell(create(match))
            for response in client.watch_matches(cursor):
                tell(take(client, cursor, response))
                cursor = response.cursor or cursor
        except Exception as error:
            log.warning("following the feed goes on after this: %s", error)
            if isinstance(error, CroupierError) and error.reason == "CURSOR_EXPIRED":
                with transaction() as db:
                    db.execute("UPDATE cursor SET value = ''")
            time.sleep(PAUSE)


def take(client: Client, cursor: str, response: feed_pb2.WatchMatchesResponse) -> set[int]:
    """Keeps what a response says, and its cursor; returns the accounts that it is news for.

    All is one transaction: after a kill at any moment, the next start gets again what is not kept.
    """
    for update in response.updates:
        if update.rematch_of:
            adopt(update.name, update.rematch_of)
    # The feed has begun anew, and has told of all that run. The others have ended meanwhile.
    ended = ended_unheard(client) if response.cursor and not cursor else []
    with transaction() as db:
        for update in response.updates:
            # An empty text stands for no deadline.
            due = {
                each.seat: each.deadline.ToJsonString() if each.HasField("deadline") else ""
                for each in update.due_seats
            }
            keep(db, update.name, update.version, due, update.result)
        for view in ended:
            keep(db, view.name, view.version, {}, view.result)
        if response.cursor:
            db.execute("UPDATE cursor SET value = ?", (response.cursor,))
        names = [each.name for each in (*response.updates, *ended)]
        select = "SELECT account FROM seats JOIN matches ON id = match WHERE name = ?"
        return {row["account"] for name in names for row in db.execute(select, (name,))}


def keep(db: sqlite3.Connection, name: str, version: int, due: dict[int, str], result: Any) -> None:
    """Keeps what is known of a match, unless something newer is known: an update can come twice."""
    over = {"scores": list(result.scores), "reason": END_REASONS.get(result.reason)}
    db.execute(
        "INSERT INTO feed VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " version = excluded.version, changed = excluded.changed, due = excluded.due,"
        " result = excluded.result WHERE excluded.version > version",
        (name, version, time.time(), json.dumps(due), json.dumps(over if result.reason else None)),
    )


def ended_unheard(client: Client) -> list[game_pb2.View]:
    """Returns the views of matches that have ended, though the database has them as running."""
    with transaction() as db:
        select = "SELECT name, token FROM feed JOIN matches USING (name) JOIN seats ON match = id"
        where = "WHERE result = 'null' AND token IS NOT NULL GROUP BY name"
        seats = [Seat(client, *row) for row in db.execute(f"{select} {where}")]
    parts = (seats[i : i + MOST_LISTED] for i in range(0, len(seats), MOST_LISTED))
    views = [each.view for part in parts for each in client.views(part)]
    return [view for view in views if view.result.reason]


def adopt(name: str, before: str) -> None:
    """Gets the tokens of a rematch, which players have begun on Croupier's page.

    `Rematch` tells each seat of the match before of its seat in the next one, whenever it is asked.
    """
    with transaction() as db:
        select = "SELECT * FROM matches JOIN seats ON match = id WHERE name = ?"
        old = db.execute(select, (before,)).fetchall()
        if not old or db.execute(select, (name,)).fetchone():
            return
    seats = [[1 - row["seat"], row["account"], row["bot"], None] for row in old]
    try:
        for row, seat in zip(old, seats, strict=True):
            if row["token"]:
                held = Seat(client_of(row["account"]), before, row["token"])
                seat[3] = held.rematch().seats[seat[0]].token
    except CroupierError as error:
        if error.code not in (StatusCode.NOT_FOUND, StatusCode.UNAUTHENTICATED):
            raise  # Another try may succeed.
        return  # The match before is gone, or its tokens were replaced.
    with transaction() as db:
        insert = "INSERT INTO matches (name, game, title, seconds) VALUES (?, ?, ?, ?)"
        values = (name, old[0]["game"], old[0]["title"], old[0]["seconds"])
        match = db.execute(insert, values).lastrowid
        db.executemany("INSERT INTO seats VALUES (?, ?, ?, ?, ?)", [(match, *s) for s in seats])

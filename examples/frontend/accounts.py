"""Accounts and sessions of the front end. The Croupier server knows nothing of them."""

import hashlib
import hmac
import re
import secrets
import sqlite3
import time

from store import transaction

NAME = re.compile(r"\w[\w .'-]{0,22}\w")
LENGTHS = (10, 200)  # Of a password.
SESSION_SECONDS = 30 * 24 * 3600


def enter(name: str, password: str, new: bool) -> str:
    """Registers or signs in; returns the secret of a session, or raises ValueError with a text."""
    with transaction() as db:
        row = db.execute("SELECT * FROM accounts WHERE name = ?", (name,)).fetchone()
    salt = row["salt"] if row else secrets.token_bytes(16)
    # An unknown name takes as long as a wrong password, so that the time does not tell them apart.
    hashed = hashlib.scrypt(password[: LENGTHS[1]].encode(), salt=salt, n=2**14, r=8, p=5)
    if new and not (NAME.fullmatch(name) and LENGTHS[0] <= len(password) <= LENGTHS[1]):
        raise ValueError("A name has 2 to 24 letters, a password at least 10 characters.")
    if not new and not (row and hmac.compare_digest(hashed, row["hash"])):
        raise ValueError("There is no account with this name and password.")
    secret, now = secrets.token_urlsafe(32), time.time()
    with transaction() as db:
        insert = "INSERT OR IGNORE INTO accounts (name, salt, hash) VALUES (?, ?, ?)"
        if new and not db.execute(insert, (name, salt, hashed)).rowcount:
            raise ValueError("This name is taken.")
        db.execute("DELETE FROM sessions WHERE expires < ?", (now,))
        # The database has the hash of the secret, so a copy of the database opens no session.
        insert = "INSERT INTO sessions SELECT ?, id, ? FROM accounts WHERE name = ?"
        db.execute(insert, (_hash(secret), now + SESSION_SECONDS, name))
    return secret


def of_session(secret: str) -> sqlite3.Row | None:
    """Returns the id and the name of the account of a session; None if it is over."""
    with transaction() as db:
        select = "SELECT id, name FROM accounts JOIN sessions ON id = account"
        where = "WHERE sessions.hash = ? AND expires > ?"
        row: sqlite3.Row | None = db.execute(
            f"{select} {where}", (_hash(secret), time.time())
        ).fetchone()
        return row


def leave(secret: str) -> None:
    """Ends a session."""
    with transaction() as db:
        db.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()

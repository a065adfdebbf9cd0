"""Connections to the model of PostgreSQL, in place of asyncpg's.

A statement is on its way to the database, and its answer on its way back. A connection that is lost
in between leaves its client in doubt.
"""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import asyncpg

_settings = {
    standby: SimpleNamespace(
        in_hot_standby="on" if standby else "off", default_transaction_read_only="off"
    )
    for standby in (False, True)
}

database = None  # The one of the world that runs.


class Session:
    """A connection, as asyncpg has it."""

    def __init__(self, of, owner, name, timeout):
        self.database = of
        self.process = next(of._processes)
        self.name = name
        self.hear = None
        self.standby = False
        self.silent = False
        self.tables = None
        self.settings_standby = False  # As the client has last heard.
        self._owner = owner
        self._loop = of.loop
        self._timeout = timeout
        self._closed = False
        self._waiting = None
        of.sessions[self.process] = self

    def is_closed(self):
        return self._closed

    def get_server_pid(self):
        return self.process

    def get_settings(self):
        return _settings[self.settings_standby]

    def terminate(self):
        self._closed = True
        self.database.sessions.pop(self.process, None)

    async def close(self, timeout=None):
        self.terminate()

    def lose(self):
        """The connection is lost; its client learns of it a little later."""
        self.database.sessions.pop(self.process, None)
        self.silent = True
        at = self._loop.now + self.database.delay()
        self._loop.call_at_as(self._owner, at, self._notice_loss)

    def _notice_loss(self):
        self._closed = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(
                asyncpg.ConnectionDoesNotExistError("connection was closed in the middle")
            )

    async def add_listener(self, channel, callback):
        await self.fetch("SELECT set_config")
        self.hear = callback

    def tell(self, process, channel, notice):
        """Notifies the client."""
        self._loop.call_at_as(
            self._owner,
            self._loop.now + self.database.delay(),
            self._hear,
            process,
            channel,
            notice,
        )

    def _hear(self, process, channel, notice):
        if not self._closed and not self.silent:
            self.hear(self, process, channel, notice)

    async def fetch(self, sql, *arguments):
        if self._closed:
            raise asyncpg.InterfaceError("connection is closed")
        if self._waiting is not None and not self._waiting.done():
            raise asyncpg.InterfaceError("another operation is in progress")
        loop, of = self._loop, self.database
        waiting = self._waiting = loop.create_future()
        loop.call_at_as(of.owner, loop.now + of.delay(), self._arrive, waiting, sql, arguments)
        timer = None
        if self._timeout is not None:
            timer = loop.call_later(self._timeout, _time_out, waiting)
        try:
            return await waiting
        finally:
            if timer is not None:
                timer.cancel()

    execute = fetch

    async def fetchval(self, sql, *arguments):
        rows = await self.fetch(sql, *arguments)
        return rows[0][0] if rows else None

    def _arrive(self, waiting, sql, arguments):
        if self.silent or (waiting.cancelled() and self.database._rng.random() < 0.5):
            return
        of = self.database
        try:
            answer, error = of.carry_out(self, sql, arguments), None
        except asyncpg.PostgresError as raised:
            answer, error = None, raised
        if of.loses_answers and of._rng.random() < of.loses_answers:
            self.lose()  # What was written is written.
            return
        loop = self._loop
        loop.call_at_as(
            self._owner, loop.now + of.delay(), self._answer, waiting, answer, error, self.standby
        )

    def _answer(self, waiting, answer, error, standby):
        if self.silent:
            return
        self.settings_standby = standby
        if waiting.done():
            return
        if error is not None:
            waiting.set_exception(error)
        else:
            waiting.set_result(answer)

    @asynccontextmanager
    async def transaction(self):
        yield


def _time_out(waiting):
    if not waiting.done():
        waiting.set_exception(TimeoutError())


async def connect(url, *, timeout, command_timeout=None, server_settings=None, **rest):
    """As `asyncpg.connect`."""
    of, loop = database, asyncio.get_running_loop()
    await asyncio.sleep(of.delay())
    if of.down:
        if of._rng.random() < 0.3:
            await asyncio.sleep(timeout)
            raise TimeoutError
        raise ConnectionRefusedError("nobody listens")
    name = (server_settings or {}).get("application_name", "")
    return Session(of, loop.owner, name, command_timeout)

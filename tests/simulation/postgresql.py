"""A model of PostgreSQL below the real store: what it promises, and how it fails.

Each statement of `service/store/postgresql_tables.py` is one method of `Database`, carried out at
one moment, as if transactions were serial. After a fail-over the server from before goes on as a
standby for a while, for those who are still connected to it: it knows nothing new and takes no
writes. The connections to it are in `postgresql_connections.py`.
"""

import itertools
import math
import random
import time

import asyncpg

from service.hosting.entries import EntryKind
from service.store import Entry, Header, StoredMatch, postgresql_feed, queries
from service.store import postgresql_tables as tables
from service.store.interface import read_columns
from tests.simulation.loop import Owner

SYSTEM = 7123456789012345678  # What tells this database from all others.


class Tables:
    """What one server of the database has."""

    def __init__(self):
        self.settings = {}
        self.matches = {}  # Columns by id, in the order of creation.
        self.seals = {}  # Of the facts of matches.
        self.ended = {}
        self.entries = {}
        self.heads = {}  # Columns by id, but for the id and `due`.
        self.due = {}
        self.ahead = {}  # What seats have decided ahead, as it is stored.
        self.erased = {}  # What names are left, likewise.
        self.requests = set()
        self.snapshots = {}
        self.feed = {}  # The position and the update of each version, by match and version.
        self.transaction = 0
        self.begun = 0, 0.0  # One that goes on while others begin and end, and until when.
        self.last_told = 0  # The last position of the feed.
        self.incarnations = []  # The epochs, and after which position each began.
        self.timeline = 1
        self.schema = None

    def copy(self):
        """The tables as they are now."""
        other = Tables()
        for name, value in vars(self).items():
            setattr(other, name, value.copy() if hasattr(value, "copy") else value)
        for name in ("entries", "feed"):
            copied = {match_id: list(rows) for match_id, rows in getattr(self, name).items()}
            setattr(other, name, copied)
        return other


class Database:
    """A database, and how its servers and connections fail."""

    def __init__(self, loop, seed):
        self.loop = loop
        self.owner = Owner("database")
        self.primary = Tables()
        self.sessions = {}  # By process.
        self.down = False
        self.failing_since = None  # While it has no room.
        self.moved_at = float("-inf")  # When another server took over last.
        # Some databases are slow or lose notifications, and that is no trouble.
        self._rng = random.Random(f"database/{seed}")
        self.usual = self.latency = self._rng.choice((0.001, 0.001, 0.02))
        self.deaf = self.loses_notifications = self._rng.choice((0.0, 0.0, 0.3))
        self.loses_answers = 0.0
        self.times = {}  # When each entry was really added, by match.
        self.dues = {}  # When a match is due with an entry, by the digest of that.
        self.writers = {}  # Who has added it, by match and version.
        self._processes = itertools.count(1000)

    def delay(self):
        rng = self._rng
        mean = max(0.05, self.latency) if rng.random() < 0.02 else self.latency
        return 0.0002 + rng.expovariate(1 / mean)

    def stored(self, match_id):
        """All that is stored of a match."""
        data = self.primary
        entries = [
            Entry(EntryKind(row[0]), *row[1:5], row[5].decode(), *row[6:])
            for row in data.entries.get(match_id, ())
        ]
        version, digest, _, over, _ = data.heads[match_id]
        beside = data.ahead[match_id], data.erased[match_id]
        head = queries.read_head(match_id, version, digest, *beside)
        header = read_columns(data.matches[match_id])._replace(erased=head.erased)
        due = data.due.get(match_id)
        return StoredMatch(header, entries, None, head, over, due)

    # How it fails

    def lose_connections(self, share=1.0):
        """Ends some of the connections; returns how many."""
        lost = [each for each in self.sessions.values() if self._rng.random() < share]
        for session in lost:
            session.lose()
        return len(lost)

    def half_open(self, share):
        """From now on nothing arrives through some of the connections."""
        for session in list(self.sessions.values()):
            if self._rng.random() < share:
                session.silent = True

    def lost_with(self, standby):
        """The matches of which a copy of the tables from before lacks actions.

        None if it lacks anything else: a match, a token or the end of a match.
        """
        now = self.primary
        lost = {
            match_id: rows[len(standby.entries.get(match_id, ())) :]
            for match_id, rows in now.entries.items()
        }
        kinds = {row[0] for rows in lost.values() for row in rows}
        same = now.matches.keys() == standby.matches.keys() and now.ended == standby.ended
        same = same and now.erased == standby.erased
        if not same or kinds != {EntryKind.ACTION}:
            return None
        return {match_id for match_id, rows in lost.items() if rows}

    def fail_over(self, seconds, stays, standby=None):
        """Another server takes over after some seconds; some stay with the one from before.

        `stays` is the share of the connections that do. The other server has what this one has, or
        the tables that are given.
        """
        before = self.primary
        self.primary = standby or before.copy()
        self.primary.timeline = before.timeline + 1
        self.down = True
        self.moved_at = self.loop.now
        for session in list(self.sessions.values()):
            if self._rng.random() < stays:
                session.tables, session.standby = before, True
            else:
                session.lose()
        self.loop.call_at_as(self.loop.world, self.loop.now + seconds, self._come_up)

    def _come_up(self):
        self.down = False

    # Statements

    def carry_out(self, session, sql, arguments):
        """The answer of a statement; raises what asyncpg does."""
        name = _NAMES.get(sql)
        if name is None:
            name = next((each for start, each in _STARTS if sql.lstrip().startswith(start)), None)
            if name is None:
                raise asyncpg.PostgresSyntaxError(f"the model does not know: {sql}")
            if name == "listed":
                arguments = (sql, *arguments)
        data = session.tables if session.standby else self.primary
        if name in _WRITES:
            if session.standby:
                raise asyncpg.ReadOnlySQLTransactionError("on a standby")
            if self.failing_since is not None:
                raise asyncpg.DiskFullError("no room")
        return getattr(self, f"_{name}")(data, session, *arguments)

    def _nothing(self, data, session, *arguments):
        return []

    def _process(self, data, session):
        return [(session.process,)]

    def _database(self, data, session):
        return [(1,)]

    def _schema(self, data, session):
        return [] if data.schema is None else [(data.schema,)]

    def _set_schema(self, data, session, version=0):
        data.schema = version
        return []

    def _ids(self, data, session):
        return [(match_id,) for match_id in data.matches]

    def _keep_key(self, data, session, key):
        data.settings.setdefault("key", key)
        return []

    def _key(self, data, session):
        return [(data.settings["key"],)] if "key" in data.settings else []

    def _create(self, data, session, *values):
        *columns, facts_seal, ended, feed, digest, seal, due, erased, _, _, _ = values
        match_id = columns[0]
        if match_id in data.matches:
            return []
        data.matches[match_id] = tuple(columns)
        data.seals[match_id] = facts_seal
        if ended is not None:
            data.ended[match_id] = ended
        data.entries[match_id] = []
        created = columns[Header._fields.index("created")]
        data.heads[match_id] = (0, digest, created, ended is not None, seal)
        data.ahead[match_id] = b""
        data.erased[match_id] = erased
        data.transaction += 1
        data.last_told = data.transaction
        data.feed[match_id] = [(data.transaction, _at(data.transaction, feed))]
        self.times[match_id] = [self.loop.now]
        if due is not None:
            data.due[match_id] = due
        return [(match_id,)]

    def _append(self, data, session, *arrays):
        added = []
        compares = "asked.before" in tables._APPEND  # Unless a fault is planted there.
        position = self._position(data, arrays[0])
        for row in sorted(zip(*arrays, strict=True), key=lambda row: row[0]):
            match_id, version, *entry, feed, before, over, seal, due, held, ahead, erased = row[:-4]
            _, seat, at, _, _, request_id, *_, digest = entry
            newest = data.heads.get(match_id, (None, None))[:2]
            if newest[0] != version - 1 or (compares and newest[1] != before):
                continue
            if (held and data.ahead[match_id] != held) or data.erased[match_id] != erased:
                continue
            if request_id and (match_id, seat, request_id) in data.requests:
                continue
            data.entries[match_id].append(tuple(entry))
            data.feed[match_id].append((position, _at(position, feed)))
            data.last_told = max(data.last_told, position)
            self.times[match_id].append(self.loop.now)
            self.writers[match_id, version] = session._owner
            if request_id:
                data.requests.add((match_id, seat, request_id))
            added.append((match_id,))
            data.heads[match_id] = (version, digest, at, over, seal)
            data.ahead[match_id] = ahead
            if over:
                data.ended[match_id] = at
            self.dues[digest] = due
            data.due.pop(match_id, None)
            if due is not None:
                data.due[match_id] = due
        return added

    def _position(self, data, match_ids):
        # The number of a transaction that ends, perhaps of one that began before others.
        (begun, until), data.begun = data.begun, (0, 0.0)
        told = (data.feed[each][-1][0] for each in match_ids if each in data.feed)
        if self.loop.now < until and max(told, default=0) < begun:
            return begun
        data.transaction += 1
        if self._rng.random() < 0.1:
            data.begun = data.transaction, self.loop.now + 0.5
            data.transaction += 1
        return data.transaction

    def _headers(self, data, session, match_ids):
        return [
            (
                *data.matches[match_id],
                data.ended.get(match_id),
                match_id,
                *data.heads[match_id],
                data.due.get(match_id),
                data.ahead[match_id],
                data.erased[match_id],
                *data.snapshots.get(match_id, (None, None)),
            )
            for match_id in dict.fromkeys(match_ids)
            if match_id in data.matches
        ]

    def _entries(self, data, session, match_ids, versions):
        rows = []
        for number, (match_id, known) in enumerate(zip(match_ids, versions, strict=True), 1):
            newest = (*data.heads.get(match_id, (None, None))[:2], data.ahead.get(match_id))
            newest = (*newest, data.erased.get(match_id))
            later = list(enumerate(data.entries.get(match_id, ())[known:], known + 1))
            rows += [(number, *newest, version, *entry) for version, entry in later]
            if not later:
                rows.append((number, *newest, None, *[None] * len(Entry._fields)))
        return rows

    def _heads(self, data, session, match_ids):
        # They come in the order of a set.
        found = [each for each in sorted(match_ids) if each in data.heads]
        return [
            (each, *data.heads[each][:2], data.ahead[each], data.erased[each]) for each in found
        ]

    def _listeners(self, data, session, name):
        others = (each for each in self.sessions.values() if each is not session)
        return [(sum(each.name == name for each in others),)]

    def _delete(self, data, session, before, limit):
        old = sorted((at, match_id) for match_id, at in data.ended.items() if at < before)[:limit]
        for _, match_id in old:
            for table in vars(data).values():
                if isinstance(table, dict):
                    table.pop(match_id, None)
        return [(match_id,) for _, match_id in old]

    def _snapshots(self, data, session, match_ids, versions, blobs):
        for match_id, version, blob in zip(match_ids, versions, blobs, strict=True):
            saved = data.snapshots.get(match_id)
            if saved is None or saved[0] < version:
                data.snapshots[match_id] = (version, blob)
        return []

    def _replace_ahead(self, data, session, ahead, match_id, version, digest, before, due):
        if (*data.heads[match_id][:2], data.ahead[match_id]) != (version, digest, before):
            return "UPDATE 0"
        data.ahead[match_id] = ahead
        data.due[match_id] = due
        if due is None:
            del data.due[match_id]
        return "UPDATE 1"

    def _names(self, data, session, match_id):
        session.erasing = []  # What is done when the transaction ends.
        columns = data.matches.get(match_id)
        return [(*columns, data.erased[match_id])] if columns else []

    def _joined(self, data, session, match_id):
        rows = enumerate(data.entries.get(match_id, ()), 1)
        return [(version, entry[1]) for version, entry in rows if entry[_ENTRY_NAMES]]

    def _erase_joined(self, data, session, names, match_id, version):
        def erase():
            entry = list(data.entries[match_id][version - 1])
            entry[_ENTRY_NAMES] = names
            data.entries[match_id][version - 1] = tuple(entry)

        session.erasing.append(erase)
        return []

    def _erase(self, data, session, *values):
        *changed, match_id = values
        before = data.matches[match_id]

        def erase():
            if data.matches.get(match_id) != before:
                raise asyncpg.DeadlockDetectedError("it has changed meanwhile")
            row = list(before)
            for name, value in zip(("key_names", "display_names", "salt"), changed, strict=True):
                row[Header._fields.index(name)] = value
            data.matches[match_id] = tuple(row)

        session.erasing.insert(0, erase)
        return []

    def _mark(self, data, session, erased, match_id):
        for erase in session.erasing:
            erase()
        data.erased[match_id] = erased
        return []

    def _reschedule(self, data, session, at, match_id, before):
        if data.due.get(match_id) != before:
            return "UPDATE 0"
        data.due[match_id] = at
        return "UPDATE 1"

    def _due(self, data, session, until, limit):
        found = [(match_id, at) for match_id, at in data.due.items() if at <= until]
        return sorted(found, key=lambda each: each[1])[:limit]

    def _live(self, data, session, creator):
        place = Header._fields.index("creator")
        live = (row for key, row in data.matches.items() if key not in data.ended)
        return [(sum(bool(creator) and row[place] == creator for row in live),)]

    def _idle(self, data, session, before, after_created, after_id, limit):
        created = Header._fields.index("created")
        found = []
        for match_id, row in data.matches.items():
            waits = match_id not in data.ended and match_id not in data.due
            idle = waits and max(row[created], data.heads[match_id][2]) < before
            if idle and (row[created], match_id) > (after_created, after_id):
                found.append((row[created], match_id))
        return sorted(found)[:limit]

    def _listed(self, data, session, sql, limit, *values):
        columns = {name: place for place, name in enumerate(Header._fields)}
        values = list(values)
        game = values.pop(0) if "game = $" in sql else None
        owner = values.pop(0) if "owner = $" in sql else None
        since = values.pop(0) if "created >= $" in sql else 0
        until = values.pop(0) if "created < $" in sql else math.inf
        before = tuple(values) if "(created, match_id) <" in sql else None
        rows = []
        for match_id, row in data.matches.items():
            ended = data.ended.get(match_id)
            if game not in (None, row[columns["game"]]):
                continue
            if owner not in (None, row[columns["owner"]]):
                continue
            if "ended IS" in sql and ("ended IS NOT NULL" in sql) == (ended is None):
                continue
            created = row[columns["created"]]
            if before is not None and (created, match_id) >= before:
                continue
            if not since <= created < until:
                continue
            head = (match_id, *data.heads[match_id])
            end = None if ended is None else data.feed[match_id][-1][1]
            rows.append((*self._facts(data, match_id), ended, *head, end))
        return sorted(rows, key=lambda row: (row[3], row[0]), reverse=True)[:limit]

    def _facts(self, data, match_id):
        # The columns FACTS.
        row = data.matches[match_id]
        facts = [row[Header._fields.index(name)] for name in _FACTS]
        return (*facts, data.seals[match_id])

    def _begin_epoch(self, data, session, epoch):
        data.incarnations.append((epoch, None))
        return []

    def _end_epoch(self, data, session, epoch):
        data.incarnations = [
            (each, data.last_told if each == epoch else begins)
            for each, begins in data.incarnations
        ]
        return []

    def _epochs(self, data, session, told):
        if session.standby:
            raise asyncpg.ObjectNotInPrerequisiteStateError("recovery is in progress")
        database = f"{SYSTEM}-{data.timeline:08X}"
        ended = None
        for number, (epoch, _) in enumerate(data.incarnations):
            if database + epoch == told:
                later = [begins for _, begins in data.incarnations[number + 1 :]]
                ended = min((each for each in later if each is not None), default=2**63 - 1)
        begun, until = data.begun
        settled = begun - 1 if self.loop.now < until else data.transaction
        return [(database, data.incarnations[-1][0], data.last_told, settled, ended)]

    def _updates(self, data, session, after, end, limit):
        rows = []
        for match_id, feed in data.feed.items():
            # Positions ascend, and most of what a match has is older than what is asked for.
            newer = len(feed)
            while newer and feed[newer - 1][0] > after:
                newer -= 1
            for version in range(newer, len(feed)):
                position, told = feed[version]
                if position <= end:
                    rows.append(self._update(data, match_id, version, position, told))
        rows.sort(key=lambda row: row[0])
        while limit < len(rows) and rows[limit - 1][0] == rows[limit][0]:
            limit += 1
        return rows[:limit]

    def _running(self, data, session, created, match_id, limit, owner=None):
        found = []
        for each, feed in data.feed.items():
            update = self._update(data, each, len(feed) - 1, *feed[-1])
            wanted = owner in (None, update[7]) and (update[4], each) > (created, match_id)
            if wanted and each not in data.ended:
                found.append(update)
        return sorted(found, key=lambda row: (row[4], row[1]))[:limit]

    def _update(self, data, match_id, version, position, told):
        facts = self._facts(data, match_id)
        at = data.entries[match_id][version - 1][2] if version else facts[3]
        return (position, *facts, version, at, told, match_id, *data.heads[match_id])

    def _clock(self, data, session):
        return [(time.time(),)]

    def _notify(self, data, session, channel, notice):
        if session.standby:
            raise asyncpg.ReadOnlySQLTransactionError("on a standby")
        for other in list(self.sessions.values()):
            if other.hear is None or other.standby:
                continue
            if self._rng.random() < self.loses_notifications:
                continue
            other.tell(session.process, channel, notice)
        return []


def _at(position, feed):
    return feed + queries.write_position(position)


_ENTRY_NAMES = Entry._fields.index("names")
_FACTS = queries.FACTS.split(", ")[:-1]
_NAMES = {
    tables._CREATE: "create",
    tables._APPEND: "append",
    tables._READ_HEADERS: "headers",
    tables._READ_ENTRIES: "entries",
    tables._READ_HEADS: "heads",
    tables.CLOCK: "clock",
    tables._COUNT_LISTENERS: "listeners",
    postgresql_feed._BEGIN_EPOCH: "begin_epoch",
    postgresql_feed._END_EPOCH: "end_epoch",
    postgresql_feed._READ_EPOCHS: "epochs",
    postgresql_feed._READ_UPDATES: "updates",
    queries.list_running(None, (0, ""), 0)[0]: "running",
    queries.list_running("", (0, ""), 0)[0]: "running",
    tables._DELETE_ENDED: "delete",
    tables._WRITE_SNAPSHOTS: "snapshots",
    queries.REPLACE_AHEAD: "replace_ahead",
    queries.RESCHEDULE: "reschedule",
    queries.erasing("", 0, tables._LOCK_HEAD).send(None)[0]: "names",
    queries._JOINED: "joined",
    queries._ERASE_JOINED: "erase_joined",
    queries._ERASE: "erase",
    queries._MARK: "mark",
    queries._IS_THERE: "nothing",
    queries.LIST_SEATS: "nothing",
    queries.READ_DUE: "due",
    queries.COUNT_LIVE: "live",
    queries.LIST_PLAYERS: "nothing",
    queries.READ_IDLE: "idle",
    **dict.fromkeys((tables.SCHEMA, tables._CHAIN, tables._CHAINED), "nothing"),
    **dict.fromkeys((tables._AHEAD, tables._LISTS, tables._NAMES, tables._OFFERS), "nothing"),
}
_STARTS = (
    ("SELECT pg_notify", "notify"),
    ("SELECT pg_backend_pid", "process"),
    ("SELECT oid FROM pg_database", "database"),
    ("SELECT pg_advisory", "nothing"),
    ("CREATE TABLE IF NOT EXISTS croupier_schema", "nothing"),
    ("SELECT version FROM croupier_schema", "schema"),
    ("INSERT INTO croupier_schema", "set_schema"),
    ("UPDATE croupier_schema", "set_schema"),
    ("SELECT set_config", "nothing"),
    ("INSERT INTO settings", "keep_key"),
    ("SELECT value FROM settings", "key"),
    ("SELECT match_id FROM matches", "ids"),
    ("SELECT match_id, game", "listed"),
)
_WRITES = {
    "append",
    "begin_epoch",
    "end_epoch",
    "create",
    "delete",
    "erase",
    "erase_joined",
    "keep_key",
    "mark",
    "reschedule",
    "replace_ahead",
}
_WRITES |= {"set_schema", "snapshots"}

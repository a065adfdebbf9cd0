"""The log of the matches, and where it is kept: in memory, in a SQLite file or in PostgreSQL."""

from service.store.chain import Entry as Entry
from service.store.interface import ANOTHER_LOG as ANOTHER_LOG
from service.store.interface import KEY_BYTES as KEY_BYTES
from service.store.interface import DueMatch as DueMatch
from service.store.interface import Head as Head
from service.store.interface import Header as Header
from service.store.interface import HeldSeats as HeldSeats
from service.store.interface import IdleMatch as IdleMatch
from service.store.interface import Later as Later
from service.store.interface import ListedMatch as ListedMatch
from service.store.interface import Listener as Listener
from service.store.interface import MatchStatus as MatchStatus
from service.store.interface import Position as Position
from service.store.interface import Query as Query
from service.store.interface import Seated as Seated
from service.store.interface import Snapshot as Snapshot
from service.store.interface import Store as Store
from service.store.interface import StoredMatch as StoredMatch
from service.store.interface import Update as Update
from service.store.interface import Updates as Updates
from service.store.memory import MemoryStore as MemoryStore
from service.store.sqlite import SqliteStore as SqliteStore

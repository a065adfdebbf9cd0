"""The messages of any game, also of one that brings its own schema, which the catalog tells."""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from croupier.v1 import catalog_pb2, game_pb2

PACKAGED = "packaged"  # The field of a game that brings its own schema.


class GameMessages:
    """Reads and writes what the messages over all games hold of one game."""

    def __init__(self, game: catalog_pb2.Game) -> None:
        """`game` is as Client.game() returns it: the schema is only there."""
        self.name = game.name.removeprefix("games/")
        self._pool = _pool(game.schema) if game.schema else None
        self._default = game.default_ruleset

    def read(self, message: Any, oneof: str = "game") -> Any:
        """Returns the game's own part of a ruleset, an action, a view or an event.

        `oneof` is "event" for an event; one that belongs to no game is returned as it is. Raises
        ValueError for a message of another schema.
        """
        name = message.WhichOneof(oneof)
        inner = getattr(message, name) if name else message
        if name != PACKAGED:
            return inner
        read = self._type(inner.type_url)()
        inner.Unpack(read)
        return read

    def is_event(self, event: game_pb2.MatchEvent) -> bool:
        """Returns whether an event belongs to the game, and not to the match around it."""
        return event.WhichOneof("event") in (self.name, PACKAGED)

    def new_ruleset(self) -> Message:
        """Returns the ruleset message of the game with no option set; raises ValueError."""
        if self._default.WhichOneof("game") == PACKAGED:
            return self._type(self._default.packaged.type_url)()
        if self.name not in game_pb2.Ruleset.DESCRIPTOR.fields_by_name:
            raise ValueError(f"this client does not know the messages of {self.name}")
        inner: Message = getattr(game_pb2.Ruleset(), self.name)
        return type(inner)()

    def ruleset(self, inner: Message) -> game_pb2.Ruleset:
        """Returns a ruleset of the game as the message over all games."""
        ruleset = game_pb2.Ruleset()
        if self._default.WhichOneof("game") == PACKAGED:
            ruleset.packaged.Pack(inner)
        else:
            field = getattr(ruleset, self.name)
            field.SetInParent()
            field.CopyFrom(inner)
        return ruleset

    def _type(self, type_url: str) -> type[Message]:
        name = type_url.rpartition("/")[2]
        if self._pool is None:
            raise ValueError(f"{name} is no message of {self.name}")
        try:
            described = self._pool.FindMessageTypeByName(name)
        except KeyError:
            raise ValueError(f"{name} is no message of {self.name}") from None
        return message_factory.GetMessageClass(described)


@cache
def _pool(schema: bytes) -> descriptor_pool.DescriptorPool:
    # A pool of its own, since two servers can have different schemas of one name.
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(schema).file:
        pool.Add(file)
    return pool

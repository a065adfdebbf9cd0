"""What the fuzzers run: each target decodes bytes from outside, and plays on with what is accepted.

A target refuses bytes by one of the errors that it documents. Whatever else happens is a fault: any
other exception, a crash, a hang, a result that does not survive a round trip, or an accepted
position that cannot be played to its end.
"""

import random
import zlib
from functools import cached_property

from google.protobuf import json_format
from google.protobuf.message import DecodeError

import wire
from ai.search import search
from croupier.v1 import feed_pb2, game_pb2, hint_pb2, match_pb2, puzzle_pb2, review_pb2
from engine.errors import ActionError, ViewError
from engine.game import SPECTATOR, SeatView
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from service.api.authentication import Tokens
from service.api.hint_service import read_limits, read_sent_view
from service.api.match_service import page_token, read_page
from service.gateway import protojson
from service.hosting.entries import EntryKind
from service.hosting.history import read_snapshot
from service.hosting.match_state import MatchState
from service.hosting.records import RecordError, verify, write_record
from service.hosting.seats import Caller
from service.searching.hints import check
from service.searching.pool import Limits
from service.searching.tasks import Kind, Requester, SearchTask
from service.store import Entry, Header, ListedMatch, Query
from tests.support.facts import facts_of
from tests.support.play import game_of, seeded
from wire.errors import Refusal
from wire.validation import first_violation

MAX_BYTES = 1 << 16
_MAX_DECISIONS = 2000  # No match of any ruleset takes as many joint actions.


class Refused(Exception):
    """Bytes that a target does not accept."""


class Target:
    """Decodes bytes. `run` raises Refused, or any other exception for a fault."""

    def seeds(self):
        """Valid inputs to begin with."""
        raise NotImplementedError

    def run(self, data):
        raise NotImplementedError

    def mutate(self, data, mutator, other=b""):
        """Return changed bytes; parts may come from `other`."""
        return mutator.damage(data)


class MessageTarget(Target):
    """Decodes a serialized message as the handlers of gRPC do."""

    kind = None

    def run(self, data):
        self.take(read_message(self.kind, data))

    def take(self, message):
        raise NotImplementedError

    def mutate(self, data, mutator, other=b""):
        return mutator.mutate(self.kind, data, other)


def read_message(kind, data):
    """A message that follows the rules of the schema."""
    try:
        message = kind.FromString(data)
    except DecodeError:
        raise Refused from None
    if first_violation(message) is not None:
        raise Refused
    message.DiscardUnknownFields()
    return message


def refusing(function, *arguments):
    """The result of a function that may raise one of the errors that callers are answered with."""
    try:
        return function(*arguments)
    except (ActionError, ViewError) as error:
        assert error.rule
        raise Refused from None
    except Refusal as refusal:
        assert refusal.status.code != 13, refusal  # INTERNAL
        raise Refused from None


def chosen_of(items, data):
    """The item that the first byte chooses."""
    if not data:
        raise Refused
    return items[data[0] % len(items)]


def hosted_rulesets():
    """Each hosted game under each ruleset of its facts."""
    for game_id in wire.hosted_games():
        facts = facts_of(game_id)
        for name in (*facts.rulesets, *facts.small_rulesets):
            yield game_of(game_id, name)[0]


def random_positions(game, rng):
    """The positions of a random match."""
    position = Position.deal(game, rng.getrandbits(60))
    while not position.over:
        yield position.copy()
        joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, rng.getrandbits(60))


def play_to_the_end(position, seed):
    """Play random actions to the end. Every view on the way must have the world that it is of."""
    rng = random.Random(seed)
    for _ in range(_MAX_DECISIONS):
        if position.over:
            assert abs(sum(position.scores) - 1) < 1e-9
            return
        joint = {seat: rng.choice(position.legal(seat)) for seat in position.deciders}
        position.apply(joint, rng.getrandbits(60))
    raise AssertionError("the match does not end")


def take_view(view, data):
    """Search a view that was read, and play on in its worlds."""
    sampler = refusing(Sampler.of, view)
    chosen = zlib.crc32(data)
    world = sampler.sample(chosen)
    assert world.view(view.seat) == view
    PlayoutPolicy.uniform(view.game).playouts(world, 2, chosen)
    if chosen % 16 == 0:
        play_to_the_end(world.copy(), chosen)
        sampler.beliefs(5, chosen)
        if world.legal(view.seat):
            search(view, iterations=10, seed=chosen)


class Views(MessageTarget):
    """Views in requests for hints."""

    kind = game_pb2.View

    def seeds(self):
        rng = seeded("fuzz views")
        for game in hosted_rulesets():
            ruleset = wire.write_ruleset(game)
            for position in list(random_positions(game, rng))[:: rng.choice((2, 3, 5))]:
                seat = rng.choice(position.deciders)
                message = game_pb2.View(seat=seat, deciders=position.deciders, ruleset=ruleset)
                message.MergeFromString(wire.write_view(game, position.view(seat)))
                yield message.SerializeToString()

    def take(self, message):
        view = refusing(read_sent_view, message)
        take_view(view, message.SerializeToString(deterministic=True))


class StructTarget(Target):
    """Decodes structs, of which the first byte chooses the game and its ruleset."""

    @cached_property
    def _games(self):
        return list(hosted_rulesets())


class ViewBytes(StructTarget):
    """The structs of views."""

    def seeds(self):
        rng = seeded("fuzz view bytes")
        for number, game in enumerate(self._games):
            for position in list(random_positions(game, rng))[::7]:
                view = position.view(rng.choice((0, 1, SPECTATOR)))
                yield bytes([number]) + bytes(view).rstrip(b"\0")

    def run(self, data):
        game = chosen_of(self._games, data)
        # A struct ends in many zeros, which the input leaves out.
        whole = data[1:].ljust(len(bytes(Position.deal(game, 0).view(0))), b"\0")
        view = refusing(SeatView, game, whole)
        fields = view.fields
        again = refusing(SeatView.from_fields, game, fields)
        assert again.fields == fields
        take_view(again, data)


class StateBytes(StructTarget):
    """The structs of states."""

    def seeds(self):
        rng = seeded("fuzz state bytes")
        for number, game in enumerate(self._games):
            for position in list(random_positions(game, rng))[::7]:
                yield bytes([number]) + bytes(position).rstrip(b"\0")

    def run(self, data):
        game = chosen_of(self._games, data)
        try:
            game.read_state(data[1:])
        except ValueError:
            pass
        else:
            assert len(data) - 1 == len(bytes(Position.deal(game, 0)))
        whole = data[1:].ljust(len(bytes(Position.deal(game, 0))), b"\0")
        try:
            position = Position.from_bytes(game, whole)
        except ValueError:
            raise Refused from None
        fields = position.fields
        assert Position.from_fields(game, fields).fields == fields


class Rulesets(MessageTarget):
    """Rulesets of matches and of views."""

    kind = game_pb2.Ruleset

    def seeds(self):
        for game in hosted_rulesets():
            yield wire.write_ruleset(game).SerializeToString()
            yield game_pb2.Ruleset(**{game.id: {}}).SerializeToString()

    def take(self, message):
        game = refusing(wire.read_ruleset, message, "ruleset")
        written = wire.write_ruleset(game)
        assert first_violation(written) is None
        assert wire.read_ruleset(written, "ruleset").ruleset == game.ruleset
        chosen = zlib.crc32(message.SerializeToString(deterministic=True))
        position = Position.deal(game, chosen)
        take_dealt(position, chosen)
        PlayoutPolicy.uniform(game).playouts(position, 2, chosen)
        if chosen % 4 == 0:
            play_to_the_end(position, chosen)


def take_dealt(position, chosen):
    """Write the views of a position, and read that of a seat which must decide."""
    game = position.game
    for viewer in (0, 1, SPECTATOR):
        wire.write_view(game, position.view(viewer))
    seat = position.deciders[chosen % len(position.deciders)]
    message = game_pb2.View(seat=seat, ruleset=wire.write_ruleset(game))
    message.MergeFromString(wire.write_view(game, position.view(seat)))
    assert first_violation(message) is None
    assert wire.read_view(message, "view") == position.view(seat)


class Actions(MessageTarget):
    """Actions, each in some positions of its game."""

    kind = game_pb2.MatchAction

    @cached_property
    def _positions(self):
        rng = seeded("fuzz actions")
        positions = {}
        for game in hosted_rulesets():
            some = list(random_positions(game, rng))
            positions.setdefault(game.id, []).extend(rng.sample(some, min(4, len(some))))
        return positions

    def seeds(self):
        for positions in self._positions.values():
            for position in positions:
                for seat in position.deciders:
                    for action in position.legal(seat)[:20]:
                        yield wire.serialize_action(position.game, action)

    def take(self, message):
        accepted = False
        # Messages of a game that this server does not have are refused before.
        for position in self._positions.get(wire.game_of(message), ()):
            game = position.game
            once = wire.canonical_action(game, message)
            assert wire.canonical_action(game, game_pb2.MatchAction.FromString(once)) == once
            for seat in position.deciders:
                try:
                    action = refusing(wire.read_action, game, message)
                    refusing(position.check, seat, action)
                except Refused:
                    continue
                accepted = True
                assert wire.read_action(game, wire.write_action(game, action)) == action
                joint = {each: position.legal(each)[0] for each in position.deciders}
                after = position.copy()
                after.apply({**joint, seat: action}, 1)
                PlayoutPolicy.uniform(game).playouts(after, 1, 1)
        if not accepted:
            raise Refused


class Records(MessageTarget):
    """Records that are given to `croupier verify`."""

    kind = match_pb2.MatchRecord

    def seeds(self):
        for game_id in wire.hosted_games():
            for seed in range(3):
                rng = seeded("fuzz records", game_id, seed)
                state = random_match(game_id, rng)
                yield write_record(state).SerializeToString()

    def run(self, data):
        try:
            record = match_pb2.MatchRecord.FromString(data)
        except DecodeError:
            raise Refused from None
        try:
            state = verify(record)
        except RecordError as error:
            assert str(error)
            raise Refused from None
        assert write_record(state) == record


def random_match(game_id, rng, most=1000):
    """A match state after random decisions, over unless there would be more than `most`."""
    ruleset = game_pb2.Ruleset(**{game_id: {}}).SerializeToString()
    header = Header("fuzz", game_id, ruleset, 1, rng.randbytes(32), "fuzz", (0, 0), 5)
    rules_version = wire.hosted_games()[game_id].rules_version
    state = MatchState.begin(header._replace(rules_version=rules_version))
    while not state.over and state.version < most:
        seat = rng.choice(state.deciders)
        action = wire.serialize_action(state.game, rng.choice(state.dealt().legal(seat)))
        state = state.after(Entry(EntryKind.ACTION, seat, 6, action, state.version))
    return state


class Snapshots(Target):
    """Snapshots of matches, of which the first byte chooses the match."""

    @cached_property
    def _states(self):
        return [
            random_match(game_id, seeded("fuzz snapshots", game_id), 9)
            for game_id in wire.hosted_games()
        ]

    def seeds(self):
        for number, state in enumerate(self._states):
            yield bytes([number]) + state.snapshot().data

    def run(self, data):
        state = chosen_of(self._states, data)
        good = state.snapshot()
        broken = good._replace(data=data[1:])
        read = read_snapshot(state.game, None, broken, state.head.digest)
        if read is None:
            assert data[1:] != good.data
            raise Refused
        assert data[1:] == good.data
        match, _, undo = read
        assert (match, undo) == (state.match, state.undo)
        assert Match.from_bytes(state.game, bytes(match)) == match


class Requests(Target):
    """Requests of all methods, of which the first byte chooses the method, as far as they are read.

    Requests for hints are checked completely, without the search.
    """

    kinds = tuple(
        method.input_type._concrete_class
        for file in (match_pb2, feed_pb2, hint_pb2, review_pb2, puzzle_pb2)
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    )

    def seeds(self):
        rng = seeded("fuzz requests")
        views = list(Views().seeds())
        for number, kind in enumerate(self.kinds):
            if "search" in kind.DESCRIPTOR.fields_by_name:
                for data in rng.sample(views, 20):
                    view = game_pb2.View.FromString(data)
                    search = hint_pb2.Search(
                        view=view, limits={"iterations": 1}, seed=rng.getrandbits(64)
                    )
                    request = kind(search=search)
                    yield bytes([number]) + request.SerializeToString()
            elif "ruleset" in kind.DESCRIPTOR.fields_by_name:
                for data in Rulesets().seeds():
                    request = kind(ruleset=game_pb2.Ruleset.FromString(data))
                    yield bytes([number]) + request.SerializeToString()
            elif "created_since" in kind.DESCRIPTOR.fields_by_name:
                listed = ListedMatch("a", "b", (0, 0), 1, 2, 3, 1, 2)
                token = page_token(Query("", None), listed, listed)
                yield bytes([number]) + kind(page_token=token).SerializeToString()
            else:
                named = {"name": "matches/fuzz"} if "name" in kind.DESCRIPTOR.fields_by_name else {}
                yield bytes([number]) + kind(**named).SerializeToString()

    def run(self, data):
        request = read_message(chosen_of(self.kinds, data), data[1:])
        fields = request.DESCRIPTOR.fields_by_name
        if "created_since" in fields:
            query, size = refusing(read_page, request)
            assert size > 0
            assert query.before is None or query.before[1].isalnum()
        elif "search" in fields and request.search.WhichOneof("position") == "view":
            limits = read_limits(request.search, Limits(1))
            view = refusing(read_sent_view, request.search.view)
            task = SearchTask(Requester(Kind.HINT, ""), request.search, view, limits)
            checked = refusing(check, task)
            assert checked.actions is None or checked.actions
        elif "ruleset" in fields:
            refusing(wire.read_ruleset, request.ruleset, "ruleset")

    def mutate(self, data, mutator, other=b""):
        if not data:
            return b"\0"
        kind = self.kinds[data[0] % len(self.kinds)]
        same = other[:1] == data[:1]
        return data[:1] + mutator.mutate(kind, data[1:], other[1:] if same else b"")


class Json(Target):
    """Requests in JSON, after a byte that chooses the method."""

    def seeds(self):
        for data in Requests().seeds():
            request = Requests.kinds[data[0]].FromString(data[1:])
            yield data[:1] + json_format.MessageToJson(request, indent=None).encode()

    def run(self, data):
        kind = chosen_of(Requests.kinds, data)
        message = refusing(protojson.parse, kind, data[1:])
        again = protojson.parse(kind, json_format.MessageToJson(message).encode())
        # As bytes, since NaN does not equal itself.
        assert again.SerializeToString() == message.SerializeToString()


class TokensInHeaders(Target):
    """Tokens of callers, as the header has them."""

    _tokens = Tokens(bytes(range(32)))
    _callers = (Caller("fuzz", 0), Caller("fuzz", 1), Caller("a" * 40, SPECTATOR))

    def seeds(self):
        for caller in self._callers:
            yield b"Bearer " + self._tokens.make(caller).encode()

    def run(self, data):
        # gRPC lets only ASCII through.
        caller = refusing(self._tokens.read, data.decode("ascii", "replace"))
        assert caller in self._callers


TARGETS = {
    "views": Views,
    "view_bytes": ViewBytes,
    "state_bytes": StateBytes,
    "rulesets": Rulesets,
    "actions": Actions,
    "records": Records,
    "snapshots": Snapshots,
    "requests": Requests,
    "json": Json,
    "tokens": TokensInHeaders,
}

"""Rulesets, views and actions of every game survive a round trip through their messages."""

import re
from types import MappingProxyType

import pytest
from google.protobuf.empty_pb2 import Empty
from protovalidate import Validator

import wire
from croupier.v1 import game_pb2, hint_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError, RulesetError, ViewError
from engine.events import Event
from engine.game import SPECTATOR
from engine.match import Match
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of, note_on_failure, random_secret, seeded
from tests.support.serving import hosted_cases, ruleset_of
from wire.errors import Refusal
from wire.translation import Translation
from wire.validation import first_violation

MATCHES = 3 if LONG_FORM else 1
VALIDATOR = Validator()


def positions(game, *seed):
    """Plays a random match, and yields it at each version with the events that led there."""
    rng = seeded(*seed)
    match = Match(game, random_secret(rng), "wire")
    events = match.events
    while True:
        yield match, events
        if match.over:
            return
        seat = rng.choice(match.deciders)
        events = match.apply(seat, rng.choice(match.legal(seat)))


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_rulesets_round_trip(game_id, name):
    game, _ = game_of(game_id, name)
    written = wire.write_ruleset(game)
    assert VALIDATOR.collect_violations(written) == []
    assert wire.read_ruleset(written, "ruleset").ruleset == game.ruleset


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_views_actions_and_events_round_trip(game_id, name):
    game, _ = game_of(game_id, name)
    ruleset = wire.write_ruleset(game)
    for seed in range(MATCHES):
        with note_on_failure(seed=seed):
            for match, events in positions(game, game_id, name, seed):
                for viewer in (0, 1, SPECTATOR):
                    check_view(game, ruleset, match, viewer)
                for seat in match.deciders:
                    for action in match.legal(seat):
                        message = wire.write_action(game, action)
                        assert VALIDATOR.collect_violations(message) == []
                        assert wire.read_action(game, message) == action
                for event in events:
                    message = wire.write_event(game, event, match.version)
                    assert message.WhichOneof("event") == game_id
                    assert getattr(message, game_id).WhichOneof("event")


def check_view(game, ruleset, match, viewer):
    view = match.view(viewer)
    written = wire.write_view(game, view)
    # The fields are in order, and no field has its default value.
    assert written == game_pb2.View.FromString(written).SerializeToString(deterministic=True)
    if viewer == SPECTATOR:
        return
    message = game_pb2.View(seat=viewer, ruleset=ruleset)
    message.MergeFromString(written)
    assert VALIDATOR.collect_violations(message) == []
    # The game's part of a view does not say how the match ended, and a view of a finished match
    # is never searched.
    if not match.over:
        assert bytes(wire.read_view(message, "view")) == bytes(view)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_every_kind_of_event_is_in_the_schema(game_id):
    # This includes the kinds that random play seldom produces.
    game = wire.hosted_games()[game_id]()
    for text in game.event_kinds.values():
        kind = text.partition(":")[0]
        message = wire.write_event(game, Event(kind, 0, (1,) * 8, 0), 1)
        happened = getattr(message, game_id)
        name = happened.WhichOneof("event")
        assert name in (kind.removesuffix("_hidden"), "dealt"), kind
        inner = getattr(happened, name)
        if name == kind and "count" in inner.DESCRIPTOR.fields_by_name:
            assert inner.count == len(inner.cards)


@pytest.mark.parametrize(
    ("game_id", "given", "field", "rule"),
    [
        ("champion_chess", {"hand": [1, 0]}, "hand[1]", "must be a card"),
        (
            "champion_chess",
            {"sides": [{}, {"memory": {"turns": [{}, {"aid": [0]}]}}]},
            "sides[1].memory.turns[1].aid[0]",
            "must be a card",
        ),
        (
            "champion_chess",
            {"sides": [{"memory": {"turns": [{}] * 49}}, {}]},
            "sides[0].memory.turns",
            "must have at most 48 items",
        ),
        ("castle_rampage", {"sides": [{}]}, "sides", "must have 2 items"),
        ("powershot_soccer", {"sides": [{}, {}], "hand": [60]}, "hand[0]", "must be a card"),
        ("skystones", {"board": [{}] * 8}, "board", "must have 9 squares"),
        (
            "skystones",
            {"board": [*[{}] * 8, {"card": 4}]},
            "board[8].owner",
            "must be set if a card lies there, and only then",
        ),
    ],
)
def test_a_view_that_does_not_fit_the_engine_is_refused_by_field(game_id, given, field, rule):
    message = game_pb2.View(seat=0, ruleset=ruleset_of(game_id), **{game_id: given})
    with pytest.raises(Refusal, match="^" + re.escape(f"view.{game_id}.{field}: {rule}")):
        wire.read_view(message, "view")


class Pair:
    event_kinds = MappingProxyType({})

    def empty_view(self):
        return {"seat": 0, "pair_count": 0, "pair": [0, 0]}


class OfOne(Translation):
    def view_fields(self, game, message):
        return super().view_fields(game, {"pair": [3]})


def test_an_array_of_two_that_has_a_count_may_be_shorter():
    read = OfOne(Pair).read_view(Pair(), Empty(), 0)
    assert read == {"seat": 0, "pair_count": 1, "pair": [3, 0]}


@pytest.mark.parametrize("game_id", ["castle_rampage", "champion_chess"])
def test_outputs_are_not_read(game_id):
    game, _ = game_of(game_id, "default")
    view = Match(game, bytes(32), "wire").view(0)
    message = game_pb2.View(seat=0, ruleset=wire.write_ruleset(game))
    message.MergeFromString(wire.write_view(game, view))
    seen = getattr(message, game_id)
    for unseen in (seen.unseen,) if game_id == "castle_rampage" else (s.unseen for s in seen.sides):
        unseen.append(0)
    assert bytes(wire.read_view(message, "view")) == bytes(view)


def test_a_choice_under_another_name_is_refused():
    # The schema has three fields for what is one number in the engine.
    game = wire.hosted_games()["castle_rampage"]()
    for card, name, choice in (
        ("VOLLEY", "unit", "CASTLE_RAMPAGE_UNIT_KNIGHT"),
        ("PRIEST", "extra", True),
        ("SABOTEUR", "extra", True),
        ("KNIGHT", "permanent", "CASTLE_RAMPAGE_CARD_CATAPULT"),
    ):
        play = {"card": f"CASTLE_RAMPAGE_CARD_{card}", name: choice}
        with pytest.raises(ActionError, match="must not be set for this card") as caught:
            wire.read_action(game, game_pb2.MatchAction(castle_rampage={"play": play}))
        assert caught.value.field == name
    without = game_pb2.MatchAction(castle_rampage={"play": {"card": "CASTLE_RAMPAGE_CARD_VOLLEY"}})
    written = game_pb2.MatchAction.FromString(wire.canonical_action(game, without))
    assert written.castle_rampage.play.HasField("extra")
    assert wire.read_action(game, without) == wire.read_action(game, written)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_field_of_a_ruleset_is_named_by_its_path(game_id):
    game = wire.hosted_games()[game_id]

    def refuse(self, given):
        raise RulesetError("cards[2].copies", "must be otherwise")

    broken = type(game.__name__, (game,), {"read_ruleset": refuse})
    wire._game.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(wire.hosted_games(), game_id, broken)
        with pytest.raises(Refusal) as caught:
            wire.read_ruleset(ruleset_of(game_id), "view.ruleset")
    assert f"view.ruleset.{game_id}.cards[2].copies" in str(caught.value.status)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_paths_of_view_errors_are_those_of_the_schema(game_id):
    # Every prefix that the wire module replaces must lead to a field of the view.
    view = getattr(game_pb2.View(), game_id)
    for start, instead in wire._translation(game_id).view_paths.items():
        error = ViewError(f"{start}x", "must be otherwise")
        refusal = wire.inconsistent_view(error, game_id, "view")
        assert f"view.{game_id}.{instead}x" in str(refusal)
        name = instead.partition("[")[0].rstrip(".")
        assert not name or name in view.DESCRIPTOR.fields_by_name


def test_a_refusal_lists_no_value_that_it_refuses():
    search = hint_pb2.Search(match_name="matches/a", strength="BOT_STRENGTH_RANDOM")
    said = first_violation(search).rule
    assert "BOT_STRENGTH_BEGINNER" in said and "RANDOM" not in said


def test_a_refusal_says_what_has_no_form_in_utf_8_by_question_marks():
    refusal = Refusal(ErrorReason.ERROR_REASON_INTERNAL, "\ud800", fields=[("a", "B", "\udfff!")])
    assert refusal.status.message == "?" and len(refusal.status.details) == 2

"""What was learned of a game, at a server: hints and bots play by it, and name it."""

from functools import partial

import pytest

from ai.strengths import PERSONS_SHARPNESS
from croupier.v1 import catalog_pb2, game_pb2, match_pb2
from engine import games, model
from service.running.server import Options, Server
from service.searching.options import name_opponent, opponent_sharpness, read_models
from tests.support.models import random_model
from tests.support.serving import OPEN, as_bytes, bot, ruleset_of

LIMITS = {"iterations": 300}
PAST = 14  # The version from which the opponent has made choices.


@pytest.fixture
def weights_file(tmp_path, monkeypatch):
    """The file of weights of Skystones, which has none at first."""
    path = tmp_path / "weights.json"

    def file_of(game_class):
        return path if path.exists() and "skystones" in game_class.__module__ else None

    monkeypatch.setattr(model, "file_of", file_of)
    model._of_default_ruleset.cache_clear()
    yield path
    model._of_default_ruleset.cache_clear()


def learn(weights_file, **options):
    """Gives Skystones weights that were drawn at random, and returns their model."""
    used = random_model(games()["skystones"](), 1, **options)
    weights_file.write_text(used.write())
    model._of_default_ruleset.cache_clear()
    return used


@pytest.fixture
def start(start_client):
    """Starts a server that allows seeds, and returns a client of it."""
    return partial(start_client, allow_seeds=True)


def model_in_catalog(client, game_id="skystones"):
    request = catalog_pb2.GetGameRequest(name=f"games/{game_id}")
    return client.catalog.GetGame(request).game.model


def hint_of(client, ruleset=None, limits=LIMITS):
    table = client.create(ruleset or ruleset_of("skystones"), seed=1)
    return table.players[0].hint(limits, 7).hint


def test_a_model_without_uses_changes_a_hint_by_its_name_only(start, weights_file):
    without = start()
    assert model_in_catalog(without) == ""
    before = hint_of(without)
    assert before.model == ""
    used = learn(weights_file, uses=())
    client = start()
    assert model_in_catalog(client) == used.name
    after = hint_of(client)
    assert after.model == used.name
    after.ClearField("model")
    assert as_bytes(after) == as_bytes(before)


def test_hints_are_by_the_model(start, weights_file):
    before = hint_of(start())
    used = learn(weights_file)
    client = start()
    after = hint_of(client)
    assert after.model == used.name
    after.ClearField("model")
    assert as_bytes(after) != as_bytes(before)
    assert model_in_catalog(client, "champion_chess") == ""


def test_another_ruleset_is_searched_by_the_model_under_it(start, weights_file):
    other = ruleset_of("skystones")
    other.skystones.hand_limit = 24
    before = hint_of(start(), other)
    used = learn(weights_file)
    after = hint_of(start(), other)
    assert after.model == used.under(games()["skystones"]({"hand_limit": 24})).name != used.name
    after.ClearField("model")
    assert as_bytes(after) != as_bytes(before)


def test_bots_decide_by_the_model(start, weights_file):
    def play(client):
        seats = [bot("BEGINNER"), bot("BEGINNER")]
        table = client.create(ruleset_of("skystones"), seats, seed=3)
        list(table.spectator.watch())
        record = table.spectator.record()
        return record.model, [entry.action for entry in record.entries]

    name, before = play(start())
    assert name == ""
    used = learn(weights_file)
    name, after = play(start())
    assert name == used.name
    assert after != before


def with_a_past(client, opponent):
    """A player who must decide after choices of the opponent, and what it knows then."""
    table = client.create(ruleset_of("skystones"), [OPEN, opponent], seed=3)
    for _ in table.players[0].watch():
        for seat, player in table.players.items():
            view = player.view()
            if seat not in view.deciders:
                continue
            if seat == 0 and view.version >= PAST:
                return player, view
            player.submit(view.legal_actions[0], view.version)
    raise AssertionError


def test_a_hint_knows_how_strong_the_opponent_of_its_match_is(client):
    def hint(**position):
        metadata = player.metadata if "match_name" in position else None
        search = {"limits": LIMITS, "seed": 5, "belief_worlds": 500, **position}
        return as_bytes(client.hint_later(metadata, **search).result().hint)

    player, view = with_a_past(client, OPEN)
    by_person = hint(view=view)
    assert hint(match_name=player.match) == by_person
    by_strength = {}
    for strength in ("RANDOM", "BEGINNER", "CASUAL", "REGULAR", "SKILLED", "EXPERT"):
        view.players[1].bot.strength = strength
        by_strength[strength] = hint(view=view)
    # All differ, and only a regular bot tells as little of its cards as a person.
    assert len({*by_strength.values()}) == len(by_strength)
    assert by_strength["REGULAR"] == by_person
    view.players[1].bot.strength = "a strength of a newer server"
    assert hint(view=view) == by_person
    del view.players[:]
    assert hint(view=view) == by_person
    for strength in ("RANDOM", "CASUAL"):
        player, view = with_a_past(client, bot(strength))
        by_view = hint(view=view)
        assert hint(match_name=player.match) == by_view
        view.players[1].open.SetInParent()
        assert hint(view=view) != by_view


def test_a_bot_of_a_newer_server_is_taken_for_a_person():
    view = game_pb2.View(seat=1)
    name_opponent(view, match_pb2.BotStrength.BOT_STRENGTH_RANDOM)
    assert opponent_sharpness(view) == 0
    name_opponent(view, max(match_pb2.BotStrength.values()) + 1)
    assert opponent_sharpness(view) == PERSONS_SHARPNESS


def test_a_record_names_a_model_only_if_a_bot_plays_by_it(start, weights_file):
    used = learn(weights_file)
    client = start()
    table = client.create(ruleset_of("skystones"), seed=3)
    table.players[0].resign()
    assert table.spectator.record().model == ""
    other = client.create(ruleset_of("champion_chess"), [OPEN, bot("BEGINNER")], seed=3)
    other.players[0].resign()
    assert other.spectator.record().model == ""
    table = client.create(ruleset_of("skystones"), [OPEN, bot("BEGINNER")], seed=3)
    table.players[0].resign()
    assert table.spectator.record().model == used.name


def test_a_search_server_and_a_match_server_name_the_same_model(start, servers, weights_file):
    used = learn(weights_file)
    worker, address = servers.start_search_server()
    elsewhere, here = start(search_at=f"ipv4:{address}"), start()
    assert as_bytes(hint_of(elsewhere)) == as_bytes(hint_of(here))
    assert hint_of(elsewhere).model == used.name
    servers.stop(worker)


async def test_a_server_does_not_start_with_a_broken_model(weights_file):
    weights_file.write_text("{}")
    model._of_default_ruleset.cache_clear()
    with pytest.raises(ValueError, match=r"weights\.json: is not of the format"):
        Server(Options())
    with pytest.raises(ValueError, match=r"weights\.json"):
        read_models()

"""Bots play by themselves, and play the same with the same seed."""

from itertools import groupby

import pytest

import wire
from croupier.v1.match_pb2 import BotStrength
from lab.players import BotPlayer
from service.hosting.bots import Bots, _chance
from service.hosting.matches import Matches
from service.observability.metrics import Metrics
from service.searching.options import BOT_STRENGTHS
from service.store import MemoryStore
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.random_matches import begin, decide
from tests.support.searching import bot_searches
from tests.support.serving import OPEN, bot, hosted_cases, ruleset_of, simultaneous_games

BEGINNER = BotStrength.BOT_STRENGTH_BEGINNER


def record_of(table):
    """Waits for the end of a match, and returns its record without its name and times."""
    last = list(table.spectator.watch())[-1]
    assert last.view.HasField("result")
    record = table.spectator.record()
    for name in ("name", "create_time", "digest"):
        record.ClearField(name)
    for entry in record.entries:
        entry.ClearField("time")
    return record


@pytest.mark.parametrize(("game_id", "name"), hosted_cases())
def test_a_match_of_two_bots_runs_to_its_end(client, game_id, name):
    seats = [bot("RANDOM"), bot("BEGINNER")]
    table = client.create(ruleset_of(game_id, name), seats)
    assert not table.players
    assert record_of(table).entries


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_seed_repeats_a_match_of_bots(client, game_id):
    seats = [bot("BEGINNER"), bot("RANDOM")]
    ruleset = ruleset_of(game_id)
    records = [record_of(client.create(ruleset, seats, seed)) for seed in (5, 5, 6)]
    assert records[0] == records[1]
    assert records[0] != records[2]


def play_against_bot(table, rng):
    """Plays the open seat at random."""
    ((seat, player),) = table.players.items()
    answered = -1
    for response in player.watch():
        # The stream may lag behind: this seat's last action may be missing from it.
        if response.version >= answered and seat in response.view.deciders:
            action = rng.choice(response.view.legal_actions)
            answered = player.submit(action, response.version).version


def ordered_entries(record):
    """The entries of a record. Of a simultaneous decision, that of the lower seat comes first."""
    happened = []
    for kind, group in groupby(record.entries, key=lambda entry: entry.WhichOneof("entry")):
        entries = list(group)
        if kind == "action":
            entries = sorted((entry.action for entry in entries), key=lambda action: action.seat)
        happened += entries
    return happened


SEATINGS = [[OPEN, bot("CASUAL")], [bot("CASUAL"), OPEN]]
# The short form has each game with the bot in one of the seats.
SEATED = [
    (game_id, seats)
    for number, game_id in enumerate(wire.hosted_games())
    for seats in (SEATINGS if LONG_FORM else SEATINGS[number % 2 :][:1])
]


@pytest.mark.parametrize(("game_id", "seats"), SEATED)
def test_a_seed_and_the_same_actions_repeat_a_match_against_a_bot(client, game_id, seats):
    records = []
    for _ in range(2):
        table = client.create(ruleset_of(game_id), seats, seed=8)
        play_against_bot(table, seeded(game_id, "bot"))
        records.append(record_of(table))
    assert ordered_entries(records[0]) == ordered_entries(records[1])
    assert records[0].result == records[1].result


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_a_bot_decides_at_once_although_the_other_seat_has_not(client, game_id):
    table = client.create(ruleset_of(game_id), [OPEN, bot("BEGINNER")])
    watch = table.players[0].watch()
    assert next(watch).version == 0
    decided = next(watch)
    assert decided.version == 1
    assert list(decided.view.deciders) == [0]
    (event,) = decided.events
    assert event.seat_decided.seat == 1
    watch.cancel()


@pytest.mark.parametrize("game_id", simultaneous_games())
async def test_a_bot_decides_alike_whether_the_other_has_decided_or_not(game_id):
    before = begin(game_id, bots=(0, BEGINNER))
    after = decide(before, 0)
    searches, pool = bot_searches()
    bots = Bots(Matches(MemoryStore(), Metrics()), searches)
    for seed in range(10):
        one, other = (
            state._replace(header=state.header._replace(secret=bytes([seed]) * 32))
            for state in (before, after)
        )
        assert await bots._choose(one, 1) == await bots._choose(other, 1)
    pool.close()


@pytest.mark.parametrize("game_id", wire.hosted_games())
async def test_a_bot_decides_as_the_arena_measures_it(game_id):
    searches, pool = bot_searches()
    bots = Bots(Matches(MemoryStore(), Metrics()), searches)
    # Its model weighs what the opponent has chosen so far.
    past = 14 if game_id == "skystones" else 0
    for number, strength in BOT_STRENGTHS.items():
        state = begin(game_id, bots=(0, number))
        while state.version < past or 1 not in state.deciders:
            state = decide(state, state.deciders[0])
        view, legal = state.dealt().view(1), state.dealt().legal(1)
        for seed in range(10 if LONG_FORM else 2):
            state = state._replace(header=state.header._replace(secret=bytes([seed]) * 32))
            choice = BotPlayer(strength).choose(view, legal, _chance(state, 1))
            action = await bots._choose(state, 1)
            assert action == wire.write_action(state.game, choice.action)
    pool.close()

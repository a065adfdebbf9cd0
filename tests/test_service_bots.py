"""Bots play by themselves, alike for the same seed, and go on after a restart."""

import asyncio

import pytest

from croupier.v1.match_pb2 import BotStrength
from service import wire
from service.bots import Bots
from service.hosted import Hosted
from service.matches import Matches
from service.metrics import Metrics
from service.searches import Lane
from service.store import Entry, EntryKind, Header, MemoryStore, Standing
from service.tokens import Caller, Tokens, read_key
from tests.play import seeded
from tests.serving import OPEN, Client, Player, bot, hosted_cases, ruleset_of, simultaneous_games

BEGINNER = BotStrength.BOT_STRENGTH_BEGINNER


def record_of(table):
    """The record when the match is over, but for the name of the match and its times."""
    last = list(table.spectator.watch())[-1]
    assert last.view.HasField("result")
    record = table.spectator.record()
    for name in ("match", "create_time", "digest"):
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


@pytest.mark.parametrize("game_id", wire.hosted())
def test_a_seed_repeats_a_match_of_bots(client, game_id):
    seats = [bot("BEGINNER"), bot("RANDOM")]
    ruleset = ruleset_of(game_id)
    records = [record_of(client.create(ruleset, seats, seed)) for seed in (5, 5, 6)]
    assert records[0] == records[1]
    assert records[0] != records[2]


def play_against_bot(table, rng):
    """Plays the open seat at random, and returns what was seen."""
    (player,) = table.players.values()
    seen = []
    for response in player.watch():
        seen.append(response)
        (seat,) = table.players
        view = response.view
        if response.HasField("view") and seat in view.deciders:
            player.submit(rng.choice(view.legal_actions), response.version)
    return seen


@pytest.mark.parametrize("game_id", wire.hosted())
@pytest.mark.parametrize("seats", [[OPEN, bot("CASUAL")], [bot("CASUAL"), OPEN]])
def test_a_seed_and_the_same_actions_repeat_a_match_against_a_bot(client, game_id, seats):
    records = []
    for _ in range(2):
        table = client.create(ruleset_of(game_id), seats, seed=8)
        seen = play_against_bot(table, seeded(game_id, "bot"))
        records.append(record_of(table))
        # When the bot has decided would tell how long it searched: only the open seat shows.
        (seat,) = table.players
        decided = [
            event.seat_decided.seat
            for response in seen
            for event in response.events
            if event.HasField("seat_decided")
        ]
        assert set(decided) <= {seat}
    assert records[0] == records[1]


@pytest.mark.parametrize("game_id", wire.hosted())
def test_a_bot_goes_on_where_a_server_has_stopped(servers, tmp_path, game_id):
    # A log in which the open seat has decided and the bot has not.
    ruleset = ruleset_of(game_id)
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    store = MemoryStore()
    header = Header(
        match_id="stopped",
        game=game_id,
        ruleset=ruleset.SerializeToString(),
        rules_version=1,
        secret=bytes(32),
        chance_id="stopped",
        bots=(0, BotStrength.BOT_STRENGTH_RANDOM),
        created=0,
    )
    servers.run(store.create(header, Standing()))
    view = Hosted(header).view(0)
    if 0 in view.deciders:
        action = view.legal_actions[0].SerializeToString()
        entry = Entry(EntryKind.ACTION, 0, 0, action, 0, "before")
        servers.run(store.append("stopped", 0, entry, Standing()))

    server, address = servers.start(store, token_key_file=key)
    token = Tokens(read_key(key)).make(Caller("stopped", 0))
    player = Player(Client(address), "matches/stopped", token)
    responses = iter(player.watch())
    while True:
        latest = next(responses)
        if latest.HasField("view") and 0 in latest.view.deciders and latest.version > 0:
            break
    assert any(entry.seat == 1 for entry in servers.run(store.read("stopped", 0)))
    servers.stop(server)


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_a_bot_decides_alike_whether_the_other_has_decided_or_not(game_id):
    async def run():
        ruleset = ruleset_of(game_id).SerializeToString()
        before = Hosted(Header("one", game_id, ruleset, 1, bytes(32), "", (0, BEGINNER), 0))
        action = before.view(0).legal_actions[0].SerializeToString()
        after = before.after(Entry(EntryKind.ACTION, 0, 0, action))
        bots = Bots(Matches(MemoryStore(), Metrics()), Lane("bot", 1, Metrics()))
        for seed in range(10):
            for hosted in (before, after):
                hosted.header = hosted.header._replace(secret=bytes([seed]) * 32)
            assert await bots._choose(before, 1) == await bots._choose(after, 1)

    asyncio.run(run())


def test_a_change_while_a_bot_looks_is_not_missed():
    game_id = "champion_chess"
    ruleset = ruleset_of(game_id).SerializeToString()
    header = Header("one", game_id, ruleset, 1, bytes(32), "", (1, 1), 0)
    due = Hosted(header)
    idle = Hosted(header._replace(bots=(0, 0)))

    class Script:
        """Matches of which one changes while it is being read."""

        loads = 0

        async def load(self, match_id):
            self.loads += 1
            if self.loads == 1:
                self.on_change(due)
            return idle

    async def run():
        matches = Script()
        Bots(matches, Lane("bot", 1, Metrics()))
        matches.on_change(due)
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        await task
        assert matches.loads == 2

    asyncio.run(run())

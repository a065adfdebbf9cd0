"""The arena: its games, the repetition of its runs, and the output of its command."""

import json
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from ai.results import Parameters
from ai.search import search
from ai.strengths import STRENGTHS, random_action
from croupier.v1.match_pb2 import BotStrength
from engine import games
from engine.errors import ActionError
from engine.model import learned
from engine.position import Position
from lab import arena, players
from lab.arena import Pairing, Result, Task
from lab.elo import Sprt
from lab.player import Choice, ConfigurationError, shares_of
from lab.players import Configuration
from service.searching.options import BOT_STRENGTHS
from tests.support.commands import croupier

GAMES = list(games())
ARENA = [sys.executable, "-m", "cli", "arena"]


def pairing(game_id, first, second):
    return Pairing(game_id, Configuration.read(first), Configuration.read(second))


def figures(result):
    """The JSON of a result without the figures that depend on the clock."""
    found = json.loads(json.dumps(result.as_json()))
    for effort in found["efforts"]:
        del effort["seconds"]
    return found


@dataclass(frozen=True)
class Spy:
    """A player that plays the first legal action, or a given one, and records its views."""

    name: str
    seen: list = field(default_factory=list, compare=False)
    action: int | None = None

    def choose(self, view, legal, chance):
        self.seen.append((self.name, view, chance))
        return Choice(legal[0] if self.action is None else self.action, 0)


@pytest.fixture
def spies(monkeypatch):
    """The list in which two players, "left" and "right", record their views."""
    seen = []
    arena.player_of.cache_clear()
    for name in ("left", "right"):
        spy = Spy(name, seen)
        monkeypatch.setitem(players.KINDS, name, lambda configuration, spy=spy: spy)
    yield seen
    arena.player_of.cache_clear()


# Pairs


@pytest.mark.parametrize("game_id", GAMES)
def test_games_of_a_pair_share_their_chance_and_exchange_seats(game_id, spies):
    arena.play_pair(Task(game_id, "left", "right", 3, 5))
    # Both players play alike, so the second game is the first with the names exchanged.
    half = len(spies) // 2
    first, second = spies[:half], spies[half:]
    assert [(view, chance) for _, view, chance in first] == [
        (view, chance) for _, view, chance in second
    ]
    assert {(name, view.seat) for name, view, _ in first} == {("left", 0), ("right", 1)}
    assert {(name, view.seat) for name, view, _ in second} == {("left", 1), ("right", 0)}


@pytest.mark.parametrize("game_id", GAMES)
def test_other_pairs_and_seeds_have_other_deals(game_id):
    tasks = [Task(game_id, "random", "random", *divmod(n, 10)) for n in range(100)]
    assert len({arena.secret_of(task) for task in tasks}) == 100


def test_chance_of_a_player_differs_between_decisions(spies):
    for pair in range(3):
        arena.play_pair(Task("champion_chess", "left", "right", 1, pair))
    chances = [chance for _, _, chance in spies]
    assert len(set(chances)) == len(chances) / 2  # Each once in each game of its pair.


@pytest.mark.parametrize("game_id", GAMES)
@pytest.mark.parametrize("text", ["random", "search:iterations=30", "policy"])
def test_a_configuration_scores_half_of_every_pair_against_itself(game_id, text):
    result = arena.run(pairing(game_id, text, text), pairs=3, seed=8)
    assert result.outcomes == {0.5: 3}


def test_an_illegal_action_is_not_played(spies, monkeypatch):
    monkeypatch.setitem(players.KINDS, "cheat", lambda configuration: Spy("cheat", [], 99))
    with pytest.raises(ActionError):
        arena.run(pairing("skystones", "random", "cheat"), pairs=1)


# Runs


def test_a_run_repeats_with_any_number_of_workers():
    one = pairing("skystones", "search:iterations=30", "policy")
    alone = arena.run(one, pairs=6, seed=2)
    assert figures(alone) == figures(arena.run(one, pairs=6, seed=2, workers=2))
    assert figures(alone)["pairs"] != figures(arena.run(one, pairs=6, seed=3))["pairs"]


def test_more_pairs_begin_with_the_same_pairs():
    one = pairing("champion_chess", "search:iterations=30", "random")
    short = arena.run(one, pairs=3, seed=2)
    longer = arena.run(one, pairs=6, seed=2)
    assert [pair.scores for pair in longer.pairs[:3]] == [pair.scores for pair in short.pairs]


@pytest.mark.parametrize(
    ("first", "second", "pairs", "ended"),
    [
        ("beginner", "random", 25, "elo1"),
        ("random", "beginner", 25, "elo0"),
        ("random", "beginner", 1, "games"),
    ],
)
def test_sprt_ends_a_run(first, second, pairs, ended):
    result = arena.run(
        pairing("skystones", first, second), pairs=pairs, seed=1, sprt=Sprt(0, 100), workers=2
    )
    assert result.ended == ended
    assert (len(result.pairs) < pairs) == (ended != "games")
    # The last pair is the one that decided.
    before = Result(result.pairing, 1, result.sprt)
    for pair in result.pairs[:-1]:
        before.add(pair)
    assert result.sprt.verdict(before.outcomes) == ""


def test_a_search_beats_random_play_and_a_shorter_search():
    longer = ("search:iterations=200", "search:iterations=10")
    for stronger, weaker in (("beginner", "random"), longer):
        result = arena.run(pairing("skystones", stronger, weaker), pairs=20, seed=4)
        assert result.statistics()["elo"]["low"] > 0, (stronger, weaker)


def test_ladder_and_round_robin():
    a, b, c = (Configuration.read(text) for text in ("random", "beginner", "casual"))
    assert arena.pairings(["x"], [a, b, c], ladder=True) == [Pairing("x", b, a), Pairing("x", c, b)]
    found = [each[1:] for each in arena.pairings(["x", "y"], [a, b, c], ladder=False)]
    assert found == [(a, b), (a, c), (b, c)] * 2


# Configurations


@pytest.mark.parametrize(
    ("text", "player"),
    [
        (
            "search:iterations=20,exploration=0.7,threads=2,sequential_regret=true",
            players.SearchPlayer(20, 0, 2, Parameters(exploration=0.7, sequential_regret=True)),
        ),
        ("search: ms=100, sequential_regret=none", players.SearchPlayer(0, 0.1, 1, Parameters())),
        ("expert", players.BotPlayer(STRENGTHS["expert"])),
    ],
)
def test_configurations_are_read(text, player):
    assert Configuration.read(text).player() == player


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("searhc:ms=1", "no player 'searhc'"),
        ("search", "needs a limit"),
        ("search:iterations=0", "needs a limit"),
        ("search:iterations=many", "not a whole number"),
        ("search:iterations=2,exploration=x", "not a number"),
        ("search:iterations=2,sequential_regret=maybe", "not true or false"),
        ("search:iterations=2,iterations=3", "given twice"),
        ("search:iterations=2,depth=3", "depth is no option"),
        ("search:iterations", "not NAME=VALUE"),
        ("search:iterations=2,threads=0", "threads must be"),
        ("search:iterations=2,sharpness=1.5", "sharpness must be from 0 to 1"),
        ("random:ms=1", "ms is no option"),
        ("policy@HEAD", "only search"),
        ("search@:ms=1", "names no revision"),
        ("search@HEAD", "needs a limit"),
    ],
)
def test_an_error_names_the_fault_of_a_configuration(text, why):
    with pytest.raises(ConfigurationError, match=why):
        Configuration.read(text)


def test_workers_leave_each_thread_a_processor_if_time_counts(monkeypatch):
    monkeypatch.setattr(arena, "processors", lambda: 8)
    quick, timed = (
        [Configuration.read(f"search:{limit},threads=3"), Configuration.read("random")]
        for limit in ("iterations=9", "ms=9")
    )
    assert arena.workers_for(quick, None) == arena.workers_for(timed, None) == 2
    assert arena.workers_for(quick, 8) == 8
    assert arena.workers_for(timed, 1) == 1
    with pytest.raises(ConfigurationError, match="room for 2 workers, not 3"):
        arena.workers_for(timed, 3)


# Bots


def test_the_table_has_every_strength_of_a_bot():
    assert set(BOT_STRENGTHS) == set(BotStrength.values()) - {BotStrength.BOT_STRENGTH_UNSPECIFIED}
    assert list(BOT_STRENGTHS.values()) == list(STRENGTHS.values())


def test_a_bot_without_a_search_plays_each_action_equally_often():
    rng = random.Random(5)
    actions = [random_action((10, 20, 30), rng.getrandbits(256)) for _ in range(6000)]
    for action in (10, 20, 30):
        assert actions.count(action) / 6000 == pytest.approx(1 / 3, abs=0.03)


# A revision


def test_code_in_a_folder_plays_as_it_does_here():
    from lab.revision import ROOT, RevisionPlayer

    player = RevisionPlayer(ROOT, {"iterations": "200", "exploration": "0.6"})
    try:
        for game_id in GAMES:
            position = Position.deal(games()[game_id](), 11)
            seat = position.deciders[0]
            view = position.view(seat)
            choice = player.choose(view, position.legal(seat), 2**64 + 77)
            parameters, model = Parameters(exploration=0.6), learned(view.game)
            result = search(view, iterations=200, seed=77, parameters=parameters, model=model)
            assert choice == (result.action, 200, shares_of(result.actions))
    finally:
        player.close()


# The command


def run(*arguments, **options):
    return subprocess.run([*ARENA, *arguments], capture_output=True, text=True, **options)


NUMBER = (int, float)
INTERVAL = {"estimate": NUMBER, "low": NUMBER, "high": NUMBER}
SCHEMA = {
    "format": str,
    "versions": {
        **dict.fromkeys(("croupier", "python", "machine"), str),
        "revision": (str, type(None)),
        "processors": int,
    },
    "results": [
        {
            **dict.fromkeys(("game", "first", "second", "ended"), str),
            **dict.fromkeys(("rules_version", "seed"), int),
            "efforts": [{"decisions": int, "iterations": int, "seconds": NUMBER}],
            "pairs": [{"pair": int, "scores": [NUMBER], "actions": [int]}],
            "statistics": {
                **dict.fromkeys(("pairs", "games", "wins", "draws", "losses"), int),
                "outcomes": dict,
                "pentanomial": [int],
                "score": INTERVAL,
                "elo": dict.fromkeys(INTERVAL, (*NUMBER, type(None))),  # Or infinite.
                "normalized_elo": (int, float, type(None)),
                "score_by_seat": [NUMBER],
                "sprt": {
                    **dict.fromkeys(("elo0", "elo1", "alpha", "beta", "llr"), NUMBER),
                    "bounds": [NUMBER],
                    "verdict": (str, type(None)),
                },
            },
        }
    ],
}


def check_schema(value, schema, path="document"):
    if isinstance(schema, dict):
        assert set(value) == set(schema), path
        for key in schema:
            check_schema(value[key], schema[key], f"{path}.{key}")
    elif isinstance(schema, list):
        assert isinstance(value, list) and value, path
        for each in value:
            check_schema(each, schema[0], f"{path}[]")
    else:
        assert isinstance(value, schema), path


def test_command_plays_and_writes(tmp_path):
    written = tmp_path / "results.json"
    done = run(
        *("beginner", "random", "--game", "skystones,champion-chess", "--games", "8"),
        *("--sprt", "0,900", "--json", written),
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(written.read_text())
    check_schema(document, SCHEMA)
    assert [result["game"] for result in document["results"]] == ["skystones", "champion_chess"]
    for result in document["results"]:
        statistics = result["statistics"]
        assert statistics["games"] == 2 * len(result["pairs"])
        scores = [score for pair in result["pairs"] for score in pair["scores"]]
        estimate = pytest.approx(statistics["score"]["estimate"])
        assert sum(scores) / len(scores) == estimate == sum(statistics["score_by_seat"]) / 2
        assert sum(statistics["pentanomial"]) == len(result["pairs"])
        assert statistics["wins"] + statistics["draws"] + statistics["losses"] == len(scores)
        assert f"{result['game']}: beginner against random" in done.stdout
    assert "Ended" in done.stdout


def test_command_climbs_a_ladder():
    players = ("random", "beginner", "search:iterations=20")
    done = run("--ladder", *players, "--game", "all", "--games=2")
    assert (done.returncode, done.stderr) == (0, "")
    table = done.stdout[done.stdout.index("Player") :]
    assert all(game_id in table for game_id, game in games().items() if not game.reference)
    assert "kuhn_poker" not in table


@pytest.mark.parametrize(("workers", "number"), [("1", signal.SIGINT), ("2", signal.SIGTERM)])
def test_interrupted_command_prints_its_results_so_far(workers, number, tmp_path):
    written = tmp_path / "results.json"
    command = [*ARENA, "search:iterations=200", "random", "--game", "skystones", "--games=100000"]
    process = subprocess.Popen(
        [*command, "--workers", workers, "--json", written],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    assert process.stdout.readline().startswith("2 games, Elo")
    process.send_signal(number)
    # The pipes close when the last process ends, so the workers have ended, too.
    output, errors = process.communicate()
    assert (process.returncode, errors) == (130, "")
    assert "search:iterations=200 against random, interrupted" in output
    [result] = json.loads(written.read_text())["results"]
    assert result["ended"] == "interrupted"
    assert result["pairs"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["random", "--game", "skystones"], "needs two players"),
        (["random", "random", "random", "--game", "skystones"], "--ladder or --round-robin"),
        (["random", "random", "--game", "chess"], "no game 'chess'"),
        (["random", "fast", "--game", "skystones"], "no player 'fast'"),
        (["random", "random", "--game", "skystones", "--games", "3"], "not an even number"),
        (["random", "random", "--game", "skystones", "--sprt", "9,0"], "must be below the second"),
        (["random", "random", "--game", "skystones", "--json", "/no/where/x"], "no folder"),
        (["search@none:ms=1", "random", "--game", "skystones"], "no such revision"),
    ],
)
def test_command_names_the_fault_of_its_arguments(arguments, why):
    ended = croupier("arena", *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert why in ended.err

"""Puzzles: a position is shown without its answer, and the answer is told after an attempt."""

import asyncio
import random
import threading

import grpc
import pytest

import wire
from croupier.v1 import match_pb2, puzzle_pb2
from engine.errors import RulesFault
from engine.match import Match
from engine.sampler import Sampler
from service.common.event_loop import LongWork, finish_now
from service.puzzles import library, packs
from service.puzzles import library as library_module
from service.puzzles.lines import playing_line
from service.puzzles.packs import PackError, pack_of, read_pack, replaying, write_pack
from tests.support.long_form import LONG_FORM
from tests.support.serving import OPEN, Table, bot, play_on, refused

GAMES = tuple(wire.hosted_games())
LEAST = 100  # Puzzles of a game.
MAX_BYTES = 150_000
NOT_FOUND = grpc.StatusCode.NOT_FOUND


def pack(game):
    return pack_of(wire.hosted_games()[game])


def listed(client, game, **fields):
    request = puzzle_pb2.ListPuzzlesRequest(parent=f"games/{game}", **fields)
    return client.puzzles.ListPuzzles(request)


def shown(client, name):
    request = puzzle_pb2.GetPuzzleRequest(name=name)
    return client.puzzles.GetPuzzle(request).puzzle


def solved(client, name, action):
    request = puzzle_pb2.SolvePuzzleRequest(name=name, action=action)
    return client.puzzles.SolvePuzzle(request)


def test_a_page_token_is_valid_only_for_its_filters(client):
    token = listed(client, GAMES[0], page_size=1).next_page_token
    rest = listed(client, GAMES[0], page_size=1000, page_token=token).puzzles
    every = listed(client, GAMES[0], page_size=1000).puzzles
    assert list(rest) == list(every[1:])
    for game, wrong in (
        (GAMES[0], {"page_token": "x"}),
        (GAMES[0], {"page_token": token[:-4]}),
        (GAMES[0], {"page_token": every[0].name.rpartition("/")[2]}),
        (GAMES[0], {"page_token": token, "theme": every[0].theme or "other"}),
        (GAMES[1], {"page_token": token}),
    ):
        request = puzzle_pb2.ListPuzzlesRequest(parent=f"games/{game}", **wrong)
        assert refused(client.puzzles.ListPuzzles, request).reason == "INVALID_FIELD"


# The packs that are shipped


@pytest.mark.parametrize("game", GAMES)
def test_each_puzzle_can_be_set_and_has_a_legal_answer(game):
    found = pack(game)
    assert len(found.puzzles) >= LEAST
    assert len(write_pack(found)) <= MAX_BYTES
    names = [each.puzzle.name for each in found.puzzles]
    assert len(set(names)) == len(names)
    for each in found.puzzles:
        state = finish_now(replaying(each.record))
        seat, position = each.puzzle.origin.seat, state.dealt().position
        assert state.version == each.puzzle.origin.version
        assert seat in state.deciders
        assert len(position.legal(seat)) > 1
        position.check(seat, wire.read_action(state.game, each.hint.action))
        assert packs.name_of(state.dealt().view(seat)) == each.puzzle.name
        best, *others = each.hint.actions
        assert best.action == each.hint.action
        assert best.expected_score > max(other.expected_score for other in others)
        assert not any(entry.HasField("event") for entry in each.record.entries)


@pytest.mark.parametrize("game", [each for each in GAMES if each != "champion_chess"])
def test_answers_are_not_to_be_guessed_from_where_they_stand(game):
    # Neither the order of the puzzles nor that of the legal actions may tell. In Champion Chess the
    # King is the first action, and sending him is only ever clearly wrong (docs/puzzles.md).
    places = []
    for each in pack(game).puzzles:
        state = finish_now(replaying(each.record))
        legal = state.dealt().legal(each.puzzle.origin.seat)
        answer = wire.read_action(state.game, each.hint.action)
        places.append((legal.index(answer), len(legal)))
    first = sum(place == 0 for place, _ in places)
    last = sum(place == size - 1 for place, size in places)
    assert max(first, last) < 0.75 * len(places)


def test_a_pack_of_other_rules_is_refused_and_says_so():
    found = pack("skystones")
    found.rules_version += 1
    with pytest.raises(PackError, match="version 2 of its rules, and this is version 1"):
        read_pack(write_pack(found))
    for data in (b"", b"no gzip", write_pack(found)[:-20]):
        with pytest.raises(PackError, match=r"no pack|no game"):
            read_pack(data)


# The service


@pytest.mark.parametrize("game", GAMES)
def test_a_puzzle_is_solved_by_its_answer_alone(client, game):
    for each in pack(game).puzzles[:5]:
        puzzle = shown(client, each.puzzle.name)
        view = puzzle.view
        assert view.seat in view.deciders
        assert each.hint.action in view.legal_actions
        assert puzzle.origin == each.puzzle.origin
        for action in view.legal_actions:
            told = solved(client, puzzle.name, action)
            assert told.correct == (action == each.hint.action)
            assert told.hint == each.hint


def steps_of(state, each):
    return finish_now(playing_line(state, each))


@pytest.mark.parametrize("game", GAMES)
def test_a_solution_is_played_from_what_its_seat_knew(game, monkeypatch):
    whole, told, write = 0, [], wire.write_event
    monkeypatch.setattr(wire, "write_event", lambda *what: told.append(what[1]) or write(*what))
    for each in pack(game).puzzles[: 100 if LONG_FORM else 30]:
        state, seat = finish_now(replaying(each.record)), each.puzzle.origin.seat
        told.clear()
        steps = steps_of(state, each)
        assert all(event.seen_by(seat) for event in told)
        line = each.hint.actions[0].line
        whole += len(steps) == 1 + len(line)
        assert [step.version for step in steps] == [
            state.version + 1 + at for at in range(len(steps))
        ]
        for step in steps:
            assert (step.view.seat, step.view.version) == (seat, step.version)
            assert not step.view.legal_actions
        # In any world that the seat cannot tell from this one, they are the same.
        world = Sampler.of(state.dealt().view(seat)).sample(7)
        start = Match(state.game, bytes(32), "", state.version, world)
        assert steps_of(state._replace(match=start), each) == steps
    assert whole >= 0.95 * min(30, len(pack(game).puzzles))


async def test_a_line_is_played_once_however_often_it_is_asked_for(monkeypatch):
    played = []

    def playing(state, puzzle):
        played.append(puzzle.puzzle.name)
        return playing_line(state, puzzle)

    monkeypatch.setattr(library_module, "playing_line", playing)
    library = library_module.Library(LongWork())
    first, second = pack("skystones").puzzles[:2]
    lines = [await library.line(each) for each in (first, second, first, first)]
    assert lines[0] is lines[2] is lines[3] and lines[0] != lines[1]
    assert played == [first.puzzle.name, second.puzzle.name]


async def test_a_pack_is_read_once_however_many_ask_and_whoever_goes(monkeypatch):
    read, may_go_on = [], threading.Event()

    def reading(game_id):
        read.append(game_id)
        may_go_on.wait()
        return {}

    monkeypatch.setattr(library_module, "_read", reading)
    library = library_module.Library(LongWork())
    asking = [asyncio.create_task(library.puzzles("games/skystones")) for _ in range(5)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    late = asyncio.create_task(library.puzzles("games/skystones"))
    await asyncio.sleep(0)
    may_go_on.set()
    assert await asyncio.gather(*asking[1:], late) == [{}] * 5
    assert asking[0].cancelled() and read == ["skystones"]


async def test_a_pack_whose_game_fails_is_left_out_and_not_read_again(monkeypatch, caplog):
    def fail(game):
        raise RulesFault("planted", "skystones", "apply")

    monkeypatch.setattr(library_module, "pack_of", fail)
    library = library_module.Library(LongWork())
    for _ in range(2):
        assert await library.puzzles("games/skystones") == {}
    [line] = caplog.messages
    assert "the pack of puzzles of skystones failed: apply of the game skystones" in line


@pytest.mark.parametrize("game", GAMES)
def test_a_puzzle_is_played_on_against_the_computer_alone(client, game):
    for each in pack(game).puzzles[:3]:
        view, seat = shown(client, each.puzzle.name).view, each.puzzle.origin.seat
        request = match_pb2.CreateMatchRequest(
            ruleset=view.ruleset,
            seats=[OPEN if at == seat else bot("RANDOM") for at in (0, 1)],
            start_from={"puzzle_name": each.puzzle.name},
        )
        table = Table(client, client.matches.CreateMatch(request))
        begun = table.players[seat].view()
        if begun.version == 0:
            assert begun.legal_actions == view.legal_actions
            assert getattr(begun, game) == getattr(view, game)
        assert not begun.origin.logged
        play_on(table, random.Random(1))
        assert table.spectator.view().HasField("result")
        del request.seats[:]
        assert refused(client.matches.CreateMatch, request).reason == "INVALID_FIELD"
    request.start_from.puzzle_name = f"games/{game}/puzzles/0"
    assert refused(client.matches.CreateMatch, request).reason == "PUZZLE_NOT_FOUND"


@pytest.mark.parametrize("game", GAMES)
def test_a_view_of_a_puzzle_can_be_searched(client, game):
    view = shown(client, pack(game).puzzles[0].puzzle.name).view
    hint = client.hint(view, {"iterations": 100}).hint
    assert hint.action in view.legal_actions


def test_puzzles_are_listed_page_by_page(client):
    whole = listed(client, "skystones", page_size=1000)
    names = [each.name for each in whole.puzzles]
    assert names == sorted(names)
    assert whole.total_size == len(names) == len(pack("skystones").puzzles)
    assert not whole.next_page_token
    pages, token = [], ""
    while not pages or token:
        page = listed(client, "skystones", page_size=30, page_token=token)
        pages += page.puzzles
        token = page.next_page_token
    assert pages == list(whole.puzzles)
    assert not any(each.HasField("view") for each in pages)


def test_puzzles_are_listed_by_theme(client):
    whole = listed(client, "champion_chess", page_size=1000)
    themes = {each.theme for each in whole.puzzles}
    assert "champion" in themes
    for theme in themes:
        found = listed(client, "champion_chess", theme=theme, page_size=1000)
        assert list(found.puzzles) == [each for each in whole.puzzles if each.theme == theme]
        assert found.total_size == len(found.puzzles)
    assert listed(client, "champion_chess", theme="none").total_size == 0


def test_what_does_not_exist_is_not_found(client):
    request = puzzle_pb2.ListPuzzlesRequest(parent="games/whist")
    refusal = refused(client.puzzles.ListPuzzles, request)
    assert (refusal.code, refusal.reason) == (NOT_FOUND, "GAME_NOT_FOUND")
    name, action = "games/skystones/puzzles/0", pack("skystones").puzzles[0].hint.action
    for call, request in (
        (client.puzzles.GetPuzzle, puzzle_pb2.GetPuzzleRequest(name=name)),
        (
            client.puzzles.SolvePuzzle,
            puzzle_pb2.SolvePuzzleRequest(name=name, action=action),
        ),
    ):
        refusal = refused(call, request)
        assert (refusal.code, refusal.reason) == (NOT_FOUND, "PUZZLE_NOT_FOUND")
        assert refusal.metadata["puzzle"] == name


@pytest.mark.parametrize("game", GAMES)
def test_an_action_that_is_not_legal_tells_nothing(client, game):
    first, *others = pack(game).puzzles
    view = shown(client, first.puzzle.name).view
    illegal = next(
        each.hint.action for each in others if each.hint.action not in view.legal_actions
    )
    request = puzzle_pb2.SolvePuzzleRequest(name=first.puzzle.name, action=illegal)
    refusal = refused(client.puzzles.SolvePuzzle, request)
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "ILLEGAL_ACTION")
    other = next(each for each in GAMES if each != game)
    request.action.CopyFrom(pack(other).puzzles[0].hint.action)
    assert refused(client.puzzles.SolvePuzzle, request).reason == "INVALID_FIELD"


# Servers with other packs


@pytest.fixture
def start_with(start_client, monkeypatch):
    """Starts a server whose packs are given, or as they are shipped, and returns a client."""

    def start(**given):
        monkeypatch.setattr(library, "pack_of", lambda game: read_of(given, game))
        return start_client()

    return start


def read_of(given, game):
    return read_pack(write_pack(given[game.id]), game) if game.id in given else pack_of(game)


def with_other_answers(game):
    found = pack(game)
    for each in found.puzzles:
        each.hint.actions.reverse()
        each.hint.action.CopyFrom(each.hint.actions[0].action)
        each.hint.expected_score = 0.25
    return found


@pytest.mark.parametrize("game", GAMES)
def test_nothing_before_an_attempt_depends_on_the_answers(client, start_with, game):
    changed = with_other_answers(game)
    names = [each.name for each in listed(client, game, page_size=1000).puzzles]

    def told(asked):
        lists = [listed(asked, game, page_size=size).SerializeToString() for size in (7, 1000)]
        return lists + [shown(asked, name).SerializeToString() for name in names[:20]]

    plain = told(client)  # First: what is changed for a server is changed for all of the process.
    other = start_with(**{game: changed})
    assert told(other) == plain
    each = changed.puzzles[0]
    assert solved(other, each.puzzle.name, each.hint.action).correct
    assert not solved(client, each.puzzle.name, each.hint.action).correct


def test_puzzles_of_other_rules_are_left_out(start_with):
    old = pack("skystones")
    old.rules_version += 1
    client = start_with(skystones=old)
    assert listed(client, "skystones").total_size == 0
    assert listed(client, "champion_chess").total_size >= LEAST
    request = puzzle_pb2.GetPuzzleRequest(name=old.puzzles[0].puzzle.name)
    assert refused(client.puzzles.GetPuzzle, request).reason == "PUZZLE_NOT_FOUND"


def test_a_game_without_a_pack_has_no_puzzles(start_with, monkeypatch):
    client = start_with()
    monkeypatch.setattr(library, "pack_of", lambda game: None)
    assert listed(client, "skystones") == puzzle_pb2.ListPuzzlesResponse()

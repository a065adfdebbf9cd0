"""The Python client against a real server."""

import hashlib
import itertools
import re
import threading
import uuid

import grpc
import pytest

from croupier.client import (
    END_REASONS,
    HINT_POLICIES,
    INVITED,
    OPEN,
    Client,
    CroupierError,
    NewMatch,
    Seat,
    bot,
    clock,
)
from croupier.phrases import Words, ending_sentence, fields_of, over_sentence
from croupier.v1 import game_pb2
from tests.support.refusals import refused
from tests.support.waiting import FOREVER


def test_puzzles_are_listed_shown_and_solved(client: Client) -> None:
    names = list(client.puzzles("skystones"))
    assert len(names) >= 100
    assert names == list(client.puzzles("games/skystones", theme="place"))
    view = client.puzzle(names[0]).view
    told = [client.solve(names[0], action) for action in view.legal_actions]
    assert [each.correct for each in told].count(True) == 1
    assert all(each.hint.action in view.legal_actions for each in told)
    with pytest.raises(CroupierError) as refused:
        client.puzzle("games/skystones/puzzles/0")
    assert refused.value.reason == "PUZZLE_NOT_FOUND"


def test_the_catalog_is_listed_and_a_game_has_its_cards(client: Client) -> None:
    names = [game.name for game in client.games()]
    assert "games/champion_chess" in names
    by_long, by_short = client.game("games/champion_chess"), client.game("champion_chess")
    assert by_long == by_short
    assert [card.title for card in by_long.cards][:2] == ["King", "Queen"]


def test_open_seats_are_handed_out_as_requested(client: Client) -> None:
    assert set(client.create_match("champion_chess").seats) == {0, 1}
    match = client.create_match("champion_chess", (bot("random"), OPEN))
    assert set(match.seats) == {1}
    assert match.seats[1].view().seat == 1
    assert not match.spectator.view().HasField("seat")
    with pytest.raises(ValueError, match="'godlike'"):
        bot("godlike")


def test_a_friend_joins_with_an_invitation(client: Client, address: str) -> None:
    match = client.create_match("skystones", (OPEN, INVITED))
    assert list(match.seats) == [0]
    assert list(match.invitations) == [1]
    with Client(address) as friend:
        joined = friend.join(match.invitations[1])
        assert (joined.name, joined.secret_hash) == (match.name, match.secret_hash)
        assert list(joined.seats) == [1]
        assert joined.invitations == {}
        assert joined.seats[1].view().players[1].invited.joined
        with pytest.raises(CroupierError) as caught:
            client.join(match.invitations[1])
        assert caught.value.reason == "INVITATION_USED"
        match.seats[0].resign()
        assert joined.seats[1].rematch().name == match.seats[0].rematch().name


def test_a_stream_goes_on_when_the_token_is_replaced(client: Client) -> None:
    match = client.create_match("skystones")
    seat = match.seats[0]
    old = Seat(client, match.name, seat.token)
    streams = [seat.watch(), old.watch()]
    assert [next(stream).version for stream in streams] == [0, 0]
    request_id = str(uuid.uuid4())
    token = seat.replace_token(request_id=request_id)
    assert token == seat.token != old.token
    assert next(streams[0]).events[0].seat_token_replaced.seat == 0
    with pytest.raises(CroupierError) as caught:
        next(streams[1])
    assert caught.value.reason == "TOKEN_REPLACED"
    # As after a lost answer.
    assert old.replace_token(request_id=request_id) == token


def test_a_match_is_played_turn_by_turn_and_its_record_fits_the_hash(
    client: Client,
) -> None:
    match = client.create_match("champion_chess", (OPEN, bot("random")), seed=2)
    seat = match.seats[0]
    for view in seat.turns():
        assert view.deciders[0] == 0
        seat.submit(view.legal_actions[0], view.version)
    versions, events = [], []
    for response in seat.watch():
        versions.append(response.version)
        events += response.events
    assert versions == list(range(len(versions)))
    assert events[-1].HasField("match_ended")
    record = seat.record()
    assert record.result == seat.view().result == events[-1].match_ended.result
    assert hashlib.sha256(record.secret).digest() == match.secret_hash


def test_what_decided_a_match_is_said_in_the_language_of_the_catalog(client: Client) -> None:
    match = client.create_match("champion_chess", (OPEN, bot("random")), seed=2)
    seat = match.seats[0]
    for view in seat.turns():
        seat.submit(view.legal_actions[0], view.version)
    ending = seat.view().result.ending
    english, german = (client.game("champion_chess", language=code) for code in ("en", "de"))
    assert ending_sentence(Words(english), ending) == ending.text != ""
    said = ending_sentence(Words(german), ending)
    titles = {card.id: card.title for card in german.cards}
    assert "{" not in said and "König" in said
    for value in ending.values:
        kind = value.WhichOneof("value")
        word = {"seat": german.seat_titles[value.seat], "card": titles.get(value.card)}
        assert (word.get(kind) or str(value.number)) in said
    # A catalog of another version has another phrase, or none.
    german.phrases[f"ending.{ending.id}"] = "{nothing}"
    assert ending_sentence(Words(german), ending) == ending.text
    del german.phrases[f"ending.{ending.id}"]
    assert ending_sentence(Words(german), ending) == ending.text


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("game_id", ["castle_rampage", "champion_chess", "powershot_soccer"])
def test_each_side_reads_in_its_own_words_what_decided_a_match(client, game_id, language):
    game = client.game(game_id, language=language)
    you = {"en": "you", "de": "du"}[language]
    for name in (each for each in game.phrases if each.startswith("ending.")):
        ending = game_pb2.Ending(id=name.partition(".")[2], text="A text of the server.")
        for field in fields_of(game.phrases[name]):
            if field.endswith("seat"):
                ending.values.add(field=field, seat=int(field != "seat"))
            elif field.endswith("card"):
                ending.values.add(field=field, card=game.cards[0].id)
            else:
                ending.values.add(field=field, number=3)
        told = [
            ending_sentence(
                Words(game, lambda seat, own=own: (you, "Bo")[seat != own], own), ending
            )
            for own in (0, 1)
        ]
        if any(value.HasField("seat") for value in ending.values):
            assert re.search(rf"(?i)\b{you}\b", told[0]) and "Bo" in told[1], told
            verb = re.search(r" (hat|hast) ", "".join(told))
            assert not verb or (" hast " in told[0] and " hat " in told[1]), told
        for each in told:
            assert re.fullmatch(r"[A-Z][^{}|]+\.", each), each


@pytest.mark.parametrize("scores", [(0, 1), (1, 0), (0.5, 0.5)])
@pytest.mark.parametrize("reason", END_REASONS)
def test_an_early_ending_is_a_sentence_in_each_language(client, reason, scores):
    view = game_pb2.View(seat=0, result=game_pb2.MatchResult(scores=scores, reason=reason))
    games = [client.game("champion_chess", language=code) for code in ("en", "de")]
    english, german = (
        over_sentence(Words(game, lambda seat: ("you", "Bo")[seat], 0), view) for game in games
    )
    assert re.fullmatch(r"[A-Z][^{}]+\.", english) and re.fullmatch(r"[A-Z][^{}]+\.", german)
    if reason == game_pb2.END_REASON_TIME:
        who = {(0, 1): "You", (1, 0): "Bo", (0.5, 0.5): "Both players"}[scores]
        assert english == f"{who} ran out of time."
    assert english != german
    # Of a newer server.
    view.result.reason = 99
    assert over_sentence(Words(games[0]), view) == ""


def test_a_clock_is_shown_and_a_caller_can_wait_for_its_end(client: Client) -> None:
    def create(per_decision: float) -> NewMatch:
        control = clock(per_decision, 60, 1.5, default_action=False)
        return client.create_match("powershot_soccer", seed=1, time_control=control)

    view = create(600).spectator.view()
    control = view.clocks.time_control
    assert control.per_decision.ToSeconds() == 600
    assert control.per_match.ToMilliseconds() == 60_000
    assert control.increment.ToMilliseconds() == 1500
    final = create(0.1).spectator.view(wait_for_version=1)
    assert game_pb2.EndReason.Name(final.result.reason) == "END_REASON_TIME"
    assert final.result.scores[view.deciders[0]] == 0


def test_a_clock_can_play_default_actions(client: Client) -> None:
    control = clock(1, default_action=True, max_default_actions=1)
    match = client.create_match("powershot_soccer", time_control=control)
    view = match.spectator.view(wait_for_version=3)
    assert [clock.default_actions for clock in view.clocks.seats] == [1, 1]
    assert END_REASONS[view.result.reason] == "abandoned"
    assert list(view.result.scores) == [0.5, 0.5]


def test_a_turn_that_was_answered_is_not_repeated(match: NewMatch) -> None:
    # Seat 1 always decides first, and seat 0 answers with the version from before. The stream has
    # then shown a view in between, in which seat 0 still owes the decision that it has sent.
    first, second = match.seats[0], match.seats[1]
    watch = match.spectator.watch()
    for view in itertools.islice(first.turns(), 10):
        assert view.version == first.view().version
        decided = second.submit(second.view().legal_actions[0]).version
        next(change for change in watch if change.version == decided)
        first.submit(view.legal_actions[0], view.version)


def test_a_turn_is_told_once_whatever_the_seats_offer_meanwhile(client: Client) -> None:
    game, limit = "skystones", clock(per_match=3600)
    match = client.create_match(game, time_control=limit, hint_policy=HINT_POLICIES["allowed"])
    first, second = match.seats[0], match.seats[1]
    told: list[list[game_pb2.View]] = [[], []]
    changed = threading.Condition()

    def follow(seat: int) -> None:
        follower = Seat(client, match.name, match.seats[seat].token)
        for view in follower.turns():
            with changed:
                told[seat].append(view)
                changed.notify_all()

    def owed(seat: int, count: int) -> game_pb2.View:
        with changed:
            assert changed.wait_for(lambda: len(told[seat]) >= count, FOREVER)
            assert len(told[seat]) == count
            return told[seat][-1]

    threads = [threading.Thread(target=follow, args=(seat,), daemon=True) for seat in (0, 1)]
    for thread in threads:
        thread.start()
    decider = match.spectator.view().deciders[0]
    seat, other = (first, second) if decider == 0 else (second, first)
    owed(decider, 1)
    with pytest.raises(ValueError, match="'draw' is none of takeback, pause"):
        seat.offer("draw")
    offer = seat.offer("pause").offer
    other.answer_offer(offer, agree=False)
    offer = other.offer("pause").offer
    assert not seat.answer_offer(offer, agree=True).legal_actions
    other.resume()
    view = seat.view()
    seat.submit(view.legal_actions[0], view.version)
    count = 1
    while match.spectator.view().deciders[0] == decider:
        count += 1
        owed(decider, count)
        view = seat.view()
        seat.submit(view.legal_actions[0], view.version)
    owed(1 - decider, 1)
    offer = seat.offer("takeback").offer
    other.answer_offer(offer, agree=True)
    # What was taken back is owed again.
    owed(decider, count + 1)
    view = seat.view()
    seat.submit(view.legal_actions[0], view.version)
    owed(1 - decider, 2)
    other.resign()
    for thread in threads:
        thread.join()
    assert [len(each) for each in (told[decider], told[1 - decider])] == [count + 1, 2]


def test_submit_takes_the_version_of_the_newest_view(match: NewMatch) -> None:
    first, second = match.seats[0], match.seats[1]
    action = game_pb2.MatchAction()
    action.CopyFrom(first.view().legal_actions[0])
    assert first.submit(action).deciders == [1]
    after = second.submit(second.view().legal_actions[0])
    assert after.version == 2
    # Seat 0 has not read a view since, so its version is stale.
    refusal = refused(lambda: first.submit(action))
    assert (refusal.code, refusal.reason) == (grpc.StatusCode.ABORTED, "STALE_VERSION")
    assert refusal.metadata == {"current_version": "2"}


def test_hints_come_from_a_seat_and_from_a_view_alone(client: Client, match: NewMatch) -> None:
    seat = match.seats[0]
    from_seat = seat.suggest(iterations=100, seed=3)
    from_view = client.suggest(seat.view(), iterations=100, seed=3)
    assert from_seat == from_view
    assert from_seat.iterations == 100
    assert from_seat.action in seat.view().legal_actions
    assert seat.suggest(seconds=0.05).iterations > 0


def test_resigning_ends_the_match(match: NewMatch) -> None:
    view = match.seats[1].resign()
    assert list(view.result.scores) == [1, 0]
    assert view.result.reason == game_pb2.END_REASON_RESIGNATION
    assert match.seats[0].view().result == view.result


def test_an_analysis_can_be_followed_and_given_up(address: str) -> None:
    with Client(address) as client:
        allowed = HINT_POLICIES["allowed"]
        seat = client.create_match("skystones", seed=1, hint_policy=allowed).seats[0]
        reports = list(seat.analyze(iterations=2000, seed=1))
        assert [report.final_report for report in reports[-1:]] == [True]
        assert reports[-1].hint == seat.suggest(iterations=2000, seed=1)
        assert list(client.analyze(seat.view(), iterations=2000, seed=1))[-1].final_report
        with seat.analyze(seconds=60, every=0.02) as going_on:
            for report in going_on:
                assert not report.final_report
                break
        with pytest.raises(CroupierError) as caught:
            list(going_on)
        assert caught.value.code is grpc.StatusCode.CANCELLED

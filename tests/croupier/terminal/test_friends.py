"""Friends in the terminal: their names, what they agree on, invitations and rematches."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from croupier.client import (
    END_REASONS,
    HINT_POLICIES,
    INVITED,
    Client,
    NewMatch,
    Seat,
    bot,
    clock,
    open_seat,
)
from croupier.phrases import origin_sentence
from croupier.terminal import drawing
from croupier.terminal.play import opponent_name
from croupier.v1 import game_pb2, match_pb2
from service.hosting.records import write_record
from tests.croupier.terminal.terminals import Terminal, terminal
from tests.support.play import seeded
from tests.support.random_matches import random_match

HOSTILE = "\x1b[31mEve\x1b]0;x\x07\r\n\u202e[bold]\u200b"


@pytest.fixture
def host(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


def invite(host: Client, **options: object) -> NewMatch:
    seats = (open_seat("Ann [bold]"), INVITED)
    return host.create_match("champion_chess", seats, seed=5, **options)  # type: ignore[arg-type]


def read_to(session: Terminal, prompt: str) -> str:
    lines = session.read(prompt)
    assert lines[-1].endswith(prompt), lines
    return "\n".join(lines)


def test_nothing_of_a_strangers_text_acts_on_the_terminal() -> None:
    shown = drawing.printable(HOSTILE)
    assert shown == "[31mEve ]0;x [bold]"
    assert shown.isprintable()
    assert drawing.printable("\U0001f469\u200d\U0001f4bb") == "\U0001f469\u200d\U0001f4bb"
    for field in ("display_name", "key_name"):
        assert opponent_name(game_pb2.Player(open={}, **{field: HOSTILE})) == shown  # type: ignore[arg-type]
        assert opponent_name(game_pb2.Player(open={}, **{field: "\x1b\n"})) == "friend"  # type: ignore[arg-type]


def test_an_invitation_is_shown_before_it_is_used(
    address: str, host: Client, tmp_path: Path
) -> None:
    match = invite(host, time_control=clock(900))
    words = ("--join", match.invitations[1], "--name", "Ben")
    with terminal(address, *words, state=tmp_path) as session:
        asked = read_to(session, "Join? (y or n) ")
        assert "Champion Chess: Ann [bold] invites you to play Black" in asked
        assert "Each of you has 900 seconds for a decision." in asked
        assert "There are no hints before the end." in asked
        session.type("n")
        session.read()
        assert session.process.wait() == 0
    assert host.get_invitation(words[1]).state == match_pb2.INVITATION_STATE_OPEN
    with terminal(address, *words, "--yes", state=tmp_path) as session:
        shown = read_to(session, "> ")
        assert "you are Black against White, Ann [bold]" in shown
        session.type("h")
        assert "No hint: in this match nobody may ask for hints" in read_to(session, "> ")
    assert match.seats[0].view().players[1].display_name == "Ben"
    with terminal(address, *words, state=tmp_path) as session:
        assert "this invitation was used before" in " ".join(session.read())


def test_hints_are_agreed_on_with_the_match(address: str, host: Client, tmp_path: Path) -> None:
    match = invite(host, hint_policy=HINT_POLICIES["allowed"])
    assert match.seats[0].view().hint_policy == game_pb2.HINT_POLICY_ALLOWED
    assert invite(host).seats[0].view().hint_policy == game_pb2.HINT_POLICY_AFTER_END
    words = ("champion_chess", "--seed", "5", "--hints", "after-end", "--auto")
    with terminal(address, *words, state=tmp_path) as session:
        assert "so --auto cannot play it" in " ".join(session.read())


def test_several_decisions_are_typed_at_once_and_made_without_the_terminal(
    address: str, host: Client, tmp_path: Path
) -> None:
    match = host.create_match("skystones", (open_seat("Ann"), INVITED), seed=5)
    words = ("--join", match.invitations[1], "--yes")
    with terminal(address, *words, state=tmp_path) as session:
        session.read("> ")
        session.type(";")
        session.read("> ")
        session.type("#1; #9999")
        assert "no legal action" in read_to(session, "> ")
        session.type("#1; #2; #3")
        view = match.seats[0].view(wait_for_version=2)
    # The terminal is gone. Each seat has picked once when this is answered, and then goes on. The
    # seat was joined by the first version.
    first, *others = view.legal_actions
    match.seats[0].submit(first, then=others[:2])
    view = match.seats[0].view(wait_for_version=7)
    assert view.version == 7
    assert len(view.skystones.hand) == 3
    match.seats[0].submit(view.legal_actions[0], then=view.legal_actions[1:2])
    assert match.seats[0].cancel_ahead().version == 8
    assert not match.seats[0].view().HasField("decisions_ahead")


def test_players_agree_on_a_pause_and_on_a_takeback(
    address: str, host: Client, tmp_path: Path
) -> None:
    seats, limit = (open_seat("Ann"), INVITED), clock(900)
    match = host.create_match("skystones", seats, time_control=limit, seed=5)
    ann = match.seats[0]
    with terminal(address, "--join", match.invitations[1], "--yes", state=tmp_path) as session:
        session.read("> ")
        session.type("t")
        assert "OFFER_NOT_ALLOWED" in read_to(session, "> ")
        session.type("pause")
        assert "Asked." in read_to(session, "> ")
        asked = ann.view().offer
        assert (asked.seat, asked.kind) == (1, game_pb2.OFFER_KIND_PAUSE)
        session.type("#1")
        view = ann.view(wait_for_version=asked.version + 1)
        assert not view.HasField("offer")  # It lapses when the seat decides.
        view = ann.offer("pause")
        read_to(session, "Agree? (y or n) ")
        session.type("y")
        read_to(session, "The match is paused. Go on? (y or n) ")
        assert ann.view().HasField("pause_end_time")
        session.type("y")
        ann.view(wait_for_version=view.version + 2)
        ann.submit(ann.view().legal_actions[0])
        ann.offer("takeback")
        session.read("> ")
        ann.resign()


def test_a_takeback_is_told_to_whoever_thinks(address: str, host: Client, tmp_path: Path) -> None:
    match = host.create_match("skystones", (open_seat("Ann"), INVITED), seed=5)
    with terminal(address, "--join", match.invitations[1], "--yes", state=tmp_path) as session:
        session.read("> ")
        session.type("#1")
        session.read(" … ")
        match.seats[0].submit(match.seats[0].view().legal_actions[0])
        session.read("> ")
        session.type("t")
        assert "Asked." in read_to(session, "> ")
        offer = match.seats[0].view().offer
        match.seats[0].answer_offer(offer, agree=True)
        assert "hands are picked" in read_to(session, "> ")  # It is drawn again.


def test_what_is_not_dealt_yet_is_not_drawn(address: str, tmp_path: Path) -> None:
    with terminal(address, "skystones", "--invite", state=tmp_path) as session:
        read_to(session, " … ")
        session.type("v")
        while "The cards are not dealt yet." not in read_to(session, " … "):
            pass  # It waits anew whenever it has heard something.
        session.type("h")
        while "It is not your turn." not in read_to(session, " … "):
            pass


def test_a_player_who_waits_or_thinks_can_ask_and_is_asked(
    address: str, host: Client, tmp_path: Path
) -> None:
    match = invite(host, time_control=clock(900))
    ann = match.seats[0]
    with terminal(address, "--join", match.invitations[1], "--yes", state=tmp_path) as session:
        session.read("> ")
        session.type("#1")  # Champion Chess: Ann has yet to choose, too.
        waited_for = " … "  # Ann decides, or is away.
        read_to(session, waited_for)
        for typed, told in (("#1", "not your turn."), ("?", "t, takeback"), ("t", "Asked.")):
            session.type(typed)
            while told not in read_to(session, waited_for):
                pass  # It waits anew whenever it has heard something.
        ann.answer_offer(ann.view().offer, agree=True)
        read_to(session, "> ")
        # Nobody types: what Ann asks is put to the player all the same, and is gone with her.
        ann.offer("pause")
        read_to(session, "Agree? (y or n) ")
        session.type("y")
        read_to(session, "The match is paused. Go on? (y or n) ")
        ann.resume()
        read_to(session, "> ")
        ann.submit(ann.view().legal_actions[0])
        session.type("#1")
        read_to(session, "> ")
        session.type("q")
        session.read()
    with terminal(address, "--resume", "--language", "de", state=tmp_path) as session:
        session.read("> ")
        session.type("r")
        read_to(session, "(j oder n) ")
        session.type("j")
        session.read()
    assert END_REASONS[ann.view().result.reason] == "resignation"


@pytest.mark.parametrize("forbidden", [(), ("pause",), ("takeback", "pause")])
def test_the_help_has_no_offer_that_the_match_forbids(
    address: str, host: Client, tmp_path: Path, forbidden: tuple[str, ...]
) -> None:
    seats = (open_seat(), INVITED)
    match = host.create_match("skystones", seats, forbidden_offers=forbidden, seed=5)
    words = ("--join", match.invitations[1], "--yes", "--language", "de")
    with terminal(address, *words, state=tmp_path) as session:
        session.read("> ")
        session.type("?")
        shown = read_to(session, "> ")
        for kind, line in (("takeback", "t, takeback "), ("pause", "pause  ")):
            assert (line in shown) == (kind not in forbidden)
        assert "r, resign" in shown
        session.type("pause")
        assert "OFFER_NOT_ALLOWED" in read_to(session, "> ")


def end(host: Client, address: str, session: Terminal, match: NewMatch) -> Seat:
    """Lets the host resign while the guest decides, who is told of it at once."""
    session.read("> ")
    match.seats[0].resign()
    assert "Ann [bold] resigned." in read_to(session, "Rematch? (y or n) ")
    return match.seats[0]


def test_a_rematch_that_the_other_player_asks_for_is_played(
    address: str, host: Client, tmp_path: Path
) -> None:
    match = invite(host)
    words = ("--join", match.invitations[1], "--yes")
    with terminal(address, *words, state=tmp_path) as session:
        seat = end(host, address, session, match)
        again = seat.rematch()
        assert "Ann [bold] asks for a rematch." in read_to(session, "Rematch? (y or n) ")
        session.type("y")
        # The seats are exchanged.
        heading = "\n".join(session.read("> ", " … "))
        assert "you are White against Black, Ann [bold]" in heading
        offers = [c.rematch for c in seat.watch(follow_rematch=True) if c.HasField("rematch")]
    assert (offers[-1].name, offers[-1].state) == (again.name, match_pb2.REMATCH_STATE_ACCEPTED)
    assert seat.rematch_offer() == offers[-1]


def test_a_rematch_is_declined_by_either_side(address: str, host: Client, tmp_path: Path) -> None:
    for asks in ("host", "guest"):
        match = invite(host)
        words = ("--join", match.invitations[1], "--yes")
        with terminal(address, *words, state=tmp_path / asks) as session:
            seat = end(host, address, session, match)
            assert seat.rematch_offer() is None
            offers = (c.rematch for c in seat.watch(follow_rematch=True) if c.HasField("rematch"))
            if asks == "host":
                seat.rematch()
                read_to(session, "Rematch? (y or n) ")
                session.type("n")
                session.read()
            else:
                session.type("y")
                assert next(offers).state == match_pb2.REMATCH_STATE_OFFERED
                seat.decline_rematch()
                assert "The rematch did not come about" in " ".join(session.read())
            assert session.process.wait() == 0
            assert list(offers)[-1].state == match_pb2.REMATCH_STATE_DECLINED


def test_a_bot_plays_again(address: str, tmp_path: Path) -> None:
    with terminal(address, "champion_chess", "--seed", "5", state=tmp_path) as session:
        session.read("> ")
        session.type("r")
        read_to(session, "Resign? (y or n) ")
        session.type("y")
        read_to(session, "Rematch? (y or n) ")
        session.type("y")
        heading = "\n".join(session.read("> ", " … ", "go on "))
        assert "you are Black against White, a casual bot" in heading


def test_a_bot_has_no_name(host: Client) -> None:
    match = host.create_match("skystones", (open_seat("Ann"), bot("random")))
    assert [p.display_name for p in match.seats[0].view().players] == ["Ann", ""]


@pytest.mark.parametrize("logged", [True, False])
def test_where_a_match_began_is_said_before_it_is_joined_and_in_it(
    address: str, host: Client, tmp_path: Path, logged: bool
) -> None:
    over = host.create_match("skystones")
    over.seats[0].resign()
    start = match_pb2.StartFrom(version=0)
    if logged:
        start.match_token = over.spectator.token
    else:
        start.record.CopyFrom(write_record(random_match("skystones", "default", seeded("made up"))))
    match = host.create_match("skystones", (bot("random"), INVITED), start_from=start)
    origin = match.spectator.origin()
    assert over.spectator.origin() is None
    assert origin is not None and origin.logged == logged
    assert (origin.name == over.name) == logged
    told = origin_sentence(origin)
    assert ("may be made up" in told) != logged
    words = ("--join", match.invitations[1])
    with terminal(address, *words, state=tmp_path) as session:
        assert told in " ".join(read_to(session, "Join? (y or n) ").split())
        session.type("y")
        said = ""
        while told not in said:  # The other seat may be the one to begin.
            said = " ".join(f"{said} {' '.join(session.read('> ', 'decides'))}".split())

"""`croupier play` as its users run it: another process, a real server, pipes and terminals."""

import io
import itertools
import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from google.protobuf import text_format
from rich.console import Console

import wire
from croupier.client import Client
from croupier.messages import GameMessages
from croupier.terminal import drawing, options
from croupier.v1 import catalog_pb2, game_pb2, match_pb2
from service.api.catalog_service import describe
from tests.croupier.terminal.terminals import terminal
from tests.support.commands import Ended, croupier
from tests.support.serving import Servers

ROOT = Path(__file__).parents[3]
DRAWINGS = [
    Path(__file__).with_name("any_game.txt"),
    *sorted((ROOT / "tests" / "games").glob("*/drawing.txt")),
]
# No setting of the machine that runs the tests may change the output, and no test the machine.
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")},
    "TERM": "xterm-256color",
    "XDG_STATE_HOME": tempfile.mkdtemp(),
}
GAMES = tuple(wire.hosted_games())


@pytest.fixture(scope="session")
def server(shared_server: tuple[object, str]) -> str:
    return shared_server[1]


def run_play(address: str, *words: str, typed: str = "") -> Ended:
    """A session in this process, which is typed to in advance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(typed))
        patch.setattr(os, "environ", ENVIRONMENT)
        return croupier("play", "--server", address, *words)


def auto(address: str, game: str, seed: int, *words: str) -> str:
    flags = ("--auto", "--opponent", "random", "--hint-iterations", "20", "--seed", str(seed))
    done = run_play(address, game, *flags, *words)
    assert (done.status, done.err) == (0, "")
    return done.out


# With --auto


@pytest.fixture(scope="session")
def played(server: str) -> Callable[[str], str]:
    """What a match of a game with the seed 7 prints; it is played once."""
    return cache(partial(auto, server, seed=7))


@pytest.mark.parametrize("game", GAMES)
def test_auto_plays_to_the_end(played: Callable[[str], str], game: str) -> None:
    first = played(game)
    lines = first.splitlines()
    result = lines[-1]
    assert re.fullmatch(r"(You win|The bot wins), 1 to 0\.|A draw: 0\.5 each\.", result)
    # Before it stands what decided the match.
    assert lines[-2].endswith(".")
    assert "\x1b" not in first
    assert max(len(line) for line in lines) <= 100


def test_a_seed_repeats_a_match(server: str, played: Callable[[str], str]) -> None:
    assert auto(server, "skystones", 7) == played("skystones")
    assert auto(server, "skystones", 8) != played("skystones")


def test_auto_plays_the_other_seat_with_options_and_other_bots(server: str) -> None:
    words = ("--option", "board_size=2", "--option", "hand-size=2", "--option", "special_fields=4")
    printed = auto(server, "skystones", 3, "--seat", "1", *words)
    assert "b2: " in printed
    assert "c1" not in printed
    assert re.search("win|draw", printed.splitlines()[-1])


@pytest.mark.parametrize("game", GAMES)
def test_cards_are_named_in_another_language(
    server: str, played: Callable[[str], str], game: str
) -> None:
    with Client(server) as client:
        titles, german = ({card.title for card in client.game(game, language=language).cards}
                          for language in ("en", "de-CH"))  # fmt: skip
    printed = auto(server, game, 7, "--language", "de-CH")
    assert any(re.search(rf"\b{title}\b", printed) for title in german - titles)
    assert not any(re.search(rf"\b{title}\b", printed) for title in titles - german)
    assert printed.splitlines()[-2].endswith(".")
    assert printed.splitlines()[-2] != played(game).splitlines()[-2]
    # The language does not change the match.
    results = {
        "You win, 1 to 0.": "Du gewinnst, 1 zu 0.",
        "The bot wins, 1 to 0.": "Der Bot gewinnt, 1 zu 0.",
        "A draw: 0.5 each.": "Unentschieden: je 0,5.",
    }
    assert printed.splitlines()[-1] == results[played(game).splitlines()[-1]]
    # No line says in German what it says in English, but for what is the same in both.
    same = set(printed.splitlines()) & set(played(game).splitlines())
    assert not [line for line in same if re.search(r"[a-zäöüß]{4}", line)]


# A session of a player


def test_a_player_chooses_by_number_and_by_name_asks_for_a_hint_and_resigns(server: str) -> None:
    typed = "1\nnone\n?\nnonsense\nlist pawn\nh\np\nr\nno\nr\nyes\n"
    words = ("champion_chess", "--seed", "5", "--opponent", "random", "--hint-iterations", "50")
    done = run_play(server, *words, typed=typed)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[-2:] == ["You resigned.", "The bot wins, 1 to 0."]
    assert len(re.findall(r"You choose: \w+", done.out)) == 3
    assert "You choose: No aid" in done.out
    assert "nonsense: not in your hand." in done.out
    assert re.search(r"(Play|Drawn): .* \d+ of 100 points", done.out)


def test_a_player_places_stones_by_name_and_square(server: str) -> None:
    # A round on a small board is short: two picks, then a card by its name and square.
    words = ("skystones", "--seed", "11", "--opponent", "random", "--option", "hand_size=1")
    done = run_play(server, *words, "--option", "board_size=2", typed="1\nlist\n1\nq\n")
    assert (done.status, done.err) == (0, "")
    assert len(re.findall("You choose: ", done.out)) == 2
    assert re.search(r"You choose: .+ to [ab][12]", done.out)


def test_a_player_shares_out_cards_and_looks_them_up_in_german(server: str) -> None:
    words = ("castle_rampage", "--seed", "5", "--opponent", "random", "--language", "de")
    done = run_play(server, *words, typed="1 2 3 4 5\n1 2 3 4 5\nbeenden\ncards\nq\n")
    assert (done.status, done.err) == (0, "")
    assert len(re.findall("Du wählst: Tor: .+; Burg: .+; Hand: ", done.out)) == 2
    assert "Du wählst: Den Zug beenden" in done.out
    assert re.search("Beschwörer +Sonderkarte", done.out)


@pytest.mark.parametrize("typed", ["", "q\n"])
def test_leaving_names_the_match_that_stays_open(server: str, typed: str) -> None:
    done = run_play(server, "champion_chess", typed=typed)
    assert (done.status, done.err) == (0, "")
    left, back = done.out.splitlines()[-2:]
    match = re.fullmatch(rf"Left: matches/(\w+) stays unfinished on {server}\.", left)
    assert match and back == f"Come back with: croupier play --resume {match[1]}"


@pytest.mark.parametrize(
    ("words", "no_color", "coloured"),
    [((), "", True), ((), "1", False), (("--no-color",), "", False)],
)
def test_a_terminal_has_colours_and_ends_cleanly_on_an_interrupt(
    server: str, tmp_path: Path, words: tuple[str, ...], no_color: str, coloured: bool
) -> None:
    # With this seed, the match asks for a decision on its first screen.
    words = ("champion_chess", "--seed", "5", *words)
    with terminal(server, *words, state=tmp_path, NO_COLOR=no_color) as session:
        session.read("> ")
        session.interrupt()
        assert "unfinished" in "\n".join(session.read())
        assert session.process.wait() == 130
        assert ("\x1b[1;36m" in session.raw) is coloured
        assert "Traceback" not in session.raw


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "name a GAME"),
        (("--resume", "abc", "--clock", "9"), "--clock does not go with --resume"),
        (("--resume", "abc", "--join", "abc"), "not allowed with argument"),
        (("skystones", "--name", "a\x1b[2Jb"), "not a name of up to 32 characters"),
        (("skystones", "--name", "a" * 33), "not a name of up to 32 characters"),
        (("skystones", "--join", "abc"), "GAME does not go with --join"),
        (("--join", "abc", "--seat", "0"), "--seat does not go with --join"),
        (("--join", "abc", "--option", "a=1"), "--option does not go with --join"),
        (("--join", "abc"), "this is not an invitation of"),
        (("skystones", "--invite", "--opponent", "random"), "not allowed with argument"),
    ],
    ids=str,
)
def test_a_wrong_invitation_is_named(server: str, words: tuple[str, ...], complaint: str) -> None:
    done = run_play(server, *words)
    assert (done.status, done.out) == (2, "")
    assert complaint in done.err


# Faults at the start


def test_without_a_server_the_error_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("croupier.client.CATALOG_PATIENCE", 0.0)
    with socket.socket() as taken:  # Bound but not listening: nobody can answer there.
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run_play(address, "skystones")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"croupier: no server answers at {address}."
        f" Start one with: croupier serve --listen {address}\n"
    )


def test_an_unknown_game_is_answered_with_the_known_ones(server: str) -> None:
    done = run_play(server, "whist")
    assert (done.status, done.out) == (2, "")
    known = re.fullmatch(r"croupier: there is no game 'whist'\. (.*)\n", done.err)
    assert known and set(GAMES) <= set(re.findall(r"[a-z_]+", known[1]))


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("castling=perhaps", "castling must be true|false, not 'perhaps'"),
        ("castling", "'castling' is not NAME=VALUE; champion_chess has: castling=true|false,"),
        ("colour=red", "there is no option 'colour'; champion_chess has: castling=true|false,"),
        ("hand_size=8", "hand_size"),
    ],
)
def test_a_wrong_option_is_named(server: str, option: str, complaint: str) -> None:
    done = run_play(server, "champion_chess", "--option", option)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert complaint in done.err


def test_without_seeds_the_error_says_how_to_start_a_server_with_them(servers: Servers) -> None:
    server, address = servers.start()
    done = run_play(address, "skystones", "--seed", "1")
    servers.stop(server)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert f"croupier serve --listen {address} --allow-seeds" in done.err


def test_a_seed_needs_hints_that_are_limited_by_iterations(server: str) -> None:
    done = run_play(server, "skystones", "--auto", "--seed", "1", "--hint-time", "1")
    assert done.status == 2
    assert "--hint-iterations" in done.err


def test_options_are_read_by_the_schema() -> None:
    ruleset = options.ruleset(
        GameMessages(catalog_pb2.Game(name="games/champion_chess")), ["castling=no", "hand-size=5"]
    )
    assert ruleset == game_pb2.Ruleset(
        champion_chess={"castling": False, "hand_size": 5},  # type: ignore[arg-type]
    )


# Typed lines


def described(game: str) -> catalog_pb2.Game:
    """A game as the catalog has it in English."""
    return describe(wire.hosted_games()[game]())


def discards() -> tuple[drawing.Drawing, game_pb2.View]:
    """A hand of a Rook, two Pawns, a Sword and a Shield, with every discard as an action."""
    hand = [4, 6, 6, 9, 11]
    view = game_pb2.View(champion_chess={"phase": 3, "hand": hand})  # type: ignore[arg-type]
    sizes = range(len(hand) + 1)
    for cards in sorted({some for n in sizes for some in itertools.combinations(hand, n)}):
        action = view.legal_actions.add().champion_chess.discard_to_reserve
        action.SetInParent()
        action.cards.extend(cards)  # type: ignore[arg-type]
    return drawing.find(described("champion_chess"), 0, ""), view


def placements() -> tuple[drawing.Drawing, game_pb2.View]:
    """Three cards, two of them with names that begin alike."""
    game = described("skystones")
    del game.cards[:], game.default_ruleset.skystones.cards[:]
    for place, title in enumerate(("Ember", "Ember Fox", "Magma Moth")):
        game.cards.add(id=str(place), title=title)
        game.default_ruleset.skystones.cards.add(title=title)
    view = game_pb2.View(skystones={"phase": 2})  # type: ignore[arg-type]
    for card, square in ((0, 1), (1, 1), (1, 8), (2, 1)):
        action = view.legal_actions.add().skystones.place_card
        action.card, action.square = card, square
    return drawing.find(game, 0, ""), view


def castle_rampage(phase: int, *actions: str) -> tuple[drawing.Drawing, game_pb2.View]:
    """A hand of a Knight, two Axe Men, a Dragon and a Spy, with some actions."""
    game = described("castle_rampage")
    view = game_pb2.View(castle_rampage={"phase": phase, "hand": [1, 3, 3, 7, 12]})  # type: ignore[arg-type]
    for action in actions:
        text_format.Parse(f"castle_rampage {{ {action} }}", view.legal_actions.add())
    return drawing.find(game, 0, ""), view


def set_ups() -> tuple[drawing.Drawing, game_pb2.View]:
    """A set-up with some ways to share the hand out."""
    ways = ((1, 3, 3, 7, 12), (1, 3, 7, 3, 12), (3, 1, 3, 7, 12))
    return castle_rampage(
        1,
        *(f"set_up {{ gate: [{a}, {b}] castle: [{c}, {d}] keep: {e} }}" for a, b, c, d, e in ways),
    )


def turn() -> tuple[drawing.Drawing, game_pb2.View]:
    """A turn with some of its actions."""
    return castle_rampage(
        2,
        "strengthen { card: 1 structure: 1 }",
        "strengthen { card: 1 structure: 2 }",
        "play { card: 1 }",
        "play { card: 3 }",
        "play { card: 7 discards: [1, 3] }",
        "play { card: 7 discards: [3, 3] }",
        "play { card: 7 discards: [3, 12] }",
        "play { card: 15 discards: 3 unit: 2 }",
        "end_turn {}",
    )


@pytest.mark.parametrize(
    ("given", "typed", "meant"),
    [
        (discards, "none", ["Keep all cards"]),
        (discards, "all", ["Discard Rook, 2 × Pawn, Sword and Shield"]),
        (discards, "1 3", ["Discard Rook and Pawn"]),
        (discards, "pawn Pa", ["Discard 2 × Pawn"]),
        (discards, "2, 3 + sw", ["Discard 2 × Pawn and Sword"]),
        (discards, "#1", ["Keep all cards"]),
        (discards, "#99", []),
        (discards, "s", "s: Sword or Shield?"),
        (discards, "queen", "queen: not in your hand."),
        (discards, "6", "6: number your cards 1 to 5, each once."),
        (discards, "2 2", "2: number your cards 1 to 5, each once."),
        (discards, "pawn pawn pawn", "Pawn×3: not allowed now."),
        (placements, "3", ["Ember Fox to c3"]),
        (placements, "5", []),
        (placements, "8", []),
        (placements, "\u00b2", []),
        (placements, 5000 * "1", []),
        (placements, "ember", ["Ember to b1", "Ember Fox to b1", "Ember Fox to c3"]),
        (placements, "ember b1", ["Ember to b1"]),
        (placements, "fox c3", ["Ember Fox to c3"]),
        (placements, "c3", ["Ember Fox to c3"]),
        (placements, "m magma", ["Magma Moth to b1"]),
        (placements, "water", []),
        (
            set_ups,
            "1 2 3 4 5",
            ["Gate: Knight above Axe Man; Castle: Axe Man above Dragon; keep Spy"],
        ),
        (
            set_ups,
            "a k axe dra s",
            ["Gate: Axe Man above Knight; Castle: Axe Man above Dragon; keep Spy"],
        ),
        (
            set_ups,
            "knight, axe",
            [
                "Gate: Knight above Axe Man; Castle: Axe Man above Dragon; keep Spy",
                "Gate: Knight above Axe Man; Castle: Dragon above Axe Man; keep Spy",
            ],
        ),
        (set_ups, "#3", ["Gate: Axe Man above Knight; Castle: Axe Man above Dragon; keep Spy"]),
        (set_ups, "6", "6: number your cards 1 to 5, each once."),
        (set_ups, "\u00b2", "\u00b2: not in your hand."),
        (set_ups, "priest", "priest: not in your hand."),
        (set_ups, "1 1", "1: number your cards 1 to 5, each once."),
        (
            set_ups,
            "knight knight",
            "These are not five of your cards, each as often as you have it.",
        ),
        (turn, "knight", ["Knight"]),
        (turn, "knight gate", ["Knight under the Gate"]),
        (turn, "k under", ["Knight under the Gate", "Knight under the Castle"]),
        (turn, "dragon axe axe", ["Dragon, discarding 2 × Axe Man"]),
        (turn, "dragon spy", ["Dragon, discarding Axe Man and Spy"]),
        (turn, "priest archer", ["Priest, naming Archers, discarding Axe Man"]),
        (turn, "end", ["End the turn"]),
        (turn, "9", ["End the turn"]),
        (turn, "digger", []),
    ],
)
def test_typed_lines_mean_actions(
    given: Callable[[], tuple[drawing.Drawing, game_pb2.View]], typed: str, meant: list[str] | str
) -> None:
    draw, view = given()
    if isinstance(meant, str):
        with pytest.raises(drawing.Unclear, match=re.escape(meant)):
            draw.read(view, typed)
    else:
        found = [draw.action(view.legal_actions[place]) for place in draw.read(view, typed)]
        assert found == meant


# Drawings


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.parent.name)
def test_drawings(server: str, path: Path) -> None:
    """Each stanza has a comment, a message of the server and its drawing. REWRITE=1 rewrites."""
    stanzas = []
    with Client(server) as client:
        for stanza in path.read_text().split("\n====\n"):
            sent, _, expected = stanza.partition("\n----")
            message = text_format.Parse(sent, match_pb2.WatchMatchResponse())
            game = client.game(message.view.WhichOneof("game") or "")
            if path.parent.name == game.name.removeprefix("games/"):
                draw = drawing.find(game, 0, "casual bot")
            else:
                draw = drawing.Drawing(game, 0, "casual bot")
            shown = text_of(draw, message)
            if os.environ.get("REWRITE") != "1":
                assert shown == expected.strip("\n"), f"\n{shown}"
            stanzas.append(f"{sent}\n----\n{shown}")
    if os.environ.get("REWRITE") == "1":
        path.write_text("\n====\n".join(stanzas) + "\n")


def text_of(draw: drawing.Drawing, message: match_pb2.WatchMatchResponse) -> str:
    console = Console(file=io.StringIO(), width=100, highlight=False, color_system=None)
    draw.read_ruleset(message.view)
    for line in filter(None, map(draw.event, message.events)):
        console.print(line)
    console.print(draw.title(message.view))
    console.print(draw.view(message.view))
    console.print(draw.question(message.view))
    console.print(draw.menu(message.view))
    console.print(draw.numbered(message.view, range(len(message.view.legal_actions))))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in shown.rstrip().split("\n"))

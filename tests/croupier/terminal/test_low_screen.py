"""On a terminal of any size, everything between two prompts is in sight, in one language."""

import random
import re
import signal
from pathlib import Path

import pytest

import wire
from croupier.client import Client, Seat
from croupier.terminal import drawing
from croupier.terminal.saved import SavedSeats
from tests.croupier.terminal.terminals import not_german, terminal
from tests.support.long_form import LONG_FORM

REMATCH = {"en": "Rematch? (y or n) ", "de": "Revanche? (j oder n) "}
ASKED = ("?", "h", "list", "c", "v", "rules")  # At the first decision.
ON = ("Enter: go on ", "Eingabetaste: weiter ")
LANGUAGES = ("en", "de") if LONG_FORM else ("de",)
SIZES = ((12, 40), (20, 60), (24, 80)) if LONG_FORM else ((12, 40), (24, 80))  # Rows, columns.


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", wire.hosted_games())
def test_a_whole_match_stays_in_sight(
    address: str,
    game: str,
    language: str,
    size: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, columns = size

    def check(lines: list[str]) -> None:
        shown = "\n".join(lines)
        assert len(lines) <= rows, shown
        assert max(map(len, lines)) <= columns, shown
        # Long titles of cards are cut on a board that is narrow.
        assert columns < 80 or "…" not in shown, shown
        assert language == "en" or not not_german(shown, game), shown

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    seed = random.randrange(1000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    words = (game, "--language", language, "--opponent", "random", "--seed", str(seed))
    words += ("--review-iterations", "100")
    if game == "skystones":
        words += ("--option", "special_fields=4")
    commands, asked = list(ASKED), False
    with (
        terminal(address, *words, state=tmp_path, rows=rows, columns=columns) as session,
        Client(address) as client,
    ):
        described = client.game(game, language=language)
        shown: list[str] = []
        while True:
            lines = session.read()
            check(lines)
            # A large end takes a page of its own before the question, as that of seed 598.
            shown += lines
            if lines[-1] == REMATCH[language]:
                break
            if lines[-1] == "> ":
                [saved] = SavedSeats().read()
                view = Seat(client, saved.match, saved.token).view()
                if not asked:
                    draw = drawing.find(described, view.seat, "random bot")
                    draw.read_ruleset(view)
                    in_sight = " ".join(
                        " ".join(line for line in shown[-rows:] if line not in ON).split()
                    )
                    assert draw.question(view) in in_sight, shown[-rows:]
                number = f"#{rng.randint(1, len(view.legal_actions))}"
                asked = bool(commands)
                session.type(commands.pop(0) if commands else number)
            else:
                assert lines[-1] in ON
                session.type("")
        result = "You win|The bot wins|A draw|Du gewinnst|Der Bot gewinnt|Unentschieden"
        assert any(re.match(result, line) for line in shown)
        session.type("v")
        review: list[str] = []
        while True:
            lines = session.read()
            check(lines)
            review += lines
            if lines[-1] == REMATCH[language]:
                break
            assert lines[-1] in ON
            session.type("")
        session.type("n")
        session.read()
        assert session.process.wait() == 0
    luck, rest = {"en": ("Luck was worth ", "the rest "), "de": ("Das Glück war ", "der Rest ")}[
        language
    ]
    assert any(line.startswith(luck) for line in review)
    assert any(line.startswith(rest) for line in review)
    assert not SavedSeats().read()


@pytest.mark.parametrize("game", wire.hosted_games())
def test_a_dumb_terminal_gets_no_control_codes_and_lines_of_its_width(
    address: str, game: str, tmp_path: Path
) -> None:
    # Narrower and lower than what is taken for the size of a dumb terminal.
    size = {"rows": 20, "columns": 60}
    words = (game, "--seed", "5", "--opponent", "random", "--hint-iterations", "50")
    with terminal(address, *words, state=tmp_path, TERM="dumb", **size) as session:
        for typed in ("v", "h", "c", "q"):
            lines = session.read()
            assert len(lines) <= 20 and max(map(len, lines)) <= 60, lines
            session.type(typed if lines[-1] == "> " else "")
        assert "\x1b" not in session.raw


def test_what_is_typed_at_a_stop_answers_the_next_question(address: str, tmp_path: Path) -> None:
    words = ("champion_chess", "--seed", "5", "--opponent", "random")
    with terminal(address, *words, state=tmp_path, rows=12, columns=40) as session:
        assert session.read()[-1] == "Enter: go on "
        session.type("1")
        shown = session.read()
        assert "> 1" in shown
        assert any(line.startswith("You choose: ") for line in shown), shown


def test_a_stop_is_shown_again_and_ends_with_the_match(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Again when the program goes on, which Ctrl-Z has stopped."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    words = ("champion_chess", "--seed", "5", "--opponent", "random")
    with terminal(address, *words, state=tmp_path, rows=12, columns=40) as session:
        assert session.read()[-1] == "Enter: go on "
        for number in (signal.SIGSTOP, signal.SIGCONT):
            session.process.send_signal(number)
        assert session.read()[-1] == "Enter: go on "
        [saved] = SavedSeats().read()
        with Client(address) as client:
            Seat(client, saved.match, saved.token).resign()
        while "You resigned" not in " ".join(lines := session.read()):
            # Who types at each prompt at once leaves it no time to look whether it still stands.
            if lines[-1] == "Enter: go on ":
                session.type("")


def test_nobody_agrees_at_a_stop_to_what_is_asked_after_it(address: str, tmp_path: Path) -> None:
    words = ("champion_chess", "--seed", "5", "--opponent", "random")
    with terminal(address, *words, state=tmp_path, rows=8, columns=40) as session:
        while session.read()[-1] == "Enter: go on ":
            session.type("")
        session.type("resign")
        assert session.read()[-1] == "Resign? (y or n) "
        session.type("y")
        stops = 0
        while (asked := session.read()[-1]) == "Enter: go on ":
            session.type("y")
            stops += 1
        assert stops and asked == "Rematch? (y or n) "

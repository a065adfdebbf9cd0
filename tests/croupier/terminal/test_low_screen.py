"""On a terminal of 80 columns and 24 lines, everything between two prompts is in sight."""

import random
from pathlib import Path

import pytest

import wire
from croupier.client import Client, Seat
from croupier.terminal.saved import SavedSeats
from tests.croupier.terminal.terminals import terminal
from tests.support.long_form import LONG_FORM

ROWS, COLUMNS = 24, 80
REMATCH = {"en": "Rematch? (y or n) ", "de": "Revanche? (j oder n) "}
# The short form has each game in one language.
CASES = [
    (game, language)
    for number, game in enumerate(wire.hosted_games())
    for language in (("en", "de") if LONG_FORM else ("en", "de")[number % 2 :][:1])
]


def check(lines: list[str], *, cut: bool = False) -> None:
    shown = "\n".join(lines)
    assert len(lines) <= ROWS, shown
    assert max(map(len, lines)) <= COLUMNS, shown
    assert cut or "…" not in shown, shown


@pytest.mark.parametrize(("game", "language"), CASES)
def test_a_whole_match_stays_in_sight(
    address: str, game: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    seed = random.randrange(1000)
    print(f"seed {seed}")
    rng = random.Random(seed)
    words = (game, "--language", language, "--opponent", "random", "--seed", str(seed))
    words += ("--review-iterations", "100")
    if game == "skystones":
        words += ("--option", "special_fields=4")
    with terminal(address, *words, state=tmp_path) as session, Client(address) as client:
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
                session.type(f"#{rng.randint(1, len(view.legal_actions))}")
            else:
                assert lines[-1] in ("Enter: go on ", "Eingabetaste: weiter ")
                session.type("")
        assert any(line.startswith(("result: ", "Ergebnis: ")) for line in shown)
        session.type("v")
        review: list[str] = []
        while True:
            lines = session.read()
            check(lines)
            review += lines
            if lines[-1] == REMATCH[language]:
                break
            assert lines[-1] in ("Enter: go on ", "Eingabetaste: weiter ")
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

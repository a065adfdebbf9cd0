"""After a match the terminal offers a review of it; test_low_screen.py reads whole ones."""

import signal
from pathlib import Path

from tests.croupier.terminal.terminals import terminal

QUESTION = "Rematch? (y or n) "


def test_a_review_that_takes_too_long_can_be_stopped(
    shared_server: tuple[object, str], tmp_path: Path
) -> None:
    words = ("champion_chess", "--seed", "5", "--review-iterations", "1000000")
    with terminal(shared_server[1], *words, state=tmp_path) as session:
        while session.read()[-1] != "> ":
            session.type("")
        session.type("1")
        while session.read()[-1] != "> ":
            session.type("")
        session.type("r")
        session.read()
        session.type("y")
        lines = session.read()
        assert lines[-2:] == ["v reviews the match: who erred where, and what was luck.", QUESTION]
        session.type("v")
        session.read("s left")
        session.process.send_signal(signal.SIGINT)
        assert session.read(QUESTION)[-2:] == ["The review was stopped.", QUESTION]
        session.type("n")
        session.read()
        assert session.process.wait() == 0

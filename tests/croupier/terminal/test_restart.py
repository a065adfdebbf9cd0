"""Two friends in the terminal, whose server restarts while both have to decide."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.croupier.terminal.terminals import terminal
from tests.support.replicas import Replica

ROWS = 200  # So that nothing stops at the end of a screen.
PROMPT, OVER = "> ", "Rematch? (y or n) "


@pytest.mark.parametrize("killed", [False, True])
def test_friends_go_on_after_a_restart(
    replicas: Callable[..., Replica], tmp_path: Path, killed: bool
) -> None:
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), "--allow-seeds")
    server.ready()
    # With this seed, both seats have a choice.
    words = ("champion_chess", "--invite", "--seed", "6")
    with terminal(server.address, *words, state=tmp_path, rows=ROWS) as host:
        lines = host.read("waiting for your friend … ")
        [invitation] = [line.split()[-1] for line in lines if "--join " in line]
        words = ("--join", invitation, "--yes")
        with terminal(server.address, *words, state=tmp_path, rows=ROWS) as guest:
            shown = [session.read(PROMPT) for session in (host, guest)]
            assert all(lines[-1] == PROMPT for lines in shown)
            assert any("Your friend has joined." in line for line in shown[0])
            assert any(line.endswith("against White, a friend") for line in shown[1])
            if killed:
                server.kill()
                host.type("#1")  # While it is away.
            else:
                server.end_well()
            server.start()
            server.ready()
            if not killed:
                host.type("#1")
            guest.type("#1")
            for session in (host, guest):
                assert "aid phase" in "\n".join(session.read(PROMPT))
            guest.type("r")
            guest.read()
            guest.type("y")
            assert guest.read(OVER)[-1] == OVER
            lines = host.read(OVER)
            assert {"Your friend resigned.", "You win, 1 to 0."} <= set(lines)

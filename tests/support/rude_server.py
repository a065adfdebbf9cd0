"""A server that is rude: it gives the answers of tests/support/rude.py, and judges its clients.

tests/csharp/Rude.cs and clients/godot/tests/rude.gd call each row by its name in the path, and
print what came of it.
"""

import json
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.certificates import Authority
from tests.support.rude import CLOSE, FINE, MUTANTS, RESET, ROWS, http, told_stream, view_of

MOST_ATTEMPTS = 20  # Of a second with pauses in between.


class RudeServer:
    """Gives the answers of `ROWS` at /NAME/, those of `MUTANTS` at /mutant-N/, and counts."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.flowing = 0  # Answers without an end that go on.
        self._lock = threading.Lock()
        self._mutants = [json.dumps(each).encode() for each in MUTANTS]
        with tempfile.TemporaryDirectory() as folder:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*Authority(Path(folder), "nobody").issue())
        self.port = self._listen(None)
        self.tls_port = self._listen(context)

    def _listen(self, tls: ssl.SSLContext | None) -> int:
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        threading.Thread(target=self._accept, args=(listener, tls), daemon=True).start()
        port: int = listener.getsockname()[1]
        return port

    def rows(self) -> str:
        """The table as the clients read it, in JSON."""
        rows = [
            {
                "name": name,
                "url": f"{'https' if row.tls else 'http'}://127.0.0.1:"
                f"{self.tls_port if row.tls else self.port}/{name}",
                "call": row.call,
                "seconds": row.seconds,
                "patience": 1 if row.then is None else 600,
            }
            for name, row in ROWS.items()
        ]
        here = f"http://127.0.0.1:{self.port}/"
        return json.dumps({"rows": rows, "here": here, "mutants": len(MUTANTS)})

    def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        while True:
            line, _ = listener.accept()
            threading.Thread(target=self._serve, args=(line, tls), daemon=True).start()

    def _serve(self, line: socket.socket, tls: ssl.SSLContext | None) -> None:
        with suppress(OSError), line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            whole = tls.wrap_socket(line, server_side=True) if tls else line
            with whole, whole.makefile("rb") as requests:
                while path := _path(requests):
                    name, _, method = path.removeprefix("/").partition("/")
                    if not self._answer(whole, name, method):
                        return

    def _answer(self, line: socket.socket, name: str, method: str) -> bool:
        # Whether the connection stands.
        with self._lock:
            self.calls[name] += 1
            again = self.calls[name] > 1
        if name == "flowing":
            line.sendall(http(200, json.dumps({"flowing": self.flowing}).encode()))
            return True
        if name.startswith("mutant-"):
            line.sendall(self._mutant(self._mutants[int(name.split("-")[1])], method))
            return True
        if (row := ROWS.get(name)) is None:
            line.sendall(FINE)
            return True
        if row.call == "follow" and not method.endswith("/WatchMatch"):
            self.calls[name] -= 1
            line.sendall(http(200, json.dumps({"view": view_of(2, False)}).encode()))
            return True
        for step in row.then if again and row.then is not None else row.answer:
            if step == CLOSE:
                return False
            if step == RESET:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                line.close()
                return False
            if isinstance(step, bytes):
                line.sendall(step.replace(b"{port}", str(self.port).encode()))
            elif isinstance(step, tuple):
                self._flow(line, *step)
        return True

    def _flow(self, line: socket.socket, piece: bytes, pause: float) -> None:
        with self._lock:
            self.flowing += 1
        try:
            while True:
                line.sendall(piece)
                time.sleep(pause)
        finally:
            with self._lock:
                self.flowing -= 1

    @staticmethod
    def _mutant(answer: bytes, method: str) -> bytes:
        streams = method.endswith(("/WatchMatch", "Position", "/ReviewMatch", "/ReplayMatch"))
        return told_stream(answer) if streams else http(200, answer)

    def judge(self, said: Sequence[str]) -> list[str]:
        """Returns what is wrong with what a client says, in lines, that came of the rows."""
        outcomes = {
            each["name"]: each
            for each in map(json.loads, (line for line in said if line[:1] == "{"))
        }
        wrong = [line for line in said if not line.startswith("{") and line != "done"]
        wrong += [] if "done" in said else ["it has not come to its end"]
        wrong += [f"{name}: nothing came of it" for name in ROWS if name not in outcomes]
        for name, outcome in outcomes.items():
            row, calls = ROWS[name], 1 + outcome["retried"]  # Not each may get here in time.
            came = _came(outcome, calls)
            if came not in row.expect.split("|"):
                wrong.append(f"{name}: {came} after {calls} calls, not {row.expect}: {outcome}")
            elif came == "ok" and row.call == "stream" and outcome["told"] != row.told:
                wrong.append(f"{name}: {outcome['told']} messages, not {row.told}")
            elif row.call == "follow" and tuple(outcome["turns"]) != row.turns:
                wrong.append(f"{name}: asked at {outcome['turns']}, not at {row.turns}")
            if max(calls, self.calls[name]) > MOST_ATTEMPTS:
                wrong.append(f"{name}: {calls} calls within a second")
        stolen = self.calls["stolen"]
        return wrong + ([f"{stolen} calls went where a redirect leads"] if stolen else [])


def _came(outcome: dict[str, Any], calls: int) -> str:
    code, reason = outcome["code"], outcome["reason"]
    if code == "ok":
        return "ok"
    if not outcome["message"]:
        return "an error that says nothing"
    if not reason and outcome["mayPass"] and calls > 1:
        return "lost"
    said = f"{code}:{reason}" if reason else code
    return f"again:{said}" if calls > 1 else str(said)


def _path(requests: Any) -> str:
    # Of the next request, whose body is read; "" at the end.
    first = requests.readline(65536).decode()
    size = 0
    while (line := requests.readline(65536).strip()) != b"":
        key, _, value = line.partition(b":")
        size = int(value) if key.lower() == b"content-length" else size
    requests.read(size)
    return str(first.split(" ")[1]) if first.count(" ") > 1 else ""

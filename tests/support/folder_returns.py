"""How often an action and a hint come back to a folder of the service that they have left.

Lets a server and a search server in this process answer one call of each, and notes their way
through the folders of `service/`, from the call to its answer:

- An *entry* is a function that begins in another folder than its caller, or that the event loop or
  a thread begins, such as a task. What returns, or goes on after it has waited, enters nothing.
- A *return* is an entry of a folder that was entered before, unless nothing else was entered since.
  Each task, each thread and each callback is a way of its own: the folder where it begins counts.
- What is called from everywhere, and calls little itself, is no folder here: LEAVES.
"""

import argparse
import asyncio
import threading
from pathlib import Path

from google.protobuf.message import Message

import service
from service.common.call import current_call
from tests.support.serving import OPEN, Client, Servers, ruleset_of
from tests.support.waiting import FOREVER

LEAVES = ("common/", "observability/", "wire/", "store/")
POOL = "search-hint"  # How the names of the threads of the pool begin.
_SERVICE = f"{Path(service.__file__).parent}/"


class Recorder:
    """Notes the entries of calls, and of what is behind them, while it is told to."""

    def __init__(self):
        self._entries = None  # None: nothing is noted now.
        self._answered = []  # Calls, of which nothing more is noted.

    def record(self, call, *arguments):
        """The entries of a call that is made now: each with its way, and whether it is a return."""
        self._last = {}  # The folder that was entered last, by way.
        self._entries = entries = []
        call(*arguments)
        self._entries = None
        return entries

    def profile(self, frame, event, result):
        """Is told of every function that begins, goes on, waits or ends (`sys.setprofile`)."""
        code, call = frame.f_code, current_call.get()
        if self._entries is None or call in self._answered:
            return
        if event == "return" and code.co_qualname == "Calls.answer":
            if isinstance(result, bytes | Message):  # Else it waits.
                self._answered.append(call)
        # A function that begins is at a RESUME with the argument 0.
        elif event == "call" and _file(frame) and not code.co_code[frame.f_lasti + 1]:
            thread = threading.current_thread().name
            stack = [each for each in _stack(frame) if _file(each)]
            if thread.startswith(POOL):
                self._enter(thread, *stack[:2])
            elif call is not None:  # A callback is known by the function with which it begins.
                self._enter(asyncio.current_task() or stack[-1], *stack[:2])

    def _enter(self, way, frame, caller=None):
        if caller is not None and way not in self._last:
            self._enter(way, caller)  # It began before it was known whose it is.
        folder = _folder(frame)
        if caller is None or folder != _folder(caller):
            seen = any(place.startswith(folder) for _, place, _ in self._entries)
            place = f"{_file(frame)} {frame.f_code.co_qualname}"
            self._entries.append((way, place, seen and folder != self._last.get(way)))
            self._last[way] = folder


def _stack(frame):
    while frame is not None:
        yield frame
        frame = frame.f_back


def _file(frame):
    # The path of a frame's file in the folder of the service; empty if it is not there or a leaf.
    _, _, file = frame.f_code.co_filename.partition(_SERVICE)
    return "" if file.startswith(LEAVES) else file


def _folder(frame):
    return _file(frame).partition("/")[0]


def entries():
    """What is noted of an action and of a hint."""
    recorder = Recorder()
    # Of the threads that start from now on. Python 3.11 may hang where it is set in mid-loop.
    threading.setprofile(recorder.profile)
    servers = Servers()
    try:
        _, search_at = servers.start_search_server(threads=1)
        server, address = servers.start(search_at=search_at, search_threads=1)
        servers.run(server._search_servers.wait_ready(FOREVER))
        client = Client(address)
        table = client.create(ruleset_of("skystones"), [OPEN, OPEN])
        player = table.players[table.spectator.view().deciders[0]]
        view = player.view()
        return {
            "hint": recorder.record(player.hint, {"iterations": 200}),
            "action": recorder.record(player.submit, view.legal_actions[0], view.version),
        }
    finally:
        client.close()
        threading.setprofile(None)
        servers.close()


def returns(noted):
    """How often a call itself, and what is behind it, come back to a folder."""
    own = sum(returned for way, _, returned in noted if way == noted[0][0])
    return own, sum(returned for _, _, returned in noted) - own


if __name__ == "__main__":
    how = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=how).parse_args()
    for name, noted in entries().items():
        own, behind = returns(noted)
        print(f"{name}: {own} returns (*) in the call, {behind} behind it, in ways with a number")
        ways = list(dict.fromkeys(way for way, _, _ in noted))
        for way, place, returned in noted:
            print(f"  {ways.index(way) or ' '} {'*' if returned else ' '} {place}")

"""A program that runs scripts of steps on a log, each script in a process of its own.

It reads one JSON array of steps per line. For each step it prints the answer, and at the end the
exit code. Unlike a server, it takes little time to kill and to start again. LogScript runs it.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from service.store import Snapshot, SqliteStore
from tests.support.faulty_disk import Control
from tests.support.stores import NOT_DUE, action, append, header, read
from wire.errors import Refusal

ADDED, THERE, REFUSED = "added", "there", "refused"


class LogScript:
    """Runs the program on a faulty disk."""

    def __init__(self, disk):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.log_script"],
            env=disk.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *steps):
        """The answers to the steps up to the end of the process, and its exit code."""
        self._process.stdin.write(json.dumps(steps) + "\n")
        self._process.stdin.flush()
        answers = []
        while not isinstance(answer := json.loads(self._process.stdout.readline()), dict):
            answers.append(answer)
        return answers, answer["ended"]

    def close(self):
        self._process.communicate()


async def do(store, match_id, request_id):
    """Adds a request to the log unless it is there already, as a server does."""
    if await store.load(match_id) is None:
        await store.create(header(match_id), NOT_DUE)
    entries = await read(store, match_id, 0)
    if request_id in [entry.request_id for entry in entries]:
        return THERE
    entry = action(0, bytes(500), request_id=request_id)
    assert await append(store, match_id, len(entries), entry, NOT_DUE)
    return ADDED


def say(answer):
    # Unbuffered, because the process may be killed at any time.
    os.write(1, json.dumps(answer).encode() + b"\n")


async def carry_out(steps, store, control):
    for what, *arguments in steps:
        answer = None
        try:
            if what == "open":
                await store.open()
            elif what == "close":
                await store.close()
            elif what == "do":
                answer = await do(store, *arguments)
            elif what == "append":
                match_id, version, request_id = arguments
                entry = action(0, bytes(500), request_id=request_id)
                answer = await append(store, match_id, version, entry, NOT_DUE)
            elif what == "create":
                await store.create(header(arguments[0]), NOT_DUE)
            elif what == "keep":
                store.save_snapshot(arguments[0], Snapshot(arguments[1], bytes(5000)))
            elif what == "fail":
                control.fail(*arguments)
            elif what == "mend":
                control.mend()
        except Refusal:
            answer = REFUSED
        except OSError as error:
            say(str(error))
            return
        say(answer)


def main():
    control = Control(os.environ["FAULTY_DISK_CONTROL"])
    directory = Path(os.environ["FAULTY_DISK_DATA"])
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(carry_out(json.loads(line), SqliteStore(directory), control))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        say({"ended": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    main()

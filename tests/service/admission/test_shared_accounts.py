"""Accounts that processes share: counted once, given back by whoever dies, and never waited for."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from service.admission import shared_accounts
from service.admission.budgets import Budget, Ledger
from service.admission.principals import Kind, Principal
from service.admission.shared_accounts import LOCK_SECONDS, PROBES, SharedAccounts
from service.errors import Refusal
from service.metrics import Metrics

PROCESSES = 3
LIMITS = {Budget.CALLS: 100, Budget.MATCHES: 300, Budget.STREAMS: 2}
ONE = Principal(Kind.SEAT, "one/0")
SEED = 20261124
END = 30

# What another process does with the same accounts, and says when it has done it.
CHILD = """
import fcntl, sys
from tests.service.admission.test_shared_accounts import Budget, ONE, ledger, spent
file, number, what = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
mine = ledger(file, number)
if what == "spend":
    sys.stdin.readline()
    print(spent(mine, Budget.MATCHES), flush=True)
elif what == "hold":
    with mine.hold([ONE], Budget.STREAMS), mine.hold([ONE], Budget.STREAMS):
        print("held", flush=True)
        sys.stdin.readline()
elif what == "lock":
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("locked", flush=True)
    sys.stdin.readline()
"""


def ledger(file, process, limits=LIMITS, now=time.monotonic):
    """The ledger of one of the processes."""
    return Ledger(
        lambda principal: limits, Metrics(), now, SharedAccounts(file, process, PROCESSES, now)
    )


def spent(ledger, budget, principal=ONE):
    """How many uses of a budget are admitted at once."""
    count = 0
    while count < 10_000:
        try:
            ledger.spend([principal], budget)
        except Refusal:
            break
        count += 1
    return count


@pytest.fixture
def file():
    file = shared_accounts.create(PROCESSES)
    yield file
    os.close(file)


@pytest.fixture
def child(file):
    """Starts a process that shares the accounts."""
    started = []

    def start(number, what):
        command = [sys.executable, "-c", textwrap.dedent(CHILD), str(file), str(number), what]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[file]
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_processes_that_spend_at_once_get_the_budget_once(file, child):
    children = [child(number, "spend") for number in range(PROCESSES)]
    for each in children:
        each.stdin.write("\n")
        each.stdin.flush()
    counts = [int(each.stdout.readline()) for each in children]
    # Within the seconds that it takes, a twelfth of a match is refilled in each.
    assert LIMITS[Budget.MATCHES] <= sum(counts) <= LIMITS[Budget.MATCHES] + END / 12, counts


def test_one_process_gets_all_of_a_budget_and_the_others_then_nothing(file):
    ledgers = [ledger(file, number, now=lambda: 1000.0) for number in range(PROCESSES)]
    assert spent(ledgers[0], Budget.CALLS) == LIMITS[Budget.CALLS]
    assert spent(ledgers[1], Budget.CALLS) == spent(ledgers[2], Budget.CALLS) == 0


def test_what_one_process_holds_counts_for_all(file):
    one, other, _ = (ledger(file, number) for number in range(PROCESSES))
    with one.hold([ONE], Budget.STREAMS), other.hold([ONE], Budget.STREAMS):
        assert one.held(ONE, Budget.STREAMS) == 2
        with pytest.raises(Refusal), one.hold([ONE], Budget.STREAMS):
            raise AssertionError("was admitted")
    assert one.held(ONE, Budget.STREAMS) == 0


def test_what_a_killed_process_held_is_given_back(file, child):
    killed = child(1, "hold")
    assert killed.stdout.readline() == "held\n"
    mine = ledger(file, 0)
    with pytest.raises(Refusal), mine.hold([ONE], Budget.STREAMS):
        raise AssertionError("was admitted")
    killed.kill()
    killed.wait(END)
    shared_accounts.give_back(file, 1)
    with mine.hold([ONE], Budget.STREAMS):
        assert mine.held(ONE, Budget.STREAMS) == 1


def test_the_lock_of_a_killed_process_ends(file, child):
    killed = child(1, "lock")
    assert killed.stdout.readline() == "locked\n"
    with pytest.raises(OSError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    killed.kill()
    killed.wait(END)
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_process_that_is_stopped_with_the_lock_holds_up_nobody(file, child):
    stopped = child(1, "lock")
    assert stopped.stdout.readline() == "locked\n"
    stopped.send_signal(signal.SIGSTOP)
    mine = ledger(file, 0, now=lambda: 1000.0)
    began = time.monotonic()
    assert spent(mine, Budget.CALLS) == LIMITS[Budget.CALLS]
    # Each use waits for the lock for a moment; a busy machine may take ten times as long.
    assert time.monotonic() - began < 10 * (LIMITS[Budget.CALLS] + 1) * LOCK_SECONDS


def test_many_accounts_neither_mix_nor_are_forgotten_while_they_are_used(file, monkeypatch):
    monkeypatch.setattr(shared_accounts, "PLACES", 256)
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    now = 1000.0
    one, other, _ = (ledger(file, number, now=lambda: now) for number in range(PROCESSES))
    used = {}
    for number in range(2000):
        now += rng.random()
        principal = Principal(Kind.SEAT, f"{rng.randrange(400)}")
        count = rng.randrange(1, 5)
        # Of a budget that refills within 3,600 seconds; what is used is remembered until then.
        for _ in range(count):
            (one if number % 2 else other).charge([principal], Budget.MATCHES, 1.0)
        used.setdefault(principal, []).append((now, count))
    shown = 0
    for principal, uses in used.items():
        full_at = 0.0
        for at, count in uses:
            full_at = max(full_at, at) + count * 3600 / LIMITS[Budget.MATCHES]
        accounts = one._accounts
        with accounts.lock():
            places = [accounts._find(accounts._digest(principal))]
            if places != [None]:
                found = accounts.account(principal).full_at(Budget.MATCHES)
                assert found == pytest.approx(full_at) or full_at <= now
                shown += found > 0
    assert shown > PROBES

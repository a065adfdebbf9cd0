"""Attacks a server as one caller, while others play: `python -m lab.overload`, or `make overload`.

For each attack, a fresh server is measured at peace, under attack, after the attacker has left, and
after a restart: how long SubmitAction, a bot's move and a hint of 100 ms take for the others. They
sit on connections of their own, watch their matches and decide now and then. The attacker and the
others have different API keys or, with --by address, different addresses.

In the end, the phases of each attack are compared with all phases at peace together, since the p99
of one phase rests on one or two calls.
"""

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from croupier.terminal.arguments import declare
from lab.overload.attacker import Outcomes
from lab.overload.attacks import ATTACKS, attack, lower_priority
from lab.overload.others import KINDS, Latencies, Others, merge
from lab.overload.places import BY, places, write_callers_file
from lab.service_bench.servers import MeasuredServer
from tests.support.ports import free_port

SEED = 1
MAX_RATIO = 4.0
RECOVERY_SECONDS = 10.0
FORGET_SECONDS = 30.0
END_SECONDS = 12.0

_ALL = {"--attacks": tuple(ATTACKS), "--by": BY}
_OPTIONS = f"""
--attacks {"|".join(ATTACKS)} (all)
    which ones: {", ".join(ATTACKS)}
--by {"|".join(BY)} (both, in turn)
    how the server tells the attacker from the others
--seconds S [20.0]
    how long each phase is measured
"""

PEACE = "peace"
STALL_SECONDS = "0.1"  # As a bound of the server's histograms.
STALLING = {
    "croupier_store_commit_seconds": "commits",
    "croupier_event_loop_lag_seconds": "pauses of the event loop",
}

Phase = dict[str, Latencies]  # By the kind of calls.
Phases = dict[str, Phase]
Stalls = dict[str, str]  # What stood still in a phase, for readers.


class Memory(NamedTuple):
    """The memory of the server, in bytes."""

    before: int
    under_attack: int
    forgotten: int  # When the attacker has left for a while.


def main() -> None:
    """Prints a table for each attack; exits with 1 if a call of the others failed."""
    chosen = _parser().parse_args()
    good = True
    for by in chosen.by:
        good &= _compare(
            {
                name: asyncio.run(_measure_attack(name, by, chosen.seconds))
                for name in chosen.attacks
            },
            by,
        )
    sys.exit(0 if good else 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.overload",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    more = {flag: {"nargs": "+", "default": all} for flag, all in _ALL.items()}
    more["--attacks"]["metavar"] = "ATTACK"
    declare(parser, _OPTIONS, {"S": float}, more)
    return parser


async def _measure_attack(name: str, by: str, seconds: float) -> Phases:
    attacker, others_place = places(by)
    with (
        tempfile.TemporaryDirectory(prefix="croupier-overload-") as directory,
        ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=lower_priority
        ) as pool,
    ):
        callers_file = Path(directory, "callers.toml")
        write_callers_file(callers_file, by)
        web = f"127.0.0.1:{free_port()}"
        options = ("--web", web, "--callers-file", str(callers_file))
        server = MeasuredServer(Path(directory, "data"), options).start()
        others = Others(others_place, SEED)
        stalls: Stalls = {}

        async def measure(phase: str) -> Phase:
            stood = _stalls(server)
            found = await others.measure(seconds)
            stalls[phase] = _describe(_stalls(server) - stood, others.longest_lag)
            return found

        try:
            await others.start(server.address)
            await others.measure(3.0)
            peace = await measure(PEACE)
            before = server.memory()
            attacking = asyncio.get_running_loop().run_in_executor(
                pool, attack, name, server.address, attacker, seconds + 4.0, web
            )
            await others.measure(3.0)
            attacked = await measure("attacked")
            under_attack = server.memory()
            outcomes = await attacking
            left = time.monotonic()
            await others.measure(RECOVERY_SECONDS)
            after = await measure("after")
            await others.measure(max(0.0, left + FORGET_SECONDS - time.monotonic()))
            forgotten = server.memory()
            # The attacker goes on while the server is told to stop.
            attacking = asyncio.get_running_loop().run_in_executor(
                pool, attack, name, server.address, attacker, END_SECONDS, web
            )
            await others.measure(2.0)
            await others.close()
            ended = await asyncio.to_thread(server.stop)
            await attacking
            server.start()
            others = Others(others_place, SEED)
            await others.start(server.address)
            await others.measure(RECOVERY_SECONDS)
            restarted = await measure("restarted")
        finally:
            await others.close()
            server.stop()
    phases = {PEACE: peace, "attacked": attacked, "after": after, "restarted": restarted}
    memory = Memory(before, under_attack, forgotten)
    _show(name, by, phases, stalls, outcomes, memory, ended)
    return phases


def _stalls(server: MeasuredServer) -> Counter[str]:
    # How often so far it stood still for STALL_SECONDS, by what it did.
    stalls: Counter[str] = Counter()
    for sample in server.samples():
        what = STALLING.get(sample.name.removesuffix("_bucket"))
        if what is not None and sample.labels.get("le") in (STALL_SECONDS, "+Inf"):
            stalls[what] += round(sample.value if sample.labels["le"] == "+Inf" else -sample.value)
    return stalls


def _describe(stalls: Counter[str], longest_lag: float) -> str:
    found = [f"{count} {what}" for what, count in sorted(stalls.items())] or ["none"]
    return f"{', '.join(found)}; the others themselves {1000 * longest_lag:.0f} ms at most"


def _show(
    name: str,
    by: str,
    phases: Phases,
    stalls: Stalls,
    outcomes: Outcomes,
    memory: Memory,
    ended: float,
) -> None:
    print(f"\n{name}, callers told apart by {by}")
    print(f"  attacker: {', '.join(f'{what} {n:,}' for what, n in outcomes.most_common(6))}")
    before, under_attack, forgotten = (size >> 20 for size in memory)
    print(
        f"  memory of the server: {before} MB at peace, {under_attack} MB attacked, {forgotten} MB"
        f" {FORGET_SECONDS:.0f} s after the attacker has left"
    )
    print(f"  told to stop under attack, it ended after {ended:.1f} s")
    print(f"  {'':10}" + "".join(f"{kind + ': p50':>20}{'p99':>10}{'n':>6}" for kind in KINDS))
    for phase, found in phases.items():
        row = ""
        for kind in KINDS:
            each = found[kind]
            row += f"{1000 * each.p50:17.1f} ms{1000 * each.p99:7.0f} ms{len(each.taken):6}"
        failed = sum(each.failed for each in found.values())
        print(f"  {phase:10}{row}" + (f"  {failed} FAILED" if failed else ""))
    print("  stood still for 0.1 s or more:")
    for phase, described in stalls.items():
        print(f"    {phase:10}{described}", flush=True)


def _compare(attacks: dict[str, Phases], by: str) -> bool:
    # Whether no call of the others failed. How slow they were is for readers.
    peace = {kind: merge(phases[PEACE][kind] for phases in attacks.values()) for kind in KINDS}
    print(f"\nHow many times as long as at peace, p50/p99, callers told apart by {by}")
    print(f"  {'':32}" + "".join(f"{kind:>18}" for kind in KINDS))
    figures = (f"{1000 * each.p50:.1f}/{1000 * each.p99:.0f} ms" for each in peace.values())
    print(f"  {'all phases at peace':32}" + "".join(f"{each:>18}" for each in figures))
    good = True
    for name, phases in attacks.items():
        for phase, found in phases.items():
            good &= not any(each.failed for each in found.values())
            if phase == PEACE:
                continue
            row, worst = "", 0.0
            for kind, each in found.items():
                ratios = each.p50 / peace[kind].p50, each.p99 / peace[kind].p99
                row += f"{ratios[0]:13.1f}/{ratios[1]:4.1f}"
                worst = max(worst, *ratios)
            slow = f"  more than {MAX_RATIO:g} times" if worst > MAX_RATIO else ""
            print(f"  {name + ', ' + phase:32}{row}{slow}")
    return good


if __name__ == "__main__":
    main()

"""Attacks a server as one caller, while others play: `python -m lab.siege`, or `make siege`.

For each attack, a fresh server is measured at peace, under attack, after the attacker has left, and
after a restart: how long SubmitAction, a bot's move and a hint of 100 ms take for the others. They
sit on connections of their own, watch their matches and decide now and then. The attacker and the
others have different API keys or, with --by address, different addresses.
"""

import argparse
import asyncio
import multiprocessing
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from lab.service_bench.servers import Running
from lab.siege.attacks import ATTACKS, Outcomes, attack, lower_priority
from lab.siege.others import BOT, HINT, KINDS, SUBMIT, Latencies, Others
from lab.siege.places import BY, places, write_callers_file
from lab.siege.server import Fortress

SEED = 1
MAX_RATIO = 4.0
RECOVERY_SECONDS = 10.0

Phase = dict[str, Latencies]


def main() -> None:
    """Prints a table for each attack; exits with 1 if the others were slowed down too much."""
    chosen = _parser().parse_args()
    good = True
    for by in chosen.by:
        for name in chosen.attacks:
            good &= asyncio.run(_besiege(name, by, chosen.seconds))
    sys.exit(0 if good else 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lab.siege",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--attacks",
        nargs="+",
        metavar="ATTACK",
        choices=tuple(ATTACKS),
        default=tuple(ATTACKS),
        help=f"which ones (default: all): {', '.join(ATTACKS)}",
    )
    add(
        "--by",
        nargs="+",
        choices=BY,
        default=BY,
        help="how the server tells the attacker from the others (default: both, in turn)",
    )
    add(
        "--seconds",
        metavar="S",
        type=float,
        default=20.0,
        help="how long each phase is measured (default: %(default)s)",
    )
    return parser


async def _besiege(name: str, by: str, seconds: float) -> bool:
    attacker, others_place = places(by)
    with (
        tempfile.TemporaryDirectory(prefix="croupier-siege-") as directory,
        ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), initializer=lower_priority
        ) as pool,
    ):
        callers_file = Path(directory, "callers.toml")
        write_callers_file(callers_file, by)
        fortress = Fortress(Path(directory), callers_file)
        server = fortress.start()
        others = Others(others_place, SEED)
        try:
            await others.start(server.address)
            await others.measure(3.0)
            peace = await others.measure(seconds)
            before = server.memory()
            attacking = asyncio.get_running_loop().run_in_executor(
                pool, attack, name, server.address, attacker, seconds + 4.0
            )
            await others.measure(3.0)
            siege = await others.measure(seconds)
            under_attack = server.memory()
            outcomes = await attacking
            await others.measure(RECOVERY_SECONDS)
            after = await others.measure(seconds)
            await others.close()
            server = fortress.restart()
            others = Others(others_place, SEED)
            await others.start(server.address)
            await others.measure(RECOVERY_SECONDS)
            restarted = await others.measure(seconds)
        finally:
            await others.close()
            fortress.stop()
    phases = {"peace": peace, "siege": siege, "after": after, "restarted": restarted}
    return _show(name, by, phases, outcomes, server, before, under_attack)


def _show(
    name: str,
    by: str,
    phases: dict[str, Phase],
    outcomes: Outcomes,
    server: Running,
    before: int,
    under_attack: int,
) -> bool:
    print(f"\n{name}, callers told apart by {by}")
    print(f"  attacker: {', '.join(f'{what} {n:,}' for what, n in outcomes.most_common(6))}")
    print(f"  memory of the server: {before >> 20} MB at peace, {under_attack >> 20} MB attacked")
    print(f"  {'':10}" + "".join(f"{kind + ': p50':>20}{'p99':>10}{'n':>6}" for kind in KINDS))
    good = True
    for phase, found in phases.items():
        row = ""
        for kind in KINDS:
            each = found[kind]
            row += f"{1000 * each.p50:17.1f} ms{1000 * each.p99:7.0f} ms{each.answered:6}"
        failed = sum(each.failed for each in found.values())
        print(f"  {phase:10}{row}" + (f"  {failed} FAILED" if failed else ""))
        good &= failed == 0
    for phase in ("siege", "after", "restarted"):
        ratios = [
            (getattr(phases[phase][kind], part) / getattr(phases["peace"][kind], part), kind, part)
            for kind in (SUBMIT, BOT, HINT)
            for part in ("p50", "p99")
        ]
        worst, kind, part = max(ratios)
        verdict = "" if worst <= MAX_RATIO else f"  TOO SLOW: more than {MAX_RATIO:g} times"
        print(f"  {phase}: at most {worst:.1f} times as at peace ({kind}, {part}){verdict}")
        good &= worst <= MAX_RATIO
    return good


if __name__ == "__main__":
    main()

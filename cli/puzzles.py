"""`croupier puzzles`: finds puzzles in matches, and checks a pack of them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import wire
from cli import arguments
from cli.arguments import CommandError, Commands, UsageError
from cli.verify import add_records, verify_all
from croupier.files import read_once, write_whole
from croupier.terminal import program
from croupier.v1 import puzzle_pb2
from lab import puzzles, workers
from lab.puzzles import CONFIRMING, Options, Task
from service.hosting.records import write_record
from service.puzzles.packs import read_pack, write_pack

ABOUT = f"""\
Finds positions in which one action is clearly the best, and writes them as a pack of
puzzles, which a server finds beside the rules of the game. The matches are given as
records, or played for it.

A quick search finds candidates. The best action and the second best are then searched
alone and equally long; their expected scores must differ by the gap, by two standard
deviations. A search of {CONFIRMING} times the effort confirms it. The same command makes the same
pack, however many processes work on it.

With --check, each puzzle of a pack is searched anew with that effort, and the command
prints how many are confirmed."""

MIN_ITERATIONS = 100

MAX_PACK_BYTES = 64 << 20

OPTIONS = f"""
--self-play GAME
    play matches of this game
--output FILE
    write the pack to this file
--check FILE
    check this pack instead
--puzzles N [100]
    how many to find
--matches N [2000]
    play at most so many
--iterations N [10000]
    of each search; {CONFIRMING} times as many confirm a puzzle
--gap SCORE [0.1]
    how much more the best action must score than any other, from 0 to 1
--seed N [0]
    of matches and searches
"""


def add_parser(commands: Commands) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "puzzles",
        help="find positions in which one action is clearly the best",
        description=ABOUT,
        epilog="Exit status: 0; or 1 if there are fewer puzzles than were asked for, or if any "
        "is not confirmed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_records(parser, "*")
    more: dict[str, dict[str, Any]] = {"--self-play": {"choices": sorted(wire.hosted_games())}}
    more["--output"] = {"type": arguments.new_file}
    whole = {
        "N": arguments.whole(1),
        "--iterations": arguments.whole(MIN_ITERATIONS, arguments.MAX_ITERATIONS),
    }
    types = whole | {"--seed": arguments.whole(0)}
    arguments.declare(parser, OPTIONS, {**types, "SCORE": arguments.fraction(0, 1)}, more)
    workers.add_options(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Finds puzzles, or checks a pack."""
    options = Options(chosen.iterations, chosen.gap, chosen.seed)
    sources = [chosen.check, chosen.self_play, chosen.records]
    if sum(map(bool, sources)) != 1:
        raise UsageError("give records, --self-play or --check")
    if chosen.check:
        return _check(chosen.check, options, chosen.workers)
    if not chosen.output:
        raise UsageError("--output is missing")
    game_id, tasks = _tasks(chosen, options)
    pack = puzzle_pb2.PuzzlePack(
        game=f"games/{game_id}", rules_version=wire.hosted_games()[game_id].rules_version
    )
    ended = 0
    try:
        with workers.in_order(puzzles.find, tasks, chosen.workers) as results:
            for number, puzzle in _distinct(results):
                pack.puzzles.append(puzzle)
                print(f"match {number}: {len(pack.puzzles)} of {chosen.puzzles}", file=sys.stderr)
                if len(pack.puzzles) == chosen.puzzles:
                    break
    except KeyboardInterrupt:
        ended = program.INTERRUPTED
    if not pack.puzzles:
        print(f"no puzzle was found, and so {chosen.output} is not written", file=sys.stderr)
        return ended or 1
    pack.puzzles.sort(key=lambda each: each.puzzle.name)
    data = write_pack(pack)
    write_whole(chosen.output, data)
    print(f"{chosen.output}: {len(pack.puzzles)} puzzles, {len(data):,} bytes")
    return ended or int(len(pack.puzzles) < chosen.puzzles)


def _distinct(results: Iterator[list[bytes]]) -> Iterator[tuple[int, puzzle_pb2.PackedPuzzle]]:
    # With the number of the match. Nobody wants to solve the same position twice.
    seen: set[str] = set()
    for number, found in enumerate(results, 1):
        for each in found:
            puzzle = puzzle_pb2.PackedPuzzle.FromString(each)
            if puzzle.puzzle.name not in seen:
                seen.add(puzzle.puzzle.name)
                yield number, puzzle


def _tasks(chosen: argparse.Namespace, options: Options) -> tuple[str, Sequence[Task]]:
    if chosen.self_play:
        game_id = chosen.self_play
        return game_id, [Task(options, game_id, number) for number in range(chosen.matches)]
    verified, wrong = verify_all(chosen.records)
    if wrong:
        raise CommandError("no puzzles were looked for")
    games = {state.game.id: state.game for state in verified}
    if len(games) != 1:
        raise CommandError(
            f"a pack is of one game; these records are of {', '.join(sorted(games))}"
        )
    [game_id] = games
    present = wire.hosted_games()[game_id].rules_version
    return game_id, [
        Task(options, game_id, number, write_record(state).SerializeToString())
        for number, state in enumerate(verified)
        if state.header.rules_version == present
    ]


def _check(path: Path, options: Options, played_by: int | None) -> int:
    try:
        pack = read_pack(read_once(path, MAX_PACK_BYTES))
    except ValueError as error:  # Also a PackError.
        raise CommandError(f"{path}: {error}") from error
    confirmed = 0
    tasks = [each.SerializeToString() for each in pack.puzzles]
    with workers.in_order(partial(_confirm, options), tasks, played_by) as results:
        for number, (puzzle, right) in enumerate(zip(pack.puzzles, results, strict=True), 1):
            confirmed += right
            told = "confirmed" if right else "NOT confirmed"
            print(f"{number} of {len(tasks)}: {puzzle.puzzle.name} {told}", file=sys.stderr)
    print(f"{path}: {confirmed} of {len(tasks)} confirmed")
    return int(confirmed < len(tasks))


def _confirm(options: Options, puzzle: bytes) -> bool:
    return puzzles.check(puzzle_pb2.PackedPuzzle.FromString(puzzle), options)

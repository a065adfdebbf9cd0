"""What the answer of a puzzle and the line after it lead to, in a world that its seat could expect.

In the match that a puzzle comes from, the other seat may lack the cards of the line. So the line is
played in a world that is drawn from the view, which tells nothing of the cards of that match.
"""

import hashlib
from collections.abc import Iterator

import wire
from croupier.v1 import game_pb2, puzzle_pb2
from engine.errors import ActionError
from engine.events import Event
from engine.match import Match
from engine.sampler import Sampler
from service.common.event_loop import Work
from service.hosting.match_state import MatchState
from service.hosting.views import serialize_position

MAX_WORLDS = 256  # Of 400 lines, 398 end in one of them, and most in one of the first ten.


def playing_line(
    state: MatchState, puzzle: puzzle_pb2.PackedPuzzle
) -> Work[list[puzzle_pb2.PuzzleStep]]:
    """The steps of a solution; `state` is the match of the puzzle, at its position."""
    seat, best = puzzle.puzzle.origin.seat, puzzle.hint.actions[0]
    line = [(seat, best.action), *((int(each.seat), each.action) for each in best.line)]
    actions = [(who, wire.read_action(state.game, action)) for who, action in line]
    sampler = Sampler.of(state.dealt().view(seat))

    def play(world: int) -> Iterator[tuple[Match, list[Event]]]:
        secret = hashlib.sha256(f"{puzzle.puzzle.name} {world}".encode()).digest()
        match = Match(state.game, secret, "", state.version, sampler.sample(world))
        for who, action in actions:
            try:
                happened = match.apply(who, action)
            except ActionError:
                return
            yield match, happened

    best_world, most = 0, 0
    for world in range(MAX_WORLDS):
        length = sum(1 for _ in play(world))
        if length > most:
            best_world, most = world, length
        if most == len(actions):
            break
        yield
    return [_write_step(state, *step, seat) for step in play(best_world)]


def _write_step(
    state: MatchState, match: Match, happened: list[Event], seat: int
) -> puzzle_pb2.PuzzleStep:
    after = state._replace(match=match, version=match.version, deciders=match.deciders)
    return puzzle_pb2.PuzzleStep(
        version=match.version,
        events=[
            wire.write_event(state.game, each, match.version)
            for each in happened
            if each.seen_by(seat)
        ],
        view=game_pb2.View.FromString(serialize_position(after, seat)),
    )

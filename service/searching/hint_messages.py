"""Hints as messages: what a search found, the expected lines, and beliefs about hidden cards."""

from ai.principal_lines import PrincipalLines
from ai.results import Result, StopReason
from croupier.v1 import hint_pb2
from engine.game import Game, SeatView
from engine.sampler import Beliefs
from service import wire

MAX_LINES = 32  # Actions that have a line.
# No value from 0 to 1 has a larger standard deviation, but after few visits the search's estimate
# of what a score may still change by is larger. Ties do not depend on this limit: two scores differ
# by no more than two deviations if one of them has it.
MAX_DEVIATION = 0.5

STOP_REASONS: dict[StopReason, hint_pb2.StopReason] = {
    StopReason.ITERATIONS: hint_pb2.STOP_REASON_ITERATIONS,
    StopReason.TIME: hint_pb2.STOP_REASON_TIME,
    StopReason.SINGLE_ACTION: hint_pb2.STOP_REASON_SINGLE_ACTION,
    StopReason.PROVEN: hint_pb2.STOP_REASON_PROVEN,
    StopReason.CANCELLED: hint_pb2.STOP_REASON_CANCELLED,
    StopReason.MEMORY: hint_pb2.STOP_REASON_MEMORY,
}
_HIDDEN_PLACES: dict[str, hint_pb2.HiddenPlace] = {
    "opponent_hand": hint_pb2.HIDDEN_PLACE_OPPONENT_HAND,
    "opponent_pile": hint_pb2.HIDDEN_PLACE_OPPONENT_PILE,
    "set_aside": hint_pb2.HIDDEN_PLACE_SET_ASIDE,
    "opponent_gate": hint_pb2.HIDDEN_PLACE_OPPONENT_GATE,
    "opponent_castle": hint_pb2.HIDDEN_PLACE_OPPONENT_CASTLE,
}


def write_hint(
    view: SeatView, version: int, result: Result, lines: PrincipalLines | None
) -> hint_pb2.Hint:
    """What a search found for a view, the likeliest actions with the line expected to follow.

    Without `lines`, it leaves out the evaluations of the actions. The message does not say why the
    search ended, since it may go on.
    """
    hint = hint_pb2.Hint(
        action=wire.write_action(view.game, result.action),
        version=version,
        seat=view.seat,
        expected_score=result.expected_score,
        win=result.win,
        draw=result.draw,
        loss=result.loss,
        iterations=result.iterations,
        worlds=result.worlds,
        nodes=result.nodes,
        full=result.full,
    )
    if lines is None:
        return hint
    for each in result.actions:
        hint.actions.add(
            action=wire.write_action(view.game, each.action),
            visits=each.visits,
            availability=each.availability,
            expected_score=each.expected_score,
            deviation=min(each.deviation, MAX_DEVIATION),
            probability=each.probability,
            tied=each.tied,
        )
    for i, each in enumerate(result.actions[:MAX_LINES]):
        hint.actions[i].line.extend(
            hint_pb2.ExpectedAction(seat=seat, action=wire.write_action(view.game, action))
            for seat, action in lines.line(each.action)
        )
    return hint


def write_beliefs(game: Game, beliefs: Beliefs) -> list[hint_pb2.CardBelief]:
    """What the hidden cards may be."""
    cards = [card["id"] for card in game.cards()]
    return [
        hint_pb2.CardBelief(
            place=_HIDDEN_PLACES[belief.place],
            card=cards[belief.card],
            expected_copies=belief.expected,
            probability=belief.probability,
        )
        for belief in beliefs.cards
    ]

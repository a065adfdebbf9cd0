"""HintService: from what a seat knows to what it should play."""

import secrets

from google.protobuf.duration_pb2 import Duration

from ai.search import Result
from croupier.v1 import game_pb2, hint_pb2, hint_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.game import Sampler, SeatView, ViewError
from service import wire
from service.errors import Refusal
from service.gate import Context
from service.match_service import Door
from service.matches import check_decides, check_running, check_seat
from service.searches import Lane, Limits

DEFAULT_LIMITS = Limits(seconds=1.0)


class HintService(hint_pb2_grpc.HintServiceServicer):
    """Searches for whoever asks."""

    def __init__(self, door: Door, lane: Lane) -> None:
        self._door = door
        self._lane = lane

    async def SuggestAction(
        self, request: hint_pb2.SuggestActionRequest, context: Context
    ) -> hint_pb2.SuggestActionResponse:
        limits = read_limits(request.limits) if request.HasField("limits") else DEFAULT_LIMITS
        seed = request.seed if request.HasField("seed") else secrets.randbits(64)
        if request.WhichOneof("position") == "match":
            caller, hosted = await self._door.enter(context, request.match)
            check_seat(caller)
            check_running(hosted)
            check_decides(hosted, caller.seat)
            view, version = hosted.match.view(caller.seat), hosted.version
            deciders = hosted.deciders
        else:
            view, version = wire.read_view(request.view, "view"), request.view.version
            deciders = tuple(request.view.deciders)
            check_sent_view(request.view)
        result, seconds = await self._lane.search(
            view, limits, seed, prepare=lambda: checked_sampler(view, deciders)
        )
        search_time = Duration()
        search_time.FromNanoseconds(round(1e9 * seconds))
        return hint_pb2.SuggestActionResponse(
            hint=write_hint(view, version, result), search_time=search_time
        )


def read_limits(message: hint_pb2.SearchLimits) -> Limits:
    """The limits of a search, which the schema has checked."""
    return Limits(
        iterations=message.iterations,
        seconds=message.time.ToNanoseconds() / 1e9,
        threads=max(message.threads, 1),
    )


def check_sent_view(view: game_pb2.View) -> None:
    """Raises Refusal for a view whose seat has nothing to decide."""
    if view.HasField("result"):
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")
    if view.seat not in view.deciders:
        raise Refusal(
            ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
            f"seat {view.seat} owes no decision in this view",
            fields=[("view.deciders", f"must hold {view.seat}, the seat that asks")],
        )


def checked_sampler(view: SeatView, deciders: tuple[int, ...]) -> Sampler:
    """The worlds of a view; raises Refusal if there are none, or if other seats decide in them."""
    try:
        sampler = view.game.sampler(view)
        position = sampler.sample(0)
    except ViewError as error:
        raise wire.inconsistent_view(error, view.game.id, "view") from None
    if not set(deciders) <= set(position.deciders):
        rule = f"must be among {list(position.deciders)}, by what is known of the game"
        raise Refusal(
            ErrorReason.ERROR_REASON_INCONSISTENT_VIEW,
            f"view.deciders: {rule}",
            fields=[("view.deciders", rule)],
        )
    return sampler


def write_hint(view: SeatView, version: int, result: Result) -> hint_pb2.Hint:
    """What a search found, as a message."""
    return hint_pb2.Hint(
        action=wire.write_action(view.game, result.action),
        version=version,
        seat=view.seat,
        actions=[
            hint_pb2.ActionEvaluation(
                action=wire.write_action(view.game, each.action),
                visits=each.visits,
                availability=each.availability,
                expected_score=each.expected_score,
                deviation=each.deviation,
                probability=each.probability,
            )
            for each in result.actions
        ],
        expected_score=result.expected_score,
        win=result.win,
        draw=result.draw,
        loss=result.loss,
        iterations=result.iterations,
        stop_reason=f"STOP_REASON_{result.stop_reason.upper()}",
    )

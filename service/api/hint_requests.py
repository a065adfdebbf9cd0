"""Hint requests: read and checked completely, so that the search can answer them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from croupier.v1 import game_pb2, hint_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError, ViewError
from engine.game import SeatView
from engine.model import Model, learned
from engine.position import Position
from engine.sampler import Sampler
from service import wire
from service.errors import Refusal, invalid_field
from service.hosting.caller import Caller, check_seat
from service.hosting.match_state import MatchState
from service.hosting.requests import check_decides, check_running
from service.hosting.views import serialize_position
from service.searching.bot_strengths import BOT_STRENGTHS
from service.searching.hints import CheckedHintRequest
from service.searching.models import Models
from service.searching.pool import Limits

# The path of the search in a request.
SEARCH = "search"


class AskedPosition(NamedTuple):
    """The position that a request is about."""

    view: SeatView
    version: int
    deciders: tuple[int, ...]
    write: Callable[[], bytes] | None = None  # The view as a message; None: it was sent.


def read_limits(search: hint_pb2.Search, default: Limits) -> Limits:
    """The limits of a search, whose fields the schema has checked."""
    if search.HasField("strength"):
        return Limits(BOT_STRENGTHS[search.strength].iterations)
    if not search.HasField("limits"):
        return default
    limits = search.limits
    return Limits(
        iterations=limits.iterations,
        seconds=limits.time.ToNanoseconds() / 1e9,
        threads=max(limits.threads, 1),
        nodes=limits.nodes,
    )


def hosted_position(caller: Caller, state: MatchState) -> AskedPosition:
    """The position of a hosted match; raises Refusal unless the caller is to decide in it."""
    check_seat(caller)
    check_running(state)
    check_decides(state, caller.seat)
    return AskedPosition(
        state.dealt().view(caller.seat),
        state.version,
        state.deciders,
        partial(serialize_position, state, caller.seat),
    )


def sent_position(message: game_pb2.View) -> AskedPosition:
    """The position of a view that came in the field `search.view`; raises Refusal."""
    view = wire.read_view(message, f"{SEARCH}.view")
    if message.HasField("result"):
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")
    if message.seat not in message.deciders:
        raise Refusal(
            ErrorReason.ERROR_REASON_NOT_TO_DECIDE,
            f"seat {message.seat} owes no decision in this view",
            fields=[
                (
                    f"{SEARCH}.view.deciders",
                    "NOT_TO_DECIDE",
                    f"must hold {message.seat}, the seat that asks",
                )
            ],
        )
    return AskedPosition(view, message.version, tuple(message.deciders))


def write_search(search: hint_pb2.Search, asked: AskedPosition) -> hint_pb2.Search:
    """The search as a search server needs it: with the view instead of the name of the match."""
    written = hint_pb2.Search()
    written.CopyFrom(search)
    if asked.write is not None:
        written.view.ParseFromString(asked.write())
    return written


def check_search(
    search: hint_pb2.Search,
    asked: AskedPosition,
    details: bool = True,
    models: Models = learned,
) -> CheckedHintRequest:
    """Return a search, which has a seed, checked, with the sampler of its position; raise Refusal.

    `details` are whether the hint evaluates each action, and `models` what was learned of the
    games. Checking infers what the view says of
    hidden cards, which takes up to 20 ms: call it in a thread of the search pool.
    """
    sampler = _checked_sampler(asked, models(asked.view.game))
    return CheckedHintRequest(
        view=asked.view,
        version=asked.version,
        sampler=sampler,
        actions=_read_actions(search, asked.view, sampler),
        seed=search.seed,
        belief_worlds=search.belief_worlds,
        details=details,
        evaluation_share=search.evaluation_share,
    )


def _checked_sampler(asked: AskedPosition, model: Model | None) -> Sampler:
    # A view that was sent may fit no world, or name other seats than decide in its worlds.
    try:
        sampler = Sampler.of(asked.view, model)
        position = sampler.sample(0)
    except ViewError as error:
        raise wire.inconsistent_view(error, asked.view.game.id, f"{SEARCH}.view") from None
    if not set(asked.deciders) <= set(position.deciders):
        rule = f"must be among {list(position.deciders)}, by what is known of the game"
        raise Refusal(
            ErrorReason.ERROR_REASON_INCONSISTENT_VIEW,
            f"{SEARCH}.view.deciders: {rule}",
            fields=[(f"{SEARCH}.view.deciders", ViewError.reason, rule)],
        )
    return sampler


def _read_actions(
    search: hint_pb2.Search, view: SeatView, sampler: Sampler
) -> tuple[int, ...] | None:
    # The included actions, or else all legal ones, without the excluded ones.
    if not search.include_actions and not search.exclude_actions:
        return None
    # Any world will do: the legal actions of the seat are the same in all of them.
    position = sampler.sample(0)
    included = _read_legal(search.include_actions, view, position, "include_actions")
    excluded = _read_legal(search.exclude_actions, view, position, "exclude_actions")
    left = (included or set(position.legal(view.seat))) - excluded
    if not left:
        raise invalid_field(
            f"{SEARCH}.exclude_actions", "NO_ACTION_LEFT", "must leave an action to search for"
        )
    return tuple(sorted(left))


def _read_legal(
    messages: Sequence[game_pb2.MatchAction], view: SeatView, position: Position, field: str
) -> set[int]:
    actions = set()
    for i, message in enumerate(messages):
        path = f"{SEARCH}.{field}[{i}]"
        wire.check_game(view.game, message, path)
        try:
            action = wire.read_action(view.game, message)
            position.check(view.seat, action)
        except ActionError as error:
            raise wire.illegal_action(error, message, path) from None
        actions.add(action)
    return actions

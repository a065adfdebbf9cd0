"""The resource of a match: what everybody may know who has a token of it, and no cards."""

from croupier.v1 import game_pb2, match_pb2
from service.hosting.match_state import MatchState
from service.hosting.seats import write_seats
from service.store import ListedMatch


def list_item(state: MatchState) -> ListedMatch:
    """A match as a list of the log shows it."""
    header = state.header
    return ListedMatch(
        match_id=header.match_id,
        game=header.game,
        bots=header.bots,
        created=header.created,
        ended=state.time if state.over else None,
        version=state.version,
        rules_version=header.rules_version,
        updated=state.time,
        invited=header.invited,
    )


def write_match(listed: ListedMatch, result: game_pb2.MatchResult | None = None) -> match_pb2.Match:
    """The resource; the log does not list how a match ended."""
    over = listed.ended is not None
    match = match_pb2.Match(
        name=f"matches/{listed.match_id}",
        game=f"games/{listed.game}",
        state=match_pb2.MATCH_STATE_OVER if over else match_pb2.MATCH_STATE_RUNNING,
        version=listed.version,
        seats=write_seats(listed.bots, listed.invited),
        result=result,
        rules_version=listed.rules_version,
    )
    match.create_time.FromMilliseconds(listed.created)
    match.update_time.FromMilliseconds(listed.updated)
    if listed.ended is not None:
        match.end_time.FromMilliseconds(listed.ended)
    return match

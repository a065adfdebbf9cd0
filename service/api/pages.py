"""Pagination of a list of matches, as in AIP-158."""

import base64
import binascii
import hashlib

from croupier.v1 import match_pb2
from service.errors import Refusal, invalid_field
from service.store import ListedMatch, Query

PAGE_SIZE = 50
MAX_PAGE_SIZE = 1000

_OVER = {
    match_pb2.MATCH_STATE_UNSPECIFIED: None,
    match_pb2.MATCH_STATE_RUNNING: False,
    match_pb2.MATCH_STATE_OVER: True,
}


def read_page(request: match_pb2.ListMatchesRequest) -> tuple[Query, int]:
    """The query and the page size; raises Refusal for a page_token of another list."""
    query = Query(request.game.removeprefix("games/"), _OVER[request.state])
    size = min(request.page_size or PAGE_SIZE, MAX_PAGE_SIZE)
    if not request.page_token:
        return query, size
    try:
        token = base64.urlsafe_b64decode(request.page_token.encode())
        filters, created, match_id = token.decode("ascii").split(" ")
        before = (int(created), match_id)
    except (binascii.Error, ValueError):
        raise _invalid() from None
    if filters != _filters(query) or not 0 <= before[0] < 2**63 or not match_id.isalnum():
        raise _invalid()
    return query._replace(before=before), size


def write_page_token(query: Query, last: ListedMatch) -> str:
    """The token of the page that comes after a match."""
    token = f"{_filters(query)} {last.created} {last.match_id}"
    return base64.urlsafe_b64encode(token.encode()).decode()


def _filters(query: Query) -> str:
    return hashlib.sha256(f"{query.game} {query.over}".encode()).hexdigest()[:16]


def _invalid() -> Refusal:
    return invalid_field(
        "page_token", "OTHER_FILTERS", "must be a next_page_token of a list with the same filters"
    )

"""Tokens of pages (AIP-158): where the next page begins, in a list of certain filters."""

import base64
import binascii
import hashlib

from wire.errors import Refusal, invalid_field

DIGEST_CHARACTERS = 8  # So that the longest token of a puzzle fits its field.


def write_page_token(filters: object, *place: object) -> str:
    """The token of the page that comes after a place, which is words of ASCII and numbers."""
    words = [*map(str, place)]
    digest = hashlib.sha256(repr((filters, words)).encode()).hexdigest()[:DIGEST_CHARACTERS]
    token = " ".join((digest, *words))
    return base64.urlsafe_b64encode(token.encode("ascii")).decode()


def read_page_token(token: str, filters: object) -> list[str]:
    """The place that was written; raises Refusal for a token that this list has not given."""
    try:
        _, *place = base64.urlsafe_b64decode(token.encode()).decode("ascii").split(" ")
    except (binascii.Error, ValueError):
        raise invalid_page_token() from None
    if token != write_page_token(filters, *place):
        raise invalid_page_token()
    return place


def invalid_page_token() -> Refusal:
    """The refusal of a token that no list of these filters has given."""
    return invalid_field(
        "page_token", "OTHER_FILTERS", "must be a next_page_token of a list with the same filters"
    )

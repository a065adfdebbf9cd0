"""Other worlds: matches that differ from a match only in what a seat cannot know."""

import copy

from engine.match import Match
from engine.sampler import Sampler
from service.hosting.match_state import Written

_HEAD = (
    24  # Bytes of a match before the held actions: its version, and since when each seat decides.
)
_SECRET = slice(40, 72)


def another_world(state, seat, rng):
    """The same match with other values of everything that a seat cannot know.

    These are the hidden cards, a held decision of the other seat, the events that the seat did not
    see, and the secret.
    """
    match = state.match
    position = Sampler.of(match.view(seat)).sample(rng.getrandbits(64))
    data = bytes(match)
    other = 1 - seat
    held = [match.held.get(0, 0), match.held.get(1, 0)]
    if other in match.held:
        held[other] = rng.choice(position.legal(other))
    secret = rng.randbytes(32)
    head = data[:_HEAD] + b"".join(action.to_bytes(8, "big") for action in held)
    history = copy.copy(state.history)
    history.events = [
        tuple(
            event if event.seen_by(seat) else event._replace(values=event.values[::-1])
            for event in events
        )
        for events in state.history.events
    ]
    return state._replace(
        header=state.header._replace(secret=secret),
        match=Match.from_bytes(
            state.game,
            head + secret + bytes(position) + data[_SECRET.stop + len(bytes(position)) :],
        ),
        history=history,
        written=Written(),
    )


def with_secret(state, secret):
    """The same match with other chance from now on."""
    data = bytes(state.match)
    data = data[: _SECRET.start] + secret + data[_SECRET.stop :]
    return state._replace(
        header=state.header._replace(secret=secret),
        match=Match.from_bytes(state.game, data),
        written=Written(),
    )

"""The header with which a match starts, whether it is asked for or a rematch."""

import base64
import hashlib
import secrets
from typing import NamedTuple

import wire
from croupier.v1.clock_pb2 import EXPIRY_POLICY_DEFAULT_ACTION, TimeControl
from croupier.v1.game_pb2 import HINT_POLICY_AFTER_END, HINT_POLICY_ALLOWED, Ruleset
from engine.model import learned
from service.hosting.history import read_game
from service.hosting.match_state import MatchState
from service.hosting.played_on import Start
from service.store import Header, Seated
from wire.errors import invalid_field

_ID_BYTES = 16
_SECRET_BYTES = 32


def secret_of_seed(seed: int) -> bytes:
    """The secret of a match whose seed the caller has chosen."""
    return hashlib.sha256(b"croupier/seed/v1\0" + seed.to_bytes(8, "big")).digest()


class NewMatch(NamedTuple):
    """A match that is asked for."""

    ruleset: Ruleset
    bots: tuple[int, ...] = (0, 0)  # A BotStrength for each seat; 0: it is open or invited.
    seed: int | None = None
    entropy_from_seats: bool = False
    time_control: TimeControl | None = None
    id_source: bytes | None = None  # From which its id follows; None: it is drawn at random.
    creator: str = ""  # Whom it counts for, as in `Header`.
    invited: tuple[int, ...] = ()  # The invited seats, ascending.
    key_name: str = ""  # Of the API key to which the tokens of the open seats are issued, or empty.
    display_names: tuple[str, ...] = ("", "")  # That the players of the open seats have given.
    hint_policy: int = 0  # 0: hints are allowed where a bot plays.
    start: Start | None = None  # From where it is played on.
    owner: str = ""  # As in `Header`.
    players: tuple[Seated, ...] = ()  # Whose the open seats are, as in `MatchStatus`.
    path: str = ""  # Where it is in a request, for refusals.
    spectator_delay: int = 0  # As in `Header`.
    forbidden_offers: bytes = b""  # As in `Header`.


class Wanted(NamedTuple):
    """A match of a header that shall exist; the rest is as in `NewMatch`."""

    header: Header
    players: tuple[Seated, ...] = ()
    path: str = ""
    once: bool = True  # Whether it may exist already.


def new_header(asked: NewMatch, created: int) -> Header:
    """The header of a match that is asked for; raises Refusal for a ruleset that breaks a rule."""
    game = wire.read_ruleset(asked.ruleset, "ruleset")
    bots, control, start = asked.bots, asked.time_control, asked.start
    match_id = _write_id(asked.id_source or secrets.token_bytes(_ID_BYTES))
    secret, chance_id = secrets.token_bytes(_SECRET_BYTES), match_id
    if asked.seed is not None:
        secret, chance_id = secret_of_seed(asked.seed), ""
    return Header(
        match_id=match_id,
        game=game.id,
        ruleset=asked.ruleset.SerializeToString(deterministic=True),
        rules_version=game.rules_version if start is None else start.rules_version,
        secret=secret,
        chance_id=chance_id,
        bots=bots,
        created=created,
        entropy_from_seats=asked.entropy_from_seats,
        time_control=b"" if control is None else _serialize(control),
        creator=asked.creator,
        invited=asked.invited,
        key_names=tuple(
            "" if bot or seat in asked.invited else asked.key_name for seat, bot in enumerate(bots)
        ),
        display_names=asked.display_names,
        hint_policy=asked.hint_policy
        or (HINT_POLICY_ALLOWED if any(bots) else HINT_POLICY_AFTER_END),
        start=b"" if start is None else start.message,
        owner=asked.owner,
        spectator_delay=asked.spectator_delay,
        forbidden_offers=asked.forbidden_offers,
    )


def limited_header(header: Header, most: int) -> Header:
    """The header with the server's limit of default actions in a row, 0 for none.

    So the limit is that of the match, whatever options its servers have later. Raises Refusal if
    the header has a limit above it.
    """
    control = TimeControl.FromString(header.time_control)
    if not most or control.on_expiry != EXPIRY_POLICY_DEFAULT_ACTION:
        return header
    if control.max_default_actions > most:
        field = "time_control.max_default_actions"
        raise invalid_field(
            field, "ABOVE_SERVER_LIMIT", f"must be at most {most}, the limit of this server"
        )
    control.max_default_actions = control.max_default_actions or most
    return header._replace(time_control=_serialize(control))


def modelled_header(header: Header) -> Header:
    """The header with the name of the model by which the server's bots decide in it, if any do.

    That is one for its rules, which are not the newest ones where older ones are played on.
    """
    if not any(header.bots):
        return header._replace(model="")
    model = learned(read_game(header))
    return header._replace(model="" if model is None else model.name)


def rematch_header(
    state: MatchState, creator: str, created: int, max_default_actions: int
) -> Header:
    """The header of the one rematch of a match: the seats are exchanged.

    If one seat was invited, every seat without a bot is in the rematch: its holder joins by asking
    for the rematch. `max_default_actions` is the server's limit now, which can be below that of the
    match.
    """
    header = state.header
    match_id = rematch_id(header)
    control = TimeControl.FromString(header.time_control)
    if 0 < max_default_actions < control.max_default_actions:
        control.max_default_actions = max_default_actions
    bots, invited = header.bots[::-1], header.invited
    if invited:
        invited = tuple(seat for seat, bot in enumerate(bots) if not bot)
    return header._replace(
        match_id=match_id,
        rules_version=state.game.rules_version,
        secret=secrets.token_bytes(_SECRET_BYTES),
        chance_id=match_id,
        bots=bots,
        created=created,
        creator=creator,
        time_control=_serialize(control),
        invited=invited,
        key_names=("", "") if invited else header.key_names[::-1],
        display_names=("", "") if invited else header.display_names[::-1],
        rematch_of=header.match_id,
        salt=b"",
        names_hash=b"",
        course=b"",
        erased=b"",
    )


def rematch_id(header: Header) -> str:
    """The id of the one rematch of a match, whether or not it exists.

    It follows from the match, so that all callers, at all servers, mean the same one.
    """
    what = f"croupier/rematch/v1\0{header.match_id}\0".encode() + header.secret
    return _write_id(hashlib.sha256(what).digest())


def asks_for(asked: Header, found: Header) -> bool:
    """Whether a match is the one that is asked for.

    When it was created, from where, with which API key, under which version of the rules, and by
    which model its bots decide, does not matter, nor do names that were erased since. Its secret
    matters only if it follows from a seed, which the caller has chosen, and its limit of default
    actions only if the caller has chosen one.
    """
    chosen = asked if asked.seeded else asked._replace(secret=found.secret)
    if not TimeControl.FromString(asked.time_control).max_default_actions:
        control = TimeControl.FromString(found.time_control)
        control.max_default_actions = 0
        found = found._replace(time_control=_serialize(control))
    if found.erased_seats:
        chosen = chosen.without_names(found.erased_seats)
    return found == chosen._replace(
        created=found.created,
        creator=found.creator,
        owner=found.owner,
        key_names=found.key_names,
        rules_version=found.rules_version,
        model=found.model,
        salt=found.salt,
        names_hash=found.names_hash,
        course=found.course,
        erased=found.erased,
    )


def _serialize(control: TimeControl) -> bytes:
    return control.SerializeToString(deterministic=True)


def _write_id(data: bytes) -> str:
    return base64.b32encode(data[:_ID_BYTES]).decode().rstrip("=").lower()

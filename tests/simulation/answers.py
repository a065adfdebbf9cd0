"""What was asked and how it was answered, judged by the log: calls of all clients about a match.

Clients note what they ask for and what they are told. The log of a match then says of each call
whether its answer can be true, whoever has asked:

- A match that was created is the one that was asked for, and counts for whom it is.
- What was answered as done is in the log, as it was asked for.
- Tokens are for what they say, and a hash is that of the secret.
- An invitation, a match or a refusal tells what held at some moment between the call and its end.
- Who asks for some fields gets no others.
"""

import hashlib
import math
from collections import defaultdict
from typing import NamedTuple

import wire
from croupier.v1 import clock_pb2, game_pb2, match_pb2
from engine.errors import ActionError
from engine.game import SPECTATOR
from engine.model import learned
from service.api.authentication import Tokens
from service.common.call import Kind, Principal
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.seats import Caller
from service.store.chain import SALT_BYTES
from tests.simulation import shown
from tests.simulation.ahead import is_made_ahead
from tests.simulation.course import courses, etag_at
from wire.errors import Refusal

MAX_DEFAULT_ACTIONS = 20  # Of a match whose creator has set no limit, as the servers have it.
NAMING = ("front", "crowd", "house")  # The keys whose players are believed.
HELD = 5  # Examples that are told.
# Milliseconds after the time of an entry, in which it is in the log; where something goes wrong,
COMMITTED, LATE = 1000, 240_000  # and where it was decided ahead, and due long before.
BY_INVITATION = ("JoinMatch", "GetInvitation")
CREATING = ("CreateMatch", "BatchCreateMatches")
MAKING = (*CREATING, "Rematch")  # Which name their match in the answer.


class Noted(NamedTuple):
    """A call that was answered, or refused for a reason."""

    method: str
    request: object
    answer: object  # A message, or a CallError.
    token: str
    caller: Caller | None  # Whose the token is, or the invitation.
    key: str
    principal: Principal
    called: float  # Milliseconds since 1970; as wrong as a clock of a server may be.
    ended: float

    @property
    def refused(self):
        """Whether it was refused."""
        return isinstance(self.answer, Exception)


class Answers:
    """What the clients of a world have noted."""

    def __init__(self, world):
        self._world = world
        self._tokens = Tokens(world.key_file.read_bytes())
        self._noted = defaultdict(list)  # By the id of the match.

    def note(self, client, method, request, token, called, answer):
        """Notes the answer of a call, or the CallError with which it has ended."""
        world, method = self._world, method.rpartition("/")[2]
        refused = isinstance(answer, Exception)
        paths = getattr(getattr(request, "read_mask", None), "paths", ())
        whole = refused or not paths or method == "BatchGetViews"
        if not whole and answer != shown.masked(answer, paths):
            world.fail(f"{method}: who asks for {paths} is answered {answer}")
        if not refused:
            world.latecomer.note(client, method, request, token, answer)
        if world.forgets or (answer.reason not in HOLDS if refused else method not in _JUDGED):
            return
        skew, now = world.skew, world.now
        times = [1000 * (world.epoch + each) for each in (called - skew, now + skew)]
        copied = type(request).FromString(request.SerializeToString())
        asked = getattr(copied, "requests", (copied,))
        told = getattr(answer, "matches", (answer,))
        for one, its in zip(asked, told, strict=not refused):
            caller = self._caller(method, one, token)
            who = self.principal(client, token)
            named = its if method in MAKING and not refused else one
            name = getattr(named, "name", "") or getattr(one, "match_name", "")
            name = name or getattr(_part(one, "search"), "match_name", "")
            if method in BY_INVITATION and caller is not None:
                name = caller.match_id
            noted = Noted(method, one, its, token, caller, client.key, who, *times)
            self._noted[name.removeprefix("matches/")].append(noted)

    def principal(self, client, token):
        """Who calls, as budgets have it."""
        if client.key in NAMING:
            return Principal(Kind.PLAYER, f"{client.key}/{client.player}")
        if client.key:
            return Principal(Kind.KEY, client.key)
        seat = token and self._tokens.seat_of(f"Bearer {token}")
        return Principal(Kind.SEAT, seat) if seat else Principal(Kind.ADDRESS, client.address)

    def _caller(self, method, request, token):
        try:
            if method in BY_INVITATION:
                return self._tokens.read_invitation(request.invitation)
            return self._tokens.read(f"Bearer {token}")
        except Refusal:
            return None

    def judge(self, stored):
        """Fails if something was told of a match that its log does not say."""
        noted = self._noted.pop(stored.header.match_id, ())
        told = [each for each in noted if not each.refused]
        found = [
            *self._of_creation(stored.header, [each for each in told if each.method in CREATING]),
            *(what for each in told for what in self._of_tokens(each, stored.header)),
            *(what for each in told for what in self._of_entry(each, stored)),
            *self._of_moments(
                [each for each in noted if each.refused or each.method in _SHOWN], stored
            ),
        ]
        if found:
            self._world.fail(f"matches/{stored.header.match_id}: {'; '.join(found[:HELD])}")

    def _of_moments(self, noted, stored):
        world, entries = self._world, stored.entries
        late = [is_made_ahead(entry, stored.header) for entry in entries]
        quiet = [
            [1000 * (world.epoch + each) for each in times]
            for times in (() if world.death else world.troubles.quiet_times())
        ]
        # With what was called while all was well, or not.
        calm = [any(a <= each.called and each.ended <= b for a, b in quiet) for each in noted]
        for course, *_ in courses(stored):
            number = course.version
            ends = dict.fromkeys((True, False), math.inf)
            if number < len(entries):
                at = entries[number].at
                ends = {False: at + LATE, True: at + (LATE if late[number] else COMMITTED)}
            left = [
                (each, well)
                for each, well in zip(noted, calm, strict=True)
                if each.ended < course.time
                or ends[well] < each.called
                or not _holds(course, each, stored)
            ]
            noted, calm = [each for each, _ in left], [well for _, well in left]
        for each in noted:
            asked = " ".join(str(each.request).split())
            yield f"at no moment of its log is {each.method} ({asked}) answered {each.answer}"

    def _of_creation(self, header, noted):
        whose = [self._whose(each, header) for each in noted]
        for each in noted:
            right = self._header_of(each.request, header)
            for name, value in right.items():
                if getattr(header, name) != value and not (name in _NAMES and header.erased):
                    yield f"its {name} is {getattr(header, name)}, and {value} was asked for"
            if unasked := set(header._fields) - {*right, *whose[0], *_NOT_ASKED_FOR}:
                yield f"nobody has said what its {', '.join(unasked)} must be"
        # Of several who have asked for the same match, one has created it.
        if noted and header.erased_seats == 0:
            told = {name: getattr(header, name) for name in whose[0]}
            if told not in whose:
                yield f"it counts for {told}, and not for any of {whose}"
        if noted and not any(each.called <= header.created <= each.ended for each in noted):
            yield f"it was created at {header.created}, when nobody had asked for it"

    def _header_of(self, asked, header):
        bots = tuple(seat.bot.strength for seat in asked.seats) or (0, 0)
        seeded = asked.HasField("seed")
        seed = hashlib.sha256(b"croupier/seed/v1\0" + asked.seed.to_bytes(8, "big")).digest()
        model = learned(MatchState.begin(header).game) if any(bots) else None
        origin = match_pb2.MatchStart.FromString(header.start).origin
        begun = origin.name, origin.version
        return {
            "game": asked.ruleset.WhichOneof("game"),
            "bots": bots,
            "invited": tuple(n for n, seat in enumerate(asked.seats) if seat.HasField("invited")),
            "entropy_from_seats": asked.entropy_from_seats,
            "time_control": time_control_of(asked).SerializeToString(deterministic=True),
            "hint_policy": hint_policy_of(asked),
            "display_names": tuple(seat.display_name for seat in asked.seats) or ("", ""),
            "ruleset": asked.ruleset.SerializeToString(deterministic=True),
            "start": header.start if self._begins(asked, begun) else "another moment",
            "rematch_of": "",
            "spectator_delay": asked.spectator_delay.ToMilliseconds(),
            "forbidden_offers": bytes(sorted(asked.forbidden_offers)),
            "chance_id": "" if seeded else header.match_id,
            "secret": seed if seeded else header.secret,
            "model": getattr(model, "name", ""),
        }

    def _begins(self, asked, begun):
        # Whether a match begins where it was asked for: at a match and its version, or by a deal.
        start = asked.start_from
        if start.WhichOneof("source") == "match_token":
            caller = self._tokens.read_field(start.match_token, "match_token")
            return begun == (f"matches/{caller.match_id}", start.version)
        if start.WhichOneof("source") == "record":
            return begun == (start.record.name, start.version)
        return bool(begun[0]) == asked.HasField("start_from")

    def _whose(self, each, header):
        # To which key its tokens are issued, and for whom it counts.
        keyed = [not bot and seat not in header.invited for seat, bot in enumerate(header.bots)]
        return {
            "key_names": tuple(each.key if its else "" for its in keyed),
            "owner": self._tokens.pseudonym(f"key:{each.key}") if each.key else "",
            "creator": self._tokens.pseudonym(str(each.principal)),
        }

    def _of_tokens(self, each, header):
        # Each opens what it is for, and nobody gets those of others.
        answer, match_id, seats = each.answer, header.match_id, []
        if each.method in CREATING:
            taken = [bool(bot) or seat in header.invited for seat, bot in enumerate(header.bots)]
            seats = [seat for seat in (0, 1) if not taken[seat]]
        elif each.method in ("JoinMatch", "ReplaceSeatToken", "Rematch"):
            seats = [1 - each.caller.seat if each.method == "Rematch" else each.caller.seat]
        own = _part(answer, "seat_token")
        told = [*getattr(answer, "seat_tokens", ()), *([] if own is None else [own])]
        if hasattr(answer, "spectator_token"):
            told.append(match_pb2.SeatToken(seat=SPECTATOR, token=answer.spectator_token))
            seats.append(SPECTATOR)
        opened = [self._tokens.read(f"Bearer {each.token}") for each in told]
        told += (invitations := getattr(answer, "invitations", ()))
        opened += [self._tokens.read_invitation(each.invitation) for each in invitations]
        seats += header.invited if each.method in CREATING else ()
        right = [(match_id, seat) for seat in seats]
        if [each[:2] for each in opened] != right or [each.seat for each in told] != seats:
            yield f"{each.method} tells of what opens {opened}, not {right}"
        if getattr(answer, "secret_hash", header.secret_hash) != header.secret_hash:
            yield f"{each.method} tells of another secret"

    def _of_entry(self, each, stored):
        if each.method in _MADE and not any(
            entry.at <= each.ended
            and (entry.seat == each.caller.seat or entry.kind == EntryKind.ABORT)
            and self._is_made(each, version, entry, stored)
            for version, entry in enumerate(stored.entries, 1)
        ):
            yield f"{each.method} was answered, and the log has no entry of it: {each.request}"

    def _is_made(self, each, version, entry, stored):
        # Whether an entry is what was asked for.
        request, kind = each.request, entry.kind
        if each.method == "JoinMatch":
            names = entry.names[SALT_BYTES:].decode().partition("\0")[::2]
            same = stored.header.erased or names == (each.key, request.display_name)
            return (
                kind == EntryKind.JOIN
                and same
                and entry.request_id == self._tokens.join_id(request.request_id)
            )
        if each.method == "ReplaceSeatToken":
            return entry.request_id == self._tokens.replacement_id(request.request_id)
        if each.method == "ContributeEntropy":
            return entry.action == (request.entropy_hash or request.entropy)
        if each.method == "MakeOffer":
            return kind == EntryKind.OFFER and entry.action[0] == request.kind
        if each.method == "AnswerOffer":
            after = stored.entries[request.offer_version : version]
            answers = [made for made in after if made.kind in (EntryKind.OFFER, EntryKind.ANSWER)]
            offered = stored.entries[request.offer_version - 1].kind == EntryKind.OFFER
            etags = ["", *(etag_at(stored, n) for n in range(request.offer_version, version))]
            right = request.etag in etags and entry.action[1] == request.agree
            return offered and answers == [entry] and right
        return kind == _MADE[each.method]


def _part(message, name):
    known = name in message.DESCRIPTOR.fields_by_name and message.HasField(name)
    return getattr(message, name) if known else None


_MADE = {
    "JoinMatch": EntryKind.JOIN,
    "ReplaceSeatToken": EntryKind.TOKEN,
    "ContributeEntropy": EntryKind.ENTROPY,
    "MakeOffer": EntryKind.OFFER,
    "AnswerOffer": EntryKind.ANSWER,
    "ResignMatch": EntryKind.RESIGNATION,
    "AbortMatch": EntryKind.ABORT,
}
_NAMES = ("display_names",)  # Which may have been erased.
# What follows from nothing in a request.
_NOT_ASKED_FOR = ("match_id", "rules_version", "created", "salt", "names_hash", "course", "erased")


def time_control_of(asked):
    """The time control of a match that is asked for."""
    control = clock_pb2.TimeControl()
    control.CopyFrom(asked.time_control)
    if control.on_expiry == clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION:
        control.max_default_actions = control.max_default_actions or MAX_DEFAULT_ACTIONS
    return control


def hint_policy_of(asked):
    """The hint policy of a match that is asked for."""
    helped = any(seat.HasField("bot") for seat in asked.seats)
    default = game_pb2.HINT_POLICY_ALLOWED if helped else game_pb2.HINT_POLICY_AFTER_END
    return asked.hint_policy or default


# What held at a moment


def _holds(course, each, stored):
    if not each.refused:
        return _SHOWN[each.method](course, each, stored)
    reason, told = each.answer.reason, each.answer.metadata
    versioned = reason in _WITH_VERSION and not course.header.spectator_delay
    right = {"current_version": str(course.version)} if versioned else told
    return told == right and HOLDS[reason](course, each, stored)


def _is_beyond(course, seen, stored):
    # Whether the match is past a version that somebody has seen, or that no log has.
    return course.version > seen or seen > len(stored.entries)


def _is_stale(course, each, stored):
    asked = each.request.expected_version
    return _is_beyond(course, asked, stored) or each.request.etag not in (
        "",
        etag_at(stored, asked),
    )


def _is_ahead(course, each, stored):
    version = each.request.after_version
    other = each.request.etag not in ("", etag_at(stored, version))
    return course.header.spectator_delay or course.version < version or other


def _is_illegal(course, each, stored):
    if each.method != "SubmitAction":
        return True
    try:
        number = wire.read_action(course.game, each.request.action)
    except ActionError:
        return True
    return course.match is None or number not in course.match.legal(each.caller.seat)


def _cannot_offer(course, each, stored):
    request, seat = each.request, each.caller.seat
    if each.method == "MakeOffer":
        return not course.may_offer(seat, request.kind)
    return course.offer is not None and request.agree and course.offer[0] == seat


def _is_closed(course, each, stored):
    asked, etags = each.request.offer_version, range(each.request.offer_version, course.version + 1)
    if course.offer is None or course.offer[2] != asked:
        return _is_beyond(course, asked, stored)
    return bool(each.request.etag) and each.request.etag not in {etag_at(stored, n) for n in etags}


def _is_not_owed(course, each, stored):
    seat, hashes = each.caller.seat, course.owed(course.hashes)
    if each.request.HasField("entropy_hash"):
        return seat not in hashes or course.joined != set(course.header.invited)
    return bool(hashes) or seat not in course.owed(course.entropy)


def _is_replaced(course, each, stored):
    seat = each.caller.seat
    return seat != SPECTATOR and each.caller.generation != course.generations[seat]


_WITH_VERSION = ("STALE_VERSION", "VERSION_IN_FUTURE")
# Whether a reason may be told of a match, by its course, at a moment.
HOLDS = {
    "TOKEN_MISSING": lambda course, each, stored: not each.token,
    "TOKEN_INVALID": lambda course, each, stored: each.caller is None,
    "TOKEN_OF_OTHER_MATCH": lambda course, each, stored: (
        each.caller.match_id != course.header.match_id
    ),
    "TOKEN_REPLACED": _is_replaced,
    "SPECTATOR": lambda course, each, stored: each.caller.seat == SPECTATOR,
    "MATCH_NOT_FOUND": lambda course, each, stored: False,
    "MATCH_OVER": lambda course, each, stored: course.over,
    "MATCH_NOT_OVER": lambda course, each, stored: not course.over or course.header.spectator_delay,
    "MATCH_PAUSED": lambda course, each, stored: course.paused is not None,
    "STALE_VERSION": _is_stale,
    "VERSION_IN_FUTURE": _is_ahead,
    "ILLEGAL_ACTION": _is_illegal,
    "NOT_TO_DECIDE": lambda course, each, stored: each.caller.seat not in course.deciders,
    "BOTH_DECIDED": lambda course, each, stored: len(course.decided) == 2,
    "OFFER_NOT_ALLOWED": _cannot_offer,
    "OFFER_NOT_OPEN": _is_closed,
    "ENTROPY_NOT_OWED": _is_not_owed,
    "INVITATION_USED": lambda course, each, stored: each.caller.seat in course.joined,
    "HINTS_NOT_ALLOWED": lambda course, each, stored: (
        course.header.hint_policy == game_pb2.HINT_POLICY_AFTER_END
    ),
}


def _shows_invitation(course, each, stored):
    return each.answer == shown.invitation(course, each.caller.seat)


def _shows_match(course, each, stored):
    right = shown.match(course, listed=False)
    return course.header.spectator_delay or each.answer.hosted_match == right


def _shows_view(course, each, stored):
    # But for decisions ahead, which make no version, and names that may be erased since.
    header, seat, view = course.header, each.caller.seat, each.answer.view
    paths = each.request.read_mask.paths if hasattr(each.request, "read_mask") else ()
    if seat == SPECTATOR and header.spectator_delay:
        return True
    if not paths and view.version != course.version:
        return False
    right = type(each.answer)(view=shown.view(course, seat, etag_at(stored, course.version)))
    right.view.ruleset.MergeFromString(header.ruleset)
    right = shown.masked(right, paths).view if paths else right.view
    names = {field.name for field in view.DESCRIPTOR.fields} - {"decisions_ahead"}
    names -= {"players"} if header.erased else set()
    return all(getattr(view, name) == getattr(right, name) for name in names)


_SHOWN = {
    "GetInvitation": _shows_invitation,
    "GetMatch": _shows_match,
    # A decision that is repeated has the answer of its time: `tests/support/history.py` judges it.
    **dict.fromkeys(("GetView", "ResignMatch", "AbortMatch", "MakeOffer"), _shows_view),
    **dict.fromkeys(("AnswerOffer", "ResumeMatch", "ContributeEntropy"), _shows_view),
    "CancelDecisionsAhead": _shows_view,
}
_JUDGED = (*CREATING, "Rematch", *_MADE, *_SHOWN)

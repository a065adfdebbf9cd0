"""Faults at the seams: what is told there is changed, one field or one answer at a time.

Nobody has thought them out: they follow from the descriptors of the API, and from the arguments and
results of the store and of searches. What no judge notices of them, no judge asks. A fault is named
by its seam, a method, a field and a change.

| seam | what is changed |
|---|---|
| `answer`, `request` | a field, as the client sees it of the server, or the server of the client |
| `stream` | a message, or an answer as a whole |
| `refusal` | what a call is refused with, by its reason |
| `store` | an argument or a result of a method of the log |
| `search` | what is searched, or what was found |
"""

import copy
import inspect
from collections import defaultdict
from enum import Enum
from typing import NamedTuple

from google.protobuf import descriptor_pool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from service.store import SqliteStore
from service.store.postgresql import PostgresStore
from tests.simulation import network, searching, web
from tests.simulation.network import CallError

SERVICES = ("Match", "Feed", "Hint", "Review", "Catalog", "Puzzle")
# Files whose messages are looked into; what others have is changed as a whole.
FILES = ("match", "game", "clock", "feed", "hint", "review", "catalog", "puzzle")
DEEP = 5  # Fields within fields.
EVERY = 3  # Of the messages, or of the writes, one in so many is changed as a whole.
LATE_SECONDS = 30.0
STREAM = ("dropped", "doubled", "late", "swapped", "earlier", "ends", "silent")
UNARY = ("earlier", "refused")
# The methods of the log: those that read, and what may become of those that write.
READING = ("load", "read", "list_due", "list_players", "list_seats", "count_live", "list_idle")
READING += ("list_matches", "list_updates", "list_running")
WRITING = {
    **dict.fromkeys(("create", "create_all", "delete_ended"), ("unwritten",)),
    **dict.fromkeys(("save_snapshot", "listen"), ("unwritten",)),
    **dict.fromkeys(("append", "replace_ahead", "reschedule"), ("unwritten", "refused")),
    "erase_names": ("unwritten", "refused"),
}


class Fault(NamedTuple):
    """A fault at a seam."""

    seam: str
    method: str
    path: str
    change: str

    def __str__(self):
        return " ".join(self)


# Changes of a value


def _kinds(value, field):
    # The changes that fit a value; `field` is its descriptor, if it has one.
    if _is_list(value) or isinstance(value, dict):
        return ("lost", "shorter", "doubled", "reversed")
    if isinstance(value, bool):
        return ("flipped",)
    if isinstance(value, Enum):
        return ("next",)
    if field is not None and field.enum_type is not None:
        return ("next", "lost")
    if isinstance(value, (int, float)) or _is_time(value):
        return ("more", "lost")
    known = isinstance(value, (str, bytes, Message)) or hasattr(value, "_fields")
    return ("lost", "other") if known else ()


def _is_list(value):
    return isinstance(value, (list, tuple)) and not hasattr(value, "_fields")


def _is_time(value):
    return isinstance(value, Message) and value.DESCRIPTOR.name in ("Duration", "Timestamp")


def _changed(value, change, field, other):
    # The value after a change; the value itself where it changes nothing.
    if change == "flipped":
        return not value
    if change == "next":
        known = [each.number for each in field.enum_type.values] if field else list(type(value))
        return known[(known.index(value) + 1) % len(known)]
    if change == "other":
        return value if other is None else other
    if change == "more" and _is_time(value):
        later = copy.deepcopy(value)
        later.seconds += 1
        return later
    if change == "more":
        return value + (0.125 if isinstance(value, float) else 1)
    if isinstance(value, dict):
        return dict(list(value.items())[: -1 if change == "shorter" else 0])
    if _is_list(value):
        made = {"lost": [], "reversed": value[::-1], "shorter": value[:-1]}
        made["doubled"] = [*value[:1], *value]
        return type(value)(made[change])
    if field is not None and not field.has_presence:
        return field.default_value
    simple = field is None and isinstance(value, (str, bytes, int, float))
    return type(value)() if simple else None


def _read(holder, name):
    # A field that is there, and its descriptor; None if it is not.
    if not isinstance(holder, Message):
        return getattr(holder, name), None
    field = holder.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not holder.HasField(name):
        return None, field
    value = getattr(holder, name)
    if field.is_repeated:
        value = dict(value) if _is_map(field) else list(value)
    return value, field


def _is_map(field):
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _put(holder, name, value):
    # The holder with another field. Messages are changed in place.
    if not isinstance(holder, Message):
        return holder._replace(**{name: value})
    value = copy.deepcopy(value)
    holder.ClearField(name)
    if isinstance(value, dict):
        getattr(holder, name).update(value)
    elif isinstance(value, list):
        getattr(holder, name).extend(value)
    elif isinstance(value, Message):
        getattr(holder, name).CopyFrom(value)
    elif value is not None:
        setattr(holder, name, value)
    return holder


def _names(holder):
    if isinstance(holder, Message):
        ours = _file(holder.DESCRIPTOR) in FILES
        return [each.name for each in holder.DESCRIPTOR.fields] if ours else []
    return list(getattr(holder, "_fields", ()))


def _file(descriptor):
    path = descriptor.file.name
    return path.removeprefix("croupier/v1/").removesuffix(".proto") if "croupier/" in path else ""


def places(holder, path="", depth=0):
    """Each field of a message or tuple that is there: its path, its value and its descriptor.

    Of what is there several times the last is looked into.
    """
    holder = holder[-1] if _is_list(holder) and holder else holder
    for name in _names(holder) if depth < DEEP else ():
        value, field = _read(holder, name)
        if value is not None:
            yield (inner := f"{path}.{name}".lstrip(".")), value, field
            yield from places(value, inner, depth + 1)


def changed(value, path, change, other, field=None):
    """A value after a change of the field at a path; `other` says what else that may be."""
    if not path:
        return value if value is None else _changed(value, change, field, other(value))
    if _is_list(value):
        last = [changed(each, path, change, other) for each in value[-1:]]
        return type(value)([*value[:-1], *last])
    name, _, rest = path.partition(".")
    held, field = _read(value, name) if name in _names(value) else (None, None)
    if held is None:
        return value
    if isinstance(held, Message) and not isinstance(value, Message):
        held = copy.deepcopy(held)  # Of a tuple, which never changes.
    return _put(value, name, changed(held, rest, change, other, field))


# All faults


def described():
    """The faults that follow from the descriptors of the API alone."""
    pool = descriptor_pool.Default()
    for service in SERVICES:
        for method in pool.FindServiceByName(f"croupier.v1.{service}Service").methods:
            name = f"{service}.{method.name}"
            for seam, message in (("request", method.input_type), ("answer", method.output_type)):
                for path, kinds in _described(message, "", ()):
                    yield from (Fault(seam, name, path, kind) for kind in kinds)
            whole = STREAM if method.server_streaming else UNARY
            yield from (Fault("stream", name, "", kind) for kind in whole)


def _described(descriptor, path, within):
    if _file(descriptor) not in FILES or descriptor in within or len(within) == DEEP:
        return
    for field in descriptor.fields:
        inner, message = f"{path}.{field.name}".lstrip("."), field.message_type
        one = field.default_value if message is None else GetMessageClass(message)()
        yield inner, _kinds([] if field.is_repeated else one, field)
        if message is not None and not _is_map(field):
            yield from _described(message, inner, (*within, descriptor))


def read(text):
    """The fault of a name."""
    return Fault(*text.split(" "))


class Seams:
    """The seams of a world: with a fault, or to note which faults could be there."""

    def __init__(self, fault=None):
        """Plants a fault; None: notes which are met, each with the first time."""
        self.fault = fault
        self.met = {}
        self._loop = None
        self._seen = defaultdict(list)  # The last two values of a place that differ.
        self._number = 0  # Of what could be changed as a whole.
        self._before = {}  # The last answer of a method, and of the log about a match.
        self._refusals = defaultdict(dict)  # The last refusal for each reason, by method.

    def plant(self, loop):
        """Changes the seams of this process, whose world has a loop."""
        self._loop = loop
        for kind in (network.ClientCall, web.WebCall):
            kind._send = self._sending(kind._send)
        self._receive, self._end = network.ClientCall.receive, network.ClientCall.end
        network.ClientCall.receive, network.ClientCall.end = self._receiving(), self._ending()
        servers = searching.SimulatedSearchServers
        servers.reports = self._searching(servers.reports)
        for store in (SqliteStore, PostgresStore):
            for name in (*READING, *WRITING):
                setattr(store, name, self._storing(name, getattr(store, name)))

    def _meet(self, *fault):
        self.met.setdefault(" ".join(fault), self._loop.now)

    def _other(self, place, value):
        # What the place held before, and does not hold now.
        seen = self._seen[place]
        other = next((each for each in seen if each != value), None)
        if value not in seen:
            seen[:] = [copy.deepcopy(value) if isinstance(value, Message) else value, *seen[:1]]
        return other

    def _through(self, seam, method, holder, path=""):
        # What comes out of a seam of what goes in.
        if self.fault is None:
            for inner, value, field in [(path, holder, None), *places(holder, path)]:
                for kind in _kinds(value, field) if inner else ():
                    other = self._other((seam, method, inner), value) if kind == "other" else None
                    if _changed(value, kind, field, other) != value:
                        self._meet(seam, method, inner, kind)
            return holder
        place, inside = self.fault[:3], f".{self.fault.path}".removeprefix(f".{path}".rstrip("."))
        if place[:2] != (seam, method) or inside[:1] not in ("", ".") or place[2] == "":
            return holder
        whole = copy.deepcopy(holder) if isinstance(holder, Message) else holder
        inside = inside.lstrip(".")
        made = changed(whole, inside, self.fault.change, lambda value: self._other(place, value))
        if made != holder:
            self._meet(*self.fault)
        return made

    def _whole(self, seam, method, kinds):
        # What is done with this message, or this write, as a whole.
        if self.fault is None:
            for kind in kinds:
                self._meet(seam, method, "", kind)
        if self.fault is None or self.fault[:3] != (seam, method, ""):
            return ""
        self._number += 1
        return "" if self._number % EVERY else self.fault.change

    def _lost(self, *place):
        # Whether something is lost that is there or not.
        if self.fault is None or self.fault == (*place, "lost"):
            self._meet(*place, "lost")
        return self.fault == (*place, "lost")

    # The network

    def _sending(self, send):
        def sending(call, path, request, metadata, timeout):
            service, _, name = path.rpartition("/")
            call.path = path
            call.method = f"{service.rpartition('.')[2].removesuffix('Service')}.{name}"
            call.held, call.ended, call.kept = 0.0, "", None
            request = self._through("request", call.method, request)
            for head, _ in metadata:
                if self._lost("request", call.method, head):
                    metadata = tuple(each for each in metadata if each[0] != head)
            if timeout is not None and self._lost("request", call.method, "timeout"):
                timeout = None
            send(call, path, request, metadata, timeout)

        return sending

    def _receiving(self):
        def receiving(call, data, asked, sent):
            for each, seconds in self._answered(call, data):
                if isinstance(each, CallError) or each is None:
                    self._end(call, each)
                elif seconds or call.held > self._loop.now:
                    call.held = max(call.held, self._loop.now + seconds) + 0.001
                    late = call.held - self._loop.now
                    self._loop.call_later(late, self._receive, call, each, asked, sent + late)
                else:
                    self._receive(call, each, asked, sent)

        return receiving

    def _answered(self, call, data):
        # The messages, or the end, in the place of one, and how late each comes.
        if call.ended:
            return
        if call.method.partition(".")[0] in SERVICES:
            name = call.path.strip("/").replace("/", ".")
            output = descriptor_pool.Default().FindMethodByName(name).output_type
            told = GetMessageClass(output).FromString(data)
            data = self._through("answer", call.method, told).SerializeToString()
        what = self._whole("stream", call.method, STREAM if call.streams else UNARY)
        earlier, self._before[call.method] = self._before.get(call.method, data), data
        refusals = list(self._refusals[call.method].values())[-1:]
        kept, call.kept = call.kept, None
        made = [data] if kept is None else [data, kept]
        if what in ("ends", "silent"):
            call.ended, made = what, [None][: what == "ends"]
        elif what == "swapped":
            call.kept, made = data, []
        elif what == "earlier":
            made[0] = earlier
        elif what in ("dropped", "doubled"):
            made[:1] = [data] * (2 * (what == "doubled"))
        elif what == "refused":
            made = refusals or made
        if made != [data] or what == "late":
            self._meet(*(self.fault or ("stream", call.method, "", "swapped")))
        for each in made:
            yield each, LATE_SECONDS if what == "late" else 0

    def _ending(self):
        def ending(call, error):
            if call.ended == "silent":
                return
            if error is not None and error.reason:
                error = self._refused(call, error)
            if call.held > self._loop.now:
                self._loop.call_later(call.held - self._loop.now, self._end, call, error)
            else:
                self._end(call, error)

        return ending

    def _refused(self, call, error):
        known, method, earlier = self._refusals[call.method], call.method, self._before
        others = [each for reason, each in known.items() if reason != error.reason]
        known[error.reason], made = error, copy.copy(error)
        if (call.streams or method in earlier) and self._lost("refusal", method, error.reason):
            if not call.streams:
                self._receive(call, earlier[method], self._loop.now, self._loop.now)
            return None
        if others and self._lost("refusal", method, f"{error.reason}.reason"):
            made.reason = others[-1].reason
        if error.retry_seconds and self._lost("refusal", method, f"{error.reason}.retry"):
            made.retry_seconds = 0.0
        made.metadata = {
            key: value
            for key, value in error.metadata.items()
            if not self._lost("refusal", method, f"{error.reason}.{key}")
        }
        return made

    # Below the network

    def _searching(self, reports):
        async def searching(servers, task):
            kind = task.requester.kind.value
            task = self._through("search", kind, task, "task")
            async for report, final in reports(servers, task):
                yield self._through("search", kind, report, "report"), final

        return searching

    def _storing(self, name, real):
        signature = inspect.signature(real)

        def storing(store, *args, **options):
            bound = signature.bind(store, *args, **options)
            for key, value in list(bound.arguments.items())[1:]:
                bound.arguments[key] = self._through("store", name, value, f"asked.{key}")
            what = self._whole("store", name, WRITING.get(name, ("earlier",)))
            if name in ("save_snapshot", "listen"):
                if not what:
                    return real(*bound.args, **bound.kwargs)
                self._meet(*self.fault)
                return lambda: None
            return self._stored(name, bound, real, what)

        return storing

    async def _stored(self, name, bound, real, what):
        if what == "unwritten" and name in self._before:
            self._meet(*self.fault)
            if on_added := bound.arguments.get("on_added"):
                on_added()
            told = self._before[name]
            return True if told is False else told
        result = await real(*bound.args, **bound.kwargs)
        key = name, str(bound.args[1:2])
        earlier = self._before.get(key, result)
        self._before[name] = self._before[key] = result
        if what == "refused" or (what == "earlier" and earlier != result):
            self._meet(*self.fault)
            return earlier if what == "earlier" else False
        return self._through("store", name, result, "told")

"""Check that two builds of the server give the same answers, byte by byte.

    .venv/bin/python -m tests.compare_answers --against ../other

Plays random matches on both servers in step, with the same requests to each. See --help.
"""

import argparse
import difflib
import functools
import hashlib
import random
import subprocess
import sys
import tempfile
import tomllib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from grpc.experimental import ChannelOptions

from croupier.v1 import catalog_pb2, game_pb2, hint_pb2, match_pb2

CALL_SECONDS = 600.0  # Long enough for this deadline to end no search.
EVERY = 8  # The average number of decisions between two hints, and between two wrong requests.
LIMITS = hint_pb2.SearchLimits(iterations=200)
SECRET = "operator" * 4  # The key of all tokens, and the operator's token.
SPECTATOR = 2
METHODS = {  # The path of each method, and the type of its answer.
    method.name: (f"/{service.full_name}/{method.name}", GetMessageClass(method.output_type))
    for module in (catalog_pb2, match_pb2, hint_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
# Fields that depend on the time of day, and so are not compared.
TIMES = ["GetViewResponse.server_time", "RecordEntry.time"]
TIMES += ["MatchRecord.create_time", "MatchRecord.digest"]
TIMES += ["View.etag", "WatchMatchResponse.etag"]  # They hang on secrets and times.
TIMES += [
    f"{response}Response.{name}_time"
    for response in ("SuggestAction", "AnalyzePosition")
    for name in ("search", "queue", "paused")
]
# Cleared only with a time control.
CLOCKS = ["Clocks.time", "SeatClock.deadline", "SeatClock.time_left"]
# Matches also use the default ruleset of a game and random changes of it.
RULESETS = """
castle_rampage {turns: 40 cards: [{card: 3 copies: 9}, {card: 6 copies: 9}, {card: 15 copies: 9}]}
castle_rampage {set_ups: 1 cards: [{card: 1 copies: 9}, {card: 5 copies: 2}, {card: 18 copies: 2}]}
champion_chess {cards: [{card: 1 copies: 1 movement: 2}, {card: 6 copies: 3 attack: 2}]}
champion_chess {hand_size: 3 castling: false cards: [{card: 1 copies: 1}, {card: 4 copies: 9}]}
powershot_soccer {hand_size: 2 cards: [{role: 1 power: 1 copies: 2}, {role: 6 power: 2 copies: 2}]}
skystones {special_fields: 9 hand_size: 4 hand_limit: 14}
skystones {board_size: 2 hand_size: 2 hand_limit: 9 special_fields: 1}
skystones {cards: [{title: "A" element: 1 copies: 9 north: 1}, {element: 2 copies: 8 south: 2}]}
"""


@functools.cache
def holds(kind: Descriptor, names: frozenset[str]) -> bool:
    """Whether a message has one of these fields, itself or in a nested message."""
    return any(name.rpartition(".")[0] == kind.full_name for name in names) or any(
        holds(field.message_type, names) for field in kind.fields if field.message_type
    )


def clear(message: Message, names: frozenset[str]) -> Message:
    """Clears these fields of a message and of all nested messages, and returns the message."""
    if f"{message.DESCRIPTOR.full_name}.unknown" in names:
        message.DiscardUnknownFields()
    for field, value in message.ListFields():
        if field.full_name in names:
            message.ClearField(field.name)
        elif field.message_type and holds(field.message_type, names):
            for each in value if field.is_repeated else [value]:
                clear(each, names)
    return message


def change_randomly(message: Message, rng: random.Random) -> None:
    """Makes a random change somewhere in a message, or sometimes none."""
    name = rng.choice([*message.DESCRIPTOR.fields_by_name, ""])
    value = getattr(message, name, None)
    if isinstance(value, Message):
        change_randomly(value, rng)
    elif isinstance(value, (int, float, str, bytes)):
        setattr(message, name, _other_value(value, rng))
    elif value:
        place = rng.randrange(len(value))
        if not rng.randrange(4):
            del value[place]
        elif isinstance(value[place], Message):
            change_randomly(value[place], rng)
        else:
            value[place] = _other_value(value[place], rng)


def _other_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, (int, float)):
        return not value if isinstance(value, bool) else max(0, value + rng.choice((-1, 1, 1, 5)))
    place = rng.randrange(len(value) + 1)
    return value[:place] + value[place + 1 :]


@contextmanager
def serving(directory: Path, secret: Path) -> Iterator[str]:
    """Runs the server of a checkout of any layout, and yields its address."""
    project = tomllib.loads((directory / "pyproject.toml").read_text())
    module, _, function = project["project"]["scripts"]["croupier"].partition(":")
    packages = directory / project["tool"]["setuptools"].get("package-dir", {}).get("", ".")
    # If the checkout was copied, its editable installation belongs to the original one.
    program = f"import sys; sys.path.insert(0, {str(packages)!r}); import {module} as module\n"
    program += f"assert module.__file__.startswith(sys.path[0] + '/'); module.{function}()"
    options = "serve --listen 127.0.0.1:0 --metrics-port 0 --store memory --allow-seeds "
    options += f"--search-threads 1 --token-key-file {secret} --operator-token-file {secret} "
    options += "--log-level warning"
    command = [str(directory / ".venv/bin/python"), "-c", program, *options.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                raise RuntimeError(f"the server of {directory} did not start")
            yield line.split()[-1]
        finally:
            process.terminate()


class Answer(NamedTuple):
    """The messages that a call returned, and how it ended."""

    messages: list[bytes]
    refusal: str = ""  # The status code and its message.
    details: Any = b""  # The google.rpc.Status as the server sent it.

    def without(self, method: str, names: frozenset[str]) -> "Answer":
        """The answer without some fields. Messages that cannot have them keep their bytes."""
        kind = METHODS[method][1]
        # A map, such as the phrases of a game, has no order in a message.
        if method != "GetGame" and not holds(kind.DESCRIPTOR, names):
            return self
        left = [clear(kind.FromString(message), names) for message in self.messages]
        return self._replace(messages=[each.SerializeToString(deterministic=True) for each in left])

    def lines(self, method: str) -> list[str]:
        """The answer as text for people."""
        read = [METHODS[method][1].FromString(message) for message in self.messages]
        shown = "".join(text_format.MessageToString(m, print_unknown_fields=True) for m in read)
        return [*shown.splitlines(), f"refused: {self.refusal}", f"details: {self.details!r}"]


def ask(channel: grpc.Channel, method: str, request: bytes, token: str | None) -> Answer:
    """Calls a server. RuntimeError if an error comes from gRPC instead of the server."""
    metadata = None if token is None else (("authorization", f"Bearer {token}"),)
    streams = method in ("WatchMatch", "AnalyzePosition")
    call: Any = channel.unary_stream if streams else channel.unary_unary
    messages: list[bytes] = []
    try:
        answer = call(METHODS[method][0])(request, timeout=CALL_SECONDS, metadata=metadata)
        messages += answer if streams else [answer]
    except grpc.RpcError as error:
        assert isinstance(error, grpc.Call)
        details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
        if details is None:
            raise RuntimeError(f"{method}: {error.code()}: {error.details()}") from None
        return Answer(messages, f"{error.code().name}: {error.details()}", details)
    # The clock decides when an analysis reports, so only the final report is compared.
    return Answer(messages[-1:] if method == "AnalyzePosition" else messages)


class Different(Exception):
    """Two answers differ; the message says how."""


class Match:
    """One match on both servers, and all requests about it."""

    def __init__(self, title: str, servers: Sequence[str], ignored: str) -> None:
        self._title, self._game, self._ignored = title, title.partition(",")[0], ignored
        options = ((ChannelOptions.SingleThreadedUnaryStream, 1),)
        self._channels = [grpc.insecure_channel(server, options) for server in servers]
        self._rng = rng = random.Random(title)
        self._timed, self._resigns = rng.random() < 1 / 12, rng.random() < 1 / 12
        self._bot = rng.choice((0, 1, 1, 1)) if rng.random() < 1 / 8 else -1
        times = [f"croupier.v1.{name}" for name in TIMES + (CLOCKS if self._timed else [])]
        self._cleared = frozenset([*times, *ignored.split(",")])
        self._seen: set[bytes] = set()  # Actions that have been legal at some time.
        self.view = game_pb2.View()  # The view of the seat that decides next.
        self._tokens: dict[int, str] = {}
        self.counts = Counter({"matches": 1, "decisions": 0})
        self.hash = hashlib.sha256()

    def play(self) -> None:
        """Plays the match. Raises Different at the first difference."""
        rng = self._rng
        self._create()
        views: dict[int, game_pb2.View] = {}
        while True:
            self._wait_for_bot()
            for viewer, token in self._tokens.items():
                if viewer not in views:
                    shown = self._ask("GetView", token).messages[0]
                    views[viewer] = match_pb2.GetViewResponse.FromString(shown).view
            seat = rng.choice([s for s in views[SPECTATOR].deciders if s in views] or [SPECTATOR])
            view, token = views[seat], self._tokens[seat]
            self.view, views = view, {}
            if view.HasField("result"):
                break
            if self._resigns and not rng.randrange(40):
                self._ask("ResignMatch", token)
                continue
            if not rng.randrange(EVERY):
                self._hint(token)
            if not rng.randrange(EVERY) and self._ask_wrongly(token):
                continue
            action = rng.choice(view.legal_actions)
            self._seen.add(action.SerializeToString())
            answer = self._submit(token, action)
            assert not answer.refusal, f"{self._title}: a legal action: {answer.refusal}"
            if self._bot < 0 and rng.randrange(EVERY):
                # This is the view that GetView would return, so the seat mostly does not ask.
                views[seat] = match_pb2.SubmitActionResponse.FromString(answer.messages[0]).view
        for method in ("WatchMatch", "GetRecord", "SuggestAction"):
            for token in self._tokens.values():
                self._ask(method, token)
        self._ask("GetRecord", SECRET)

    def _ask(self, method: str, token: str | None, request: Message | None = None) -> Answer:
        # Returns the answer of the own server after comparing both. Without a request it sends only
        # the name of the match, which is the same field in all requests about a match.
        data = (request or match_pb2.GetViewRequest(name=self._name)).SerializeToString()
        answer, other = (ask(channel, method, data, token) for channel in self._channels)
        own, others = (each.without(method, self._cleared) for each in (answer, other))
        if own != others:
            texts = own.lines(method), others.lines(method)
            if texts[0] == texts[1]:  # The texts are equal, so only the bytes differ.
                texts = repr(own).split("\\n"), repr(others).split("\\n")
            diff = list(difflib.unified_diff(*texts, "own", "other", "", "", 2, ""))
            who = [viewer for viewer, shown in self._tokens.items() if shown == token]
            raise Different("\n".join([f"{method} by {who}", *(line[:500] for line in diff[:40])]))
        self.counts["answers"] += max(1, len(own.messages))
        for part in (*own.messages, own.refusal.encode(), own.details):
            self.counts["bytes"] += len(part)
            self.hash.update(b"%d:%b" % (len(part), part))
        return answer

    def _create(self) -> None:
        rng, game = self._rng, self._game
        for code in ("de", ""):
            asked = catalog_pb2.GetGameRequest(name=f"games/{game}", language_code=code)
            got = self._ask("GetGame", None, asked).messages[0]
        lines = [line for line in RULESETS.splitlines() if line.startswith(f"{game} ")]
        rulesets = [game_pb2.Ruleset(**{game: {}})]
        choice = rng.random()
        if choice < 0.15:
            # Both servers refuse an invalid change, and the match then uses the default.
            rulesets.append(catalog_pb2.GetGameResponse.FromString(got).game.default_ruleset)
            change_randomly(getattr(rulesets[-1], game), rng)
        elif choice < 0.4 and lines:
            rulesets.append(text_format.Parse(rng.choice(lines), game_pb2.Ruleset()))
        request = match_pb2.CreateMatchRequest(seats=[{"open": {}}] * 2, seed=rng.getrandbits(64))
        if self._bot >= 0:
            request.seats[self._bot].bot.strength = match_pb2.BOT_STRENGTH_BEGINNER
        if self._timed:
            request.time_control.per_match.seconds = 99999
        answer = Answer([], "not asked yet")
        while answer.refusal:
            request.ruleset.CopyFrom(rulesets.pop())
            request.request_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
            answer = self._ask("CreateMatch", None, request)
        self._ask("CreateMatch", None, request)  # The answer must be the same.
        created = match_pb2.CreateMatchResponse.FromString(answer.messages[0])
        self._name = created.name
        self._tokens = {each.seat: each.token for each in created.seat_tokens}
        self._tokens[SPECTATOR] = created.spectator_token

    def _wait_for_bot(self) -> None:
        # In a simultaneous decision either seat may be first. Waiting makes the bot the first one.
        for channel in self._channels if self._bot >= 0 else ():
            request = match_pb2.GetViewRequest(name=self._name)
            view = game_pb2.View(deciders=[self._bot])
            while self._bot in view.deciders:
                got = ask(channel, "GetView", request.SerializeToString(), self._tokens[SPECTATOR])
                view = match_pb2.GetViewResponse.FromString(got.messages[0]).view
                request.wait_for_version = view.version + 1

    def _submit(self, token: str, action: game_pb2.MatchAction, ahead: int = 0) -> Answer:
        request = match_pb2.SubmitActionRequest(name=self._name, action=action)
        request.expected_version = self.view.version + ahead
        request.request_id = str(self.counts["answers"])
        answer = self._ask("SubmitAction", token, request)
        self.counts["decisions"] += not answer.refusal
        if not self._rng.randrange(EVERY):
            self._ask("SubmitAction", token, request)
        return answer

    def _hint(self, token: str) -> None:
        rng, legal = self._rng, self.view.legal_actions
        search = hint_pb2.Search(match_name=self._name, limits=LIMITS, belief_worlds=20)
        search.seed = rng.getrandbits(64)
        if not rng.randrange(4):
            search.include_actions.extend(legal[: rng.randrange(1, 9)])
        if not self._ignored and rng.randrange(2):
            # With ignored fields the two servers could read the same view differently.
            search.view.CopyFrom(self.view)
        # The requests of both methods have this field in common.
        request = hint_pb2.SuggestActionRequest(search=search)
        self._ask("SuggestAction" if rng.randrange(EVERY) else "AnalyzePosition", token, request)

    def _ask_wrongly(self, token: str) -> bool:
        # Returns whether the match has gone on: a changed action may still be legal.
        rng, view = self._rng, self.view
        legal = [action.SerializeToString() for action in view.legal_actions]
        what = rng.randrange(8)
        old = sorted(self._seen.difference(legal)) if what < 2 else []
        action = game_pb2.MatchAction.FromString(rng.choice(old or legal))
        if what < 4:
            if not old:
                change_randomly(getattr(action, self._game), rng)
            return not self._submit(token, action).refusal
        if what == 4:
            self._submit(token, action, ahead=1)
            later = match_pb2.WatchMatchRequest(name=self._name, after_version=view.version + 1)
            self._ask("WatchMatch", token, later)
            others = [each for each in self._tokens.values() if each != token]
            return not all(self._submit(each, action).refusal for each in others)
        elif what == 5:
            self._ask("GetRecord", token)
            self._ask("GetView", token, match_pb2.GetViewRequest(name="matches/none"))
            self._ask("GetView", token[:-2])
            self._ask("GetView", None)
        elif not self._ignored:
            search = hint_pb2.Search(view=view, limits=LIMITS, seed=1)
            change_randomly(rng.choice((search.view, *[getattr(search.view, self._game)] * 3)), rng)
            self._ask("SuggestAction", None, hint_pb2.SuggestActionRequest(search=search))
        return False


def _compare(title: str, servers: list[str], ignored: str) -> tuple[Counter[str], bytes, str]:
    match, difference = Match(title, servers, ignored), ""
    try:
        match.play()
    except (Different, DecodeError) as error:
        difference = f"\n{title}, after version {match.view.version}: {error}"
    return match.counts, match.hash.digest(), difference


def compare_game(pool: Executor, servers: list[str], game: str, chosen: argparse.Namespace) -> bool:
    """Compares matches of a game and prints the result. Returns whether all are the same."""
    ignored = dict(given.split("=") for given in chosen.ignore_fields).get(game, "")
    titles = [f"{game}, match {n} of seed {chosen.seed}" for n in range(chosen.matches)]
    total, whole, difference = Counter[str](), hashlib.sha256(), ""
    compare = functools.partial(_compare, servers=servers, ignored=ignored)
    for counts, digest, difference in pool.map(compare, titles):
        total += counts
        whole.update(digest)
        if sys.stderr.isatty():
            print(f"\r{game} {total['matches']}/{len(titles)}\033[K\r", end="", file=sys.stderr)
        if difference:
            break
    said = ", ".join(f"{count} {name}" for name, count in total.items())
    said += f", sha256 {whole.hexdigest()}, " + (f"without {ignored}, " if ignored else "")
    print(f"{game}: {said}{'DIFFERENT' if difference else 'identical'}{difference}", flush=True)
    return not difference


def main() -> int:
    """Compares two builds, and returns the exit status."""
    parser = argparse.ArgumentParser(
        description="Plays random matches on the servers of this checkout and of another one, with "
        "the same requests, and compares all answers byte by byte, except times and the digests "
        "of records, which depend on times. Shows the first difference, and exits with status 1.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--against", metavar="DIR", type=Path, required=True, help="the other checkout, built")
    add("--matches", metavar="N", type=int, default=200, help="matches of each game")
    fields = game_pb2.Ruleset.DESCRIPTOR.fields
    games = [field.name for field in fields if field.name != "packaged"]
    listed: dict[str, Any] = {"nargs": "+", "default": games, "choices": games}
    add("--games", metavar="GAME", **listed, help="the games to compare")
    add("--seed", metavar="N", type=int, default=1, help="the seed of the matches")
    add("--workers", metavar="N", type=int, default=3, help="processes that play")
    ignore = "fields of a game to clear before comparing, for intended differences, such as "
    ignore += "croupier.v1.CastleRampageSide.opaque_history, or croupier.v1.CastleRampageSide."
    ignore += (
        "unknown for fields that only the other revision knows. No views are then sent for hints"
    )
    add("--ignore-fields", metavar="GAME=FIELD,...", action="append", default=[], help=ignore)
    chosen = parser.parse_args()
    with tempfile.NamedTemporaryFile() as secret, ExitStack() as stack:
        Path(secret.name).write_text(SECRET)
        roots = (Path(__file__).resolve().parents[1], chosen.against.resolve())
        servers = [stack.enter_context(serving(root, Path(secret.name))) for root in roots]
        pool = stack.enter_context(ProcessPoolExecutor(chosen.workers, get_context("spawn")))
        same = all(compare_game(pool, servers, game, chosen) for game in chosen.games)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

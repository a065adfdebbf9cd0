"""An MCP server, through which a language model plays on a Croupier server.

MCP is the Model Context Protocol (modelcontextprotocol.io). To the Croupier server, this is a
client like any other, so that a model gets what its seat may know and no more. The views, actions
and events are told in the words of the terminal client. Nothing is kept between calls: a model gets
the token of its own seat and gives it back each time.

What a tool answers is a text for the model, and the same as structured content for programs. In the
brief form, both together have at most `BRIEF_TOKENS` tokens.
"""

import functools
import inspect
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version as version_of
from typing import Annotated, Any, Literal, NoReturn, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from grpc import StatusCode

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import BaseModel, Field
    from rich.console import RenderableType
except ModuleNotFoundError as missing:
    needed = str(missing.name).partition(".")[0]
    raise ModuleNotFoundError(
        f"croupier.mcp needs {needed}: pip install 'croupier-server[mcp]'", name=needed
    ) from None

from croupier.client import (
    HINT_POLICIES,
    INVITED,
    STRENGTHS,
    Client,
    CroupierError,
    NewMatch,
    Seat,
    bot,
    open_seat,
)
from croupier.mcp_answers import (
    BRIEF_TOKENS,
    HAPPENED_BYTES,
    SPARE_BYTES,
    TOKEN_BYTES,
    VIEW_BYTES,
    WHY_BYTES,
    WIDTH,
    Answer,
    Games,
    GameTitle,
    Position,
    StrictServer,
    beginning,
    drawn,
    dumped,
    find_game,
    game_id,
    last_lines,
    rules_of,
    shortest,
    size,
)
from croupier.phrases import offered_to, origin_sentence
from croupier.streams import ended
from croupier.terminal import drawing, hints
from croupier.terminal.arguments import MAX_ITERATIONS, MAX_UINT64
from croupier.terminal.play import opponent_name
from croupier.terminal.review import Review
from croupier.terminal.settings import HINT_ITERATIONS
from croupier.transport import CLEARTEXT, KEY_HEADER, PLAYER_HEADER, Security, is_loopback
from croupier.v1 import game_pb2, match_pb2

WAIT = 30.0  # Seconds that a call waits for the other seat, which is less than clients wait for us.
MAX_WAIT = 60.0
PAUSE = 1.0  # Seconds until a wait that the server refused is tried again.
CALLERS = 64  # Whose connections are kept.
THREADS = 200  # Calls of tools at once; one that waits for the other seat has none.
MAX_REQUEST_BYTES = 64 << 10  # Over HTTP: it is read before anybody knows who sends it.
_PORT = re.compile(r":\d+$")
INSTRUCTIONS = f"""\
Plays card games with hidden information. Start with create_match, or with join_match if you have an
invitation. Both answer with the name of the match, the token of your seat, and a view with numbered
legal actions. Then call play with the number of an action and the version of the view, until the
match is over. Keep the token to yourself: whoever has it plays your seat. The tool rules has the
rules and the cards of a game. With brief=true an answer has at most {BRIEF_TOKENS} tokens."""

Match = Annotated[str, Field(description='the name of the match, such as "matches/abc"')]
Token = Annotated[
    str, Field(max_length=1000, description="the token of your seat, which you got with the match")
]
Wait = Annotated[
    float, Field(ge=0, le=MAX_WAIT, description="seconds to wait for the other seat, at most")
]
Number = Annotated[int, Field(ge=0, le=MAX_UINT64)]
Version = Annotated[Number, Field(description="the version of the view that told of it")]
Iterations = Annotated[
    int, Field(ge=0, le=MAX_ITERATIONS, description="0: what the server chooses")
]
Brief = Annotated[
    bool, Field(description=f"answer in at most {BRIEF_TOKENS} tokens, with what matters most")
]
Game = Annotated[str, Field(description="its id or its title")]
_Result = TypeVar("_Result")


def make_server(
    address: str,
    *,
    api_key: str = "",
    language: str = "",
    security: Security = CLEARTEXT,
    forward: bool = False,
    needs_key: bool = False,
) -> MCPServer:
    """Returns an MCP server whose tools call the Croupier server at `address`.

    With `forward`, for HTTP, a call carries the API key of its own request, in the header
    `authorization: Bearer KEY` or `x-api-key`, and the player in `x-player-id`. It never carries
    `api_key`, which would lend it to strangers. With `needs_key`, a request without one is refused:
    to the Croupier server, calls from here may be calls of its own machine, which have no budgets.
    The texts of games are in a `language`, such as "de", if the server has it.
    """

    @functools.lru_cache(maxsize=CALLERS)
    def connect(key: str, player: str) -> Client:
        return Client(address, api_key=key, player=player, **security._asdict())

    def client(context: Context) -> Client:
        if not forward:
            return connect(api_key, "")
        headers = context.headers or {}
        key = _key_of(headers)
        if needs_key and not key:
            raise _refused("KEY_REQUIRED", "send your API key as Authorization: Bearer KEY")
        return connect(key, headers.get(PLAYER_HEADER, ""))

    def table(context: Context, match: str, token: str, brief: bool = False) -> _Table:
        return _Table(client(context), match, token, language, brief)

    def seated(context: Context, match: NewMatch, brief: bool) -> _Told:
        [(number, seat)] = match.seats.items()
        at = table(context, match.name, seat.token, brief)
        at.head = [f"match: {match.name}", f"token: {seat.token}"]
        at.head.append(f"You are seat {number}, {at.drawing.seat_title(number)}.")
        at.taken = {"token": seat.token}
        for invitation in match.invitations.values():
            at.head.append(f"The other player joins with the invitation: {invitation}")
            at.taken["invitation"] = invitation
        # Nobody knows when an invited player will come.
        return _Follower(at, None, 0 if match.invitations else WAIT).look()

    server = StrictServer(
        "croupier", version=version_of("croupier"), instructions=INSTRUCTIONS, log_level="WARNING"
    )
    told = functools.partial(_add_tool, server, anyio.CapacityLimiter(THREADS))

    @told(read_only=True, shape=Games)
    def list_games(context: Context) -> _Told:
        """List the games of the server, by their ids and titles."""
        games = client(context).games(language=language)
        listed = [
            GameTitle(id=game_id(each), title=each.title, rules_version=each.rules_version)
            for each in games
        ]
        text = "\n".join(f"{game_id(each)}: {each.title}. {each.rules}" for each in games)
        return Answer(text, Games(games=listed))

    @told(read_only=True)
    def rules(context: Context, game: Game) -> _Told:
        """The rules of a game in short, and its cards."""
        caller = client(context)
        return Answer(rules_of(caller.game(find_game(caller, game, language), language=language)))

    @told(shape=Position)
    def create_match(
        context: Context,
        game: Game,
        opponent: Annotated[
            str,
            Field(description=f'a bot ({", ".join(STRENGTHS)}), or "invited" for another player'),
        ] = "casual",
        seat: Annotated[int, Field(ge=0, le=1, description="where you sit")] = 0,
        name: Annotated[str, Field(description="what the other player sees of you")] = "",
        hints: Annotated[
            Literal["", "allowed", "after_end"], Field(description='"": what the server chooses')
        ] = "",
        seed: Annotated[
            Number | None, Field(description="deals the same again, if the server allows it")
        ] = None,
        brief: Brief = False,
    ) -> _Told:
        """Create a match against a bot or another player; returns your seat and the first view."""
        seats = [open_seat(name)] * 2
        try:
            seats[1 - seat] = INVITED if opponent == "invited" else bot(opponent)
        except ValueError as error:
            raise ToolError(f'{error}; or "invited"') from error
        caller = client(context)
        policy = HINT_POLICIES[hints] if hints else None
        found = find_game(caller, game, language)
        match = caller.create_match(found, seats, seed=seed, hint_policy=policy)
        return seated(context, match, brief)

    @told(shape=Position)
    def join_match(
        context: Context,
        invitation: str,
        name: Annotated[str, Field(description="what the other player sees of you")] = "",
        brief: Brief = False,
    ) -> _Told:
        """Join the match that an invitation is for; returns your seat and the first view."""
        return seated(context, client(context).join(invitation, display_name=name), brief)

    @told(read_only=True, shape=Position)
    def view(
        context: Context,
        match: Match,
        token: Token,
        since: Annotated[
            Number | None, Field(description="tell what happened after this version")
        ] = None,
        wait: Wait = WAIT,
        brief: Brief = False,
        first: Annotated[
            int,
            Field(ge=1, le=MAX_UINT64, description="the number of the first action that is listed"),
        ] = 1,
    ) -> _Told:
        """Look at a match: all that your seat knows, and its legal actions if it must decide.

        While the other seat decides, this waits for it.
        """
        at = table(context, match, token, brief)
        at.first = first
        now = at.now
        if since is None:
            if now.legal_actions or now.HasField("result"):
                return at.tell(now)
            since = now.version
        return _Follower(at, since, wait).look()

    @told(shape=Position)
    def play(
        context: Context,
        match: Match,
        token: Token,
        action: Annotated[int | str, Field(description="its number in the view, or its words")],
        version: Version,
        wait: Wait = WAIT,
        brief: Brief = False,
    ) -> _Told:
        """Play a legal action; returns what happened until you must decide again, and the view."""
        at = table(context, match, token, brief)
        at.submit(action, version)
        return _Follower(at, version, wait).look()

    @told(read_only=True)
    def hint(
        context: Context,
        match: Match,
        token: Token,
        iterations: Iterations = HINT_ITERATIONS,
        seed: Annotated[Number | None, Field(description="finds the same again")] = None,
        brief: Brief = False,
    ) -> _Told:
        """Ask what a search would play in your place, if the match allows hints."""
        at = table(context, match, token, brief)
        found = hints.ask(at.seat, iterations=iterations, seed=seed)
        return at.show(*hints.shown(at.drawing, found))

    @told(shape=Position)
    def resign(context: Context, match: Match, token: Token, brief: Brief = False) -> _Told:
        """Give the match up."""
        at = table(context, match, token, brief)
        return at.tell(at.seat.resign())

    @told(shape=Position)
    def offer(
        context: Context,
        match: Match,
        token: Token,
        kind: Literal["takeback", "pause"],
        brief: Brief = False,
    ) -> _Told:
        """Ask the other seat to let you take your last decision back, or to stop the clocks."""
        at = table(context, match, token, brief)
        return at.tell(at.seat.offer(kind))

    @told(shape=Position)
    def answer(
        context: Context,
        match: Match,
        token: Token,
        agree: bool,
        version: Version,
        brief: Brief = False,
    ) -> _Told:
        """Agree to what the other seat asks for or to end a pause, decline, or withdraw yours."""
        at = table(context, match, token, brief)
        if at.now.version != version:
            at.refuse(f"the match is at version {at.now.version}, not {version}", at.now)
        if agree and at.now.HasField("pause_end_time"):
            return at.tell(at.seat.resume())
        return at.tell(at.seat.answer_offer(at.now.offer, agree=agree))

    @told(read_only=True)
    def review(
        context: Context,
        match: Match,
        token: Token,
        iterations: Iterations = 0,
        brief: Brief = False,
    ) -> _Told:
        """Review a match that is over: where each seat erred, and what was luck. Takes a while."""
        at = table(context, match, token, brief)
        found = Review(at.drawing)
        for report in at.seat.review(iterations=iterations):
            found.add(report)
        return at.show(*found.shown())

    @server.resource("croupier://games/{game}", mime_type="text/plain")
    def rules_of_a_game(context: Context, game: str) -> str:
        """The rules of a game in short, and its cards."""
        return _answer(
            ResourceError, lambda: rules_of(client(context).game(game, language=language))
        )

    return server


def http_app(server: MCPServer, host: str, names: Sequence[str] = ()) -> Any:
    """Returns the application of Starlette that serves streamable HTTP at /mcp, on a host.

    On an address of this machine alone, or with `names`, a request must name its host in `Host`:
    one of `names`, as "HOST" or "HOST:PORT", or this machine. So no page of another site, whose
    name an attacker lets lead here, can call it.
    """
    local = is_loopback(host)
    known = {*names, *(("localhost", "127.0.0.1", "[::1]", _bracketed(host)) if local else ())}
    known |= {f"{each}:*" for each in known if not _PORT.search(each)}
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(known),
        allowed_hosts=sorted(known),
        allowed_origins=sorted(
            f"{scheme}://{each}" for scheme in ("http", "https") for each in known
        ),
    )
    return server.streamable_http_app(
        stateless_http=True, max_request_body_size=MAX_REQUEST_BYTES, transport_security=security
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _key_of(headers: Mapping[str, str]) -> str:
    # The API key of a request; empty if it has none.
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() not in ("", "bearer"):
        raise _refused("KEY_INVALID", "the header must be Authorization: Bearer KEY")
    return key.strip() or headers.get(KEY_HEADER, "")


def _refused(reason: str, why: str) -> CroupierError:
    return CroupierError(StatusCode.UNAUTHENTICATED, why, reason)


def _add_tool(
    server: MCPServer,
    threads: anyio.CapacityLimiter,
    *,
    read_only: bool = False,
    shape: type[BaseModel] | None = None,
) -> Callable[[Callable[..., "_Told"]], Callable[..., Any]]:
    # Adds a tool whose refusals by the Croupier server reach the model, and whose structured
    # content has a shape. It holds a thread while it asks the server, and none while it waits for
    # the other seat.
    def add(tool: Callable[..., _Told]) -> Callable[..., Any]:
        @functools.wraps(tool)
        async def call(*given: Any, **named: Any) -> CallToolResult:
            async def ask(question: Callable[[], _Told]) -> _Told:
                answer = functools.partial(_answer, ToolError, question)
                return await anyio.to_thread.run_sync(answer, limiter=threads)

            told = await ask(lambda: tool(*given, **named))
            while isinstance(told, _Follower):
                await told.news()
                told = await ask(told.look)
            content = None if told.content is None else dumped(told.content)
            text = TextContent(type="text", text=told.text)
            return CallToolResult(content=[text], structured_content=content)

        returned: Any = CallToolResult if shape is None else Annotated[CallToolResult, shape]
        signature = inspect.signature(tool, eval_str=True)
        declared: Any = call
        declared.__signature__ = signature.replace(return_annotation=returned)
        notes = ToolAnnotations(read_only_hint=read_only, destructive_hint=False)
        return server.tool(annotations=notes)(call)

    return add


def _answer(kind: type[Exception], ask: Callable[[], _Result]) -> _Result:
    try:
        return ask()
    except CroupierError as error:
        again = error.retry_after
        later = f"; try again in {again:g} seconds" if again is not None else ""
        raise kind(f"{error}{later}") from error
    except ValueError as error:  # A text or a number that no message can hold.
        raise kind(str(error)) from error


class _Table:
    """A match as one seat sees it, told in words."""

    def __init__(
        self, client: Client, match: str, token: str, language: str, brief: bool = False
    ) -> None:
        self.seat = Seat(client, match, token)
        self.now = now = self.seat.view()
        self.number = now.seat
        if not now.HasField("seat"):
            raise ToolError("this is a token to watch the match: you need that of a seat")
        game = client.game(client.game_of(now.ruleset), language=language)
        self.drawing = drawing.find(game, self.number, opponent_name(now.players[1 - self.number]))
        self.drawing.lists_actions = True
        self.drawing.read_ruleset(now)
        self.brief = brief
        self.first = 1  # The number of the first action that is listed.
        self.head: list[
            str
        ] = []  # What is told before all else, of a seat that was taken just now,
        self.taken: dict[str, str] = {}  # and its structured form.

    def tell(self, view: game_pb2.View, happened: Sequence[str] = ()) -> Answer:
        """Tells a view, what happened before it, and what to do."""
        content = self._content(view, happened)
        if not self.brief:
            return Answer("\n".join([*self.head, *happened, *self._lines(view)]), content)
        content = content.model_copy(update={"actions": [], "happened": []})
        room = BRIEF_TOKENS * TOKEN_BYTES - size(json.dumps(dumped(content))) - SPARE_BYTES
        lines = [*self.head, *last_lines(happened, HAPPENED_BYTES)]
        lines += self._lines(view, room - sum(map(size, lines)))
        return Answer("\n".join(lines), content)

    def _content(self, view: game_pb2.View, happened: Sequence[str]) -> Position:
        return Position(
            match=self.seat.match,
            version=view.version,
            seat=self.number,
            over=view.HasField("result"),
            scores=list(view.result.scores),
            action_count=len(view.legal_actions),
            actions=[self.drawing.action(each) for each in view.legal_actions],
            happened=list(happened),
            **self.taken,
        )

    def _lines(self, view: game_pb2.View, room: int | None = None) -> list[str]:
        # The view, and what to do; in no more than `room` bytes, if that is given.
        draw = self.drawing
        lines = [f"Version {view.version}. You are {draw.seat_title(self.number)}."]
        if view.HasField("origin"):
            lines.append(origin_sentence(view.origin, draw.say))
        if view.WhichOneof("game"):  # The match may have ended before the deal.
            if room is None:
                lines.append(drawn(draw.title(view), draw.view(view)))
            else:
                # What a small terminal shows; wide, so that each list is a line.
                *_, (least, _) = draw.screens(view, WIDTH)
                wide = drawn(draw.title(view), least, width=10 * WIDTH)
                lines += shortest(wide, VIEW_BYTES)
        lines += offered_to(self.number, view)
        if view.HasField("result"):
            lines.append(draw.over(view))
            lines.append(f"The match is over. {draw.result(view)} You are seat {self.number}.")
        elif view.legal_actions:
            lines.append(f"{draw.question(view)} Legal actions at version {view.version}:")
            left = None if room is None else room - sum(map(size, lines))
            lines += self._actions(view, left)
        else:
            lines.append(f"You have nothing to decide yet. To wait: view, since={view.version}.")
        return lines

    def _actions(self, view: game_pb2.View, room: int | None) -> list[str]:
        lines: list[str] = []
        count = len(view.legal_actions)
        if self.first > count:
            return [f"There is no action {self.first}, only 1 to {count}."]
        for n, action in enumerate(view.legal_actions[self.first - 1 :], self.first):
            lines.append(f"{n}. {self.drawing.action(action)}")
            if room is not None and (room := room - size(lines[-1])) < 0:
                lines[-1] = f"{count - n + 1} more, to {count}: view, brief=true, first={n}"
                break
        return lines

    def show(self, *shown: RenderableType) -> Answer:
        """Tells what the terminal shows; the beginning of it in the brief form."""
        text = drawn(*shown)
        return Answer(beginning(text, BRIEF_TOKENS * TOKEN_BYTES) if self.brief else text)

    def refuse(self, why: str, view: game_pb2.View) -> NoReturn:
        """Raises ToolError with the reason and what can be done now."""
        why = beginning(why, WHY_BYTES) if self.brief else why
        self.head = [f"Not played: {why}."]
        raise ToolError(self.tell(view).text)

    def submit(self, action: int | str, version: int) -> None:
        """Plays an action of the view of a version; refuses what is not legal or out of date."""
        if not self.now.legal_actions:
            self.refuse("you have nothing to decide now", self.now)
        try:
            # The server says whether the version is out of date: a decision of the other seat
            # alone, in a phase where both decide, changes nothing for this one.
            self.seat.submit(self.now.legal_actions[self.read(self.now, action)], version)
        except CroupierError as error:
            if error.code not in (StatusCode.ABORTED, StatusCode.FAILED_PRECONDITION):
                raise
            self.refuse(str(error), self.seat.view())

    def read(self, view: game_pb2.View, action: int | str) -> int:
        """Returns the place of a legal action, given by number or words; refuses all others."""
        count = len(view.legal_actions)
        action = str(action)
        number = drawing.number_of(action.removeprefix("#"))
        if number is not None:
            if number not in range(1, count + 1):
                self.refuse(f"there is no action {action}, only 1 to {count}", view)
            return number - 1
        said = [self.drawing.action(each) for each in view.legal_actions]
        same = [n for n, words in enumerate(said) if words == action]
        try:
            places = same or self.drawing.read(view, action)
        except drawing.Unclear as unclear:
            self.refuse(str(unclear), view)
        if len(places) != 1:
            which = f"can mean {len(places)} actions" if places else "is no legal action"
            self.refuse(f"{action!r} {which}; give a number", view)
        return places[0]


class _Follower:
    """What a seat is told after a version, until it must decide or the time is up."""

    def __init__(self, table: _Table, after: int | None, wait: float) -> None:
        self._table, self._after = table, after
        self._end = time.monotonic() + wait
        self._view: game_pb2.View | None = None
        self._lines: list[str] = []

    def look(self) -> "_Told":
        """Returns what is told, or this object if the seat is to wait longer."""
        table, waits = self._table, False
        for news in table.seat.watch(self._after, heartbeat_interval=1, heartbeats=True):
            events = (table.drawing.event(event) for event in news.events)
            self._lines += [line.plain for line in events if line is not None]
            self._view = news.view if news.HasField("view") else self._view
            self._after = news.version
            seen = self._view if table.seat.version == news.version else None
            decides = bool(seen and (seen.legal_actions or offered_to(table.number, seen)))
            waits = news.up_to_date and not decides
            if decides or waits:
                break
        if waits and time.monotonic() < self._end:
            return self
        view = self._view
        if view is None or view.version != table.seat.version:
            view = table.seat.view()
        return table.tell(view, self._lines)

    async def news(self) -> None:
        """Returns when there may be news, or when the time is up; no thread waits."""
        seat = self._table.seat
        left = max(0.0, self._end - time.monotonic())
        request = match_pb2.GetViewRequest(name=seat.match, wait_for_version=(self._after or 0) + 1)
        request.read_mask.paths.append("view.version")
        metadata = seat.client.metadata(seat.token)
        call = seat.client.match_stub.GetView.future(request, timeout=left, metadata=metadata)
        try:
            await ended(call)
        finally:
            call.cancel()
        if call.code() is not StatusCode.OK:
            await anyio.sleep(min(PAUSE, left))  # The next look says what is the matter.


_Told: TypeAlias = Answer | _Follower

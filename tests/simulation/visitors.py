"""Visitors, who ask for what belongs to no match that they play, and what they must be told.

It is worked out from the files of the games and from the engine: the catalog in each language,
puzzles and their solutions, health, reflection, and why a match of a release to come is refused.
"""

import asyncio
import random
import tomllib
from functools import cache
from importlib.resources import files

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

import wire
from croupier.v1 import catalog_pb2, game_pb2, match_pb2, puzzle_pb2
from engine.aspects import Aspects
from engine.model import learned
from engine.packages import origin, package_of
from service.common.event_loop import finish_now
from service.puzzles.lines import playing_line
from service.puzzles.packs import pack_of, replaying
from tests.simulation import shown
from tests.simulation.clients import GAMES, Client
from tests.simulation.network import CallError
from tests.support.serving import OPEN, bot

HEALTH, CATALOG = "/grpc.health.v1.Health/", "/croupier.v1.CatalogService/"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
PUZZLES = "/croupier.v1.PuzzleService/"
SERVICES = [f"croupier.v1.{each}Service" for each in ("Catalog", "Feed", "Hint", "Match", "Review")]
PAGE = 7  # Puzzles.
WATCH_SECONDS = 300.0  # After which a silent stream may be lost.
# What is no text of a card or of a phrase.
UNTRANSLATED = ("name", "id", "glyph", "origin", "model", "default_ruleset", "language_codes")
SERVING, NOT_SERVING = 1, 2


@cache
def _texts(game_id, language):
    # Of a game: its title, its rules, its other texts by the English ones, and its phrases by name.
    file = files(package_of(wire.hosted_games()[game_id])) / f"{language}.toml"
    own = tomllib.loads(file.read_text())
    general = tomllib.loads((files(wire) / f"{language}.toml").read_text())
    paragraphs = [" ".join(each.split()) for each in own["rules"].strip().split("\n\n")]
    return own["title"], "\n\n".join(paragraphs), own["texts"], {**general, **own["phrases"]}


def _described(game_id, language):
    # The Game of the catalog.
    game = wire.hosted_games()[game_id]()
    right = catalog_pb2.Game(
        name=f"games/{game_id}",
        title=game.title,
        rules=game.summary,
        rules_version=game.rules_version,
        seat_titles=game.seat_titles,
        default_ruleset=wire.write_ruleset(game),
        language_codes=("en", "de"),
        origin=origin(game_id),
        schema=wire.messages(game_id).schema,
        phrases=wire.phrases(game),
        model=getattr(learned(game), "name", ""),
        aspects=[
            catalog_pb2.Aspect(id=name, unit=f"ASPECT_UNIT_{unit.upper()}")
            for name, unit in Aspects.of(game).units.items()
        ],
    )
    for card in game.cards():
        numbers = [{"title": title, "value": value} for title, value in card["numbers"].items()]
        right.cards.add(**{**card, "numbers": numbers})
    if language == "de":
        title, rules, texts, phrases = _texts(game_id, language)
        _translate(right, texts)
        right.title, right.rules = title, rules
        right.phrases.update(phrases)
    right.language_code = language
    return right


def _translate(message, texts):
    # Every text that it has, whatever its field; a number at its end stays.
    def text(english):
        words = english.rstrip(" 0123456789")
        return texts.get(words, words) + english[len(words) :]

    for field, value in message.ListFields():
        if field.name in UNTRANSLATED:
            continue
        if field.name == "phrases":
            for name, english in list(value.items()):
                value[name] = text(english)
        elif isinstance(value, str):
            setattr(message, field.name, text(value))
        elif field.type == field.TYPE_STRING:
            value[:] = map(text, value)
        elif field.type == field.TYPE_MESSAGE:
            for each in value:
                _translate(each, texts)


@cache
def _pack(game_id):
    return {each.puzzle.name: each for each in pack_of(wire.hosted_games()[game_id]).puzzles}


def _state_of(record):
    # The match of a puzzle, at its position.
    return finish_now(replaying(record))


def _view_of(packed):
    # What a puzzle shows.
    state = _state_of(packed.record)
    seat, match = packed.puzzle.origin.seat, state.match
    view = game_pb2.View.FromString(wire.write_view(state.game, match.view(seat)))
    view.seat, view.version = seat, len(packed.record.entries)
    view.deciders.extend(match.deciders)
    view.ruleset.CopyFrom(packed.record.ruleset)
    view.legal_actions.extend(wire.write_action(state.game, each) for each in match.legal(seat))
    return view


class Visitor:
    """A caller who asks now and then."""

    def __init__(self, inhabitants):
        self.inhabitants = inhabitants
        self.world = inhabitants.world
        self.rng = random.Random(f"visitor/{self.world.seed}")
        self.client = Client(inhabitants, self.rng)

    async def live(self):
        """Asks until this is cancelled."""
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / 20))
            await self.rng.choice(_ASK)(self)

    async def watch_health(self):
        """Watches whether servers serve: each says it before it stops."""
        while True:
            request = health_pb2.HealthCheckRequest(service=self.rng.choice(("", *SERVICES)))
            call, told = self._stream(f"{HEALTH}Watch", request), []
            try:
                async with asyncio.timeout(WATCH_SECONDS):
                    while (data := await call.read()) is not None:
                        told.append(health_pb2.HealthCheckResponse.FromString(data).status)
                right = told in ([SERVING, NOT_SERVING], [NOT_SERVING])
            except CallError as error:
                right = error.unanswered or error.reason == "BUDGET_EXHAUSTED"
                if "closed its port" in error.details and len(self.world.troubles.present) <= 1:
                    right = NOT_SERVING in told
            except TimeoutError:
                right = told == [SERVING]
            finally:
                call.cancel()
            if not right:
                self.world.fail(f"a stream of health has told {told}")
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))

    def _stream(self, method, request):
        return self.client.begin(method, request, timeout=None, streams=True)

    async def _call(self, method, request, response):
        return await self.client.call(method, request, response=response)

    async def _refused(self, method, request, reason, response, token=""):
        # Also where the only server that would answer otherwise is not there.
        try:
            answer = await self.client.once(method, request, token, response=response)
        except CallError as error:
            if not error.unanswered and error.reason not in (reason, "STORE_UNAVAILABLE"):
                self.world.fail(f"{method} is refused for another reason than {reason}: {error}")
        else:
            self.world.fail(f"{method} is not refused as {reason}, but answered {answer}")

    def _judge(self, what, told, right):
        if wrong := shown.wrong(told, right):
            self.world.fail(f"{what} is told with a wrong {wrong}")

    async def _ask_for_games(self):
        asked, language = self.rng.choice(
            (("", "en"), ("en", "en"), ("de", "de"), ("DE-at", "de"), ("fr", "en"))
        )
        request = catalog_pb2.ListGamesRequest(language_code=asked)
        listed = await self._call(f"{CATALOG}ListGames", request, catalog_pb2.ListGamesResponse)
        right = catalog_pb2.ListGamesResponse()
        right.games.extend(_described(each, language) for each in wire.hosted_games())
        for game in right.games:
            request = catalog_pb2.GetGameRequest(name=game.name, language_code=asked)
            got = await self._call(f"{CATALOG}GetGame", request, catalog_pb2.GetGameResponse)
            self._judge(game.name, got.game, game)
            for name in ("cards", "schema", "phrases", "aspects"):
                game.ClearField(name)
        self._judge("the list of games", listed, right)

    async def _ask_for_health(self):
        services = ("", *SERVICES)
        request = health_pb2.HealthCheckRequest(service=self.rng.choice(services))
        response = health_pb2.HealthCheckResponse
        told = await self._call(f"{HEALTH}Check", request, response)
        if told.status != SERVING and self.world.troubles.is_well(10.0):
            self.world.fail(f"a server that is well says of its health: {told}")
        request.service = "croupier.v1.NoService"
        await self._refused(f"{HEALTH}Check", request, "SERVICE_NOT_FOUND", response)

    async def _ask_for_descriptions(self):
        for service in self.rng.sample(SERVICES, 2):
            request = reflection_pb2.ServerReflectionRequest(file_containing_symbol=service)
            if self.rng.random() < 0.3:
                request = reflection_pb2.ServerReflectionRequest(list_services="")
            call = self._stream(REFLECTION, request)
            try:
                data = await call.read()
            except CallError:
                return
            finally:
                call.cancel()
            told = reflection_pb2.ServerReflectionResponse.FromString(data)
            described = map(
                FileDescriptorProto.FromString, told.file_descriptor_response.file_descriptor_proto
            )
            named = [f"{file.package}.{each.name}" for file in described for each in file.service]
            listed = [each.name for each in told.list_services_response.service]
            if told.original_request != request or service not in named + listed:
                self.world.fail(f"{request} is answered with {named} and {listed}")

    async def _ask_for_puzzles(self):
        # A release before has puzzles of its own rules, which no simulated server has.
        old = ("castle_rampage",) if self.world.upgrading else ()
        game_id = self.rng.choice([each for each in GAMES if each not in old])
        pack, found = _pack(game_id), []
        theme = self.rng.choice(("", self.rng.choice([*pack.values()]).puzzle.theme))
        request = puzzle_pb2.ListPuzzlesRequest(
            parent=f"games/{game_id}", page_size=PAGE, theme=theme
        )
        while True:
            response = puzzle_pb2.ListPuzzlesResponse
            page = await self._call(f"{PUZZLES}ListPuzzles", request, response)
            found += page.puzzles
            if len(page.puzzles) > PAGE:
                self.world.fail(f"a page of {PAGE} puzzles has {len(page.puzzles)}")
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
        right = [each.puzzle for _, each in sorted(pack.items())]
        right = [each for each in right if request.theme in ("", each.theme)]
        if page.total_size != len(right) or found != right:
            self.world.fail(
                f"{game_id} is told to have the puzzles {[each.name for each in found]}"
            )
        packed = pack[self.rng.choice(sorted(pack))]
        right = puzzle_pb2.Puzzle()
        right.CopyFrom(packed.puzzle)
        right.view.CopyFrom(_view_of(packed))
        request = puzzle_pb2.GetPuzzleRequest(name=right.name)
        got = await self._call(f"{PUZZLES}GetPuzzle", request, puzzle_pb2.GetPuzzleResponse)
        self._judge(right.name, got.puzzle.view, right.view)
        self._judge(right.name, got.puzzle, right)
        await self._solve(packed, right.view)
        await self._play_on(right)

    async def _play_on(self, puzzle):
        # A match against a bot, from the position of the puzzle.
        seats = [bot("RANDOM")] * 2
        seats[puzzle.view.seat] = OPEN
        request = match_pb2.CreateMatchRequest(ruleset=puzzle.view.ruleset, seats=seats)
        request.start_from.puzzle_name = puzzle.name
        created = await self.client.call("CreateMatch", request)
        self.inhabitants.keyless.add(created.name)
        token = created.seat_tokens[0].token
        view = (
            await self.client.call("GetView", match_pb2.GetViewRequest(name=created.name), token)
        ).view
        # What the other seat had decided and kept back, it decides anew.
        if not view.version and view.deciders == puzzle.view.deciders:
            for name in (view.WhichOneof("game"), "seat", "legal_actions"):
                if getattr(view, name) != getattr(puzzle.view, name):
                    self.world.fail(f"{puzzle.name} is played on with another {name}: {view}")

    async def _solve(self, packed, view):
        # By an action that is legal, and by one that is legal in another puzzle of the game.
        method, response = f"{PUZZLES}SolvePuzzle", puzzle_pb2.SolvePuzzleResponse
        request = puzzle_pb2.SolvePuzzleRequest(name=packed.puzzle.name)
        legal = view.legal_actions
        request.action.CopyFrom(self.rng.choice((packed.hint.action, *legal)))
        right = response(correct=request.action == packed.hint.action, hint=packed.hint)
        told = await self._call(method, request, response)
        # They are played in a world that the server draws, and that follows from the puzzle.
        right.steps.extend(finish_now(playing_line(_state_of(packed.record), packed)))
        self._judge(request.name, told, right)
        others = [each.hint.action for each in _pack(packed.puzzle.name.split("/")[1]).values()]
        if others := [each for each in others if each not in legal]:
            request.action.CopyFrom(self.rng.choice(others))
            await self._refused(method, request, "ILLEGAL_ACTION", response)

    async def _ask_for_what_is_to_come(self):
        for created in self.inhabitants.to_come:
            request = match_pb2.GetViewRequest(name=created.name)
            response, token = match_pb2.GetViewResponse, created.spectator_token
            await self._refused("GetView", request, "RULES_CHANGED", response, token)


_ASK = (
    Visitor._ask_for_games,
    Visitor._ask_for_health,
    Visitor._ask_for_descriptions,
    Visitor._ask_for_puzzles,
    Visitor._ask_for_what_is_to_come,
)

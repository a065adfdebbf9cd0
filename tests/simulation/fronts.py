"""A front end, whose players come back: their matches are listed, and their names erased.

Its players have seats that it has named, that they have joined, and in rematches.
"""

import asyncio
import random
from collections import defaultdict

from croupier.v1 import match_pb2
from tests.simulation import shown
from tests.simulation.clients import GAMES, Client, new_id
from tests.simulation.course import course_of
from tests.simulation.network import CallError
from tests.support.serving import INVITED, bot, ruleset_of

PAUSE_SECONDS = 40.0
PAGE = 2
DELAY = 5  # Seconds after which spectators of some matches hear what happens.


class FrontEnd:
    """Who hosts some matches of two players, one after the other."""

    def __init__(self, inhabitants):
        self.inhabitants, self.world = inhabitants, inhabitants.world
        self.rng = random.Random(f"front end/{self.world.seed}")

    async def live(self):
        """Hosts matches until this is cancelled."""
        while self.world.store == "sqlite":  # The model of PostgreSQL knows no players.
            await asyncio.sleep(self.rng.expovariate(1 / PAUSE_SECONDS))
            self._players = [self._player() for _ in range(2)]
            self._held = {each.player: defaultdict(set) for each in self._players}
            self._tokens = {}
            for _ in range(self.rng.randint(1, 3)):
                await self._host()
            for each in self._players:
                await self._list(each)
            for each in self.rng.sample(self._players, 2):
                await self._forget(each)
                await self._list(each)
            for name, tokens in self._tokens.items():
                for token in tokens[:1]:
                    await self._end(name, token)
            for each in self._players:
                each.close()
            self.world.counts["players who came back"] += 2

    def _player(self):
        client = Client(self.inhabitants, self.rng, key="house")
        client.player = f"{self.rng.getrandbits(40):010x}"
        return client

    async def _host(self):
        # One player creates a match, with seats of its own, of the other one and of anybody.
        rng, (one, other) = self.rng, self.rng.sample(self._players, 2)
        kinds = rng.choices(("own", "named", "invited", "bot"), (3, 3, 2, 1), k=2)
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset_of(rng.choice(GAMES)), request_id=new_id(rng)
        )
        for kind in kinds:
            config = request.seats.add(display_name=rng.choice(("", "Ann")))
            if kind in ("invited", "bot"):
                config.CopyFrom(INVITED if kind == "invited" else bot("RANDOM"))
            else:
                config.open.SetInParent()
                config.player_id = other.player if kind == "named" else ""
        if kinds == ["bot", "bot"]:
            return
        if delay := rng.choice((0, 0, DELAY)):
            request.spectator_delay.FromSeconds(delay)
        created = await one.call("CreateMatch", request)
        self.inhabitants.keyless.add(created.name)
        self._tokens[created.name] = tokens = [each.token for each in created.seat_tokens]
        for seat, kind in enumerate(kinds):
            if kind in ("own", "named"):
                self._held[(one if kind == "own" else other).player][created.name].add(seat)
        for each in created.invitations:
            join = match_pb2.JoinMatchRequest(invitation=each.invitation, request_id=new_id(rng))
            join.display_name, joining = rng.choice(("", "Bob")), rng.choice(self._players)
            try:
                joined = await joining.call("JoinMatch", join)
            except CallError as error:
                if error.reason != "MATCH_OVER":  # It was idle for too long.
                    raise
                continue
            tokens.append(joined.seat_token.token)
            self._held[joining.player][created.name].add(each.seat)
        if rng.random() < 0.5 and "invited" not in kinds:
            await self._end(created.name, tokens[0])
            await asyncio.sleep(2 * delay)
            await self._ask_for_rematch(created, tokens[0], delay)

    async def _ask_for_rematch(self, created, token, delay):
        # Whoever asks first, all sit in it, where nobody was invited. Who hears late of the match
        # hears late of it, too.
        name, world = created.name, self.world
        request, look = match_pb2.RematchRequest(name=name), match_pb2.GetViewRequest(name=name)
        asked = world.now
        made = await self.rng.choice(self._players).call("Rematch", request, token)
        told = await self._players[0].call("GetView", look, created.spectator_token)
        early = world.now < asked + delay - world.skew
        if told.HasField("rematch") == early and (early or not delay):
            world.fail(
                f"{name}: a spectator who hears {delay} s late of its rematch is told {told}"
            )
        self.inhabitants.keyless.add(made.name)
        self._tokens[made.name] = [made.seat_token.token]
        for held in self._held.values():
            if name in held:
                held[made.name] = {1 - seat for seat in held[name]}

    async def _end(self, name, token):
        try:
            await self._players[0].call(
                "ResignMatch", match_pb2.ResignMatchRequest(name=name), token
            )
        except CallError as error:
            if error.reason != "MATCH_OVER":  # A bot has ended it.
                raise

    async def _list(self, player):
        # A player is told of all matches in which it sits, and of where.
        world, listed = self.world, []
        request = match_pb2.ListMatchesRequest(page_size=PAGE)
        while True:
            page = await player.call("ListMatches", request)
            listed += page.matches
            request.page_token = page.next_page_token
            if not request.page_token:
                break
        held = self._held[player.player]
        order = [(each.create_time.ToMilliseconds(), each.name) for each in listed]
        if {each.name for each in listed} != held.keys() or order != sorted(order, reverse=True):
            world.fail(f"a player of {dict(held)} is told of the matches {order}")
        for each in listed:
            right = shown.match(course_of(world.stored(each.name[len("matches/") :]), each.version))
            right.own_seats.extend(sorted(held[each.name]))
            if wrong := shown.wrong(each, right):
                world.fail(f"a player of {dict(held)} is told of a match with a wrong {wrong}")

    async def _forget(self, player):
        # All names of a player are erased, some with each call, and nobody's else.
        world, held, count, errors = self.world, self._held[player.player], 0, []
        named = {name for name in held if self._has_name(name, held[name])}
        others = self._names_of_others(held)
        request = match_pb2.EraseNamesRequest(player_id=self.rng.choice(("", player.player)))
        other = match_pb2.EraseNamesRequest(player_id="another player")
        response = match_pb2.EraseNamesResponse
        try:
            answer = await player.call("EraseNames", other, response=response)
            world.fail(f"a player has erased the names of another one: {answer}")
        except CallError as error:
            if error.reason != "INVALID_FIELD":
                raise
        while True:
            told = await player.call("EraseNames", request, response=response)
            count += told.erased_matches
            errors += told.errors
            request.page_token = told.next_page_token
            if not request.page_token:
                break
        # A call that was repeated finds nothing more.
        few = count < len(named) and world.troubles.is_well(60.0)
        left = {name for name in held if self._has_name(name, held[name])}
        if count > len(named) or few or errors or left:
            world.fail(f"who erases names in {named} is told of {count} matches, and {errors}")
        if others != (names := self._names_of_others(held)):
            world.fail(f"since a player has erased its names, those of others are {names}")

    def _has_name(self, name, seats):
        return any(any(each) for each in self._names(name, seats))

    def _names_of_others(self, held):
        return {name: self._names(name, {0, 1} - held.get(name, set())) for name in self._tokens}

    def _names(self, name, seats):
        course = course_of(self.world.stored(name.removeprefix("matches/")))
        return [course.names[seat] for seat in sorted(seats)]

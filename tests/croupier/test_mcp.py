"""The MCP server: scripted models play whole matches, and are told what is refused and why."""

import contextlib
import functools
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp: make tools")

import anyio
import anyio.to_thread
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import croupier.client
import wire
from croupier.client import INVITED, OPEN
from croupier.mcp import BRIEF_TOKENS, make_server
from croupier.v1 import match_pb2
from service.hosting.records import write_record
from tests.support.commands import croupier as run_command
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded
from tests.support.ports import free_port
from tests.support.random_matches import random_match
from tests.support.waiting import PAUSE

PLAYED = list(wire.hosted_games())
MATCHES = 25 if LONG_FORM else 1  # Of each game.
SEED = 11
COMMAND = ["-m", "cli", "mcp", "--server"]


class Model:
    """A scripted model: it knows a match from what the tools have told it alone."""

    def __init__(self, client, **always):
        self.client = client
        self.always = always  # What it gives with each call of a tool that takes it.
        self.match = self.token = ""
        self.told = []  # All that it was ever told,
        self.content = {}  # and the structured content of the last answer.
        self.largest = 0  # Bytes of an answer, with its structured content.

    async def ask(self, tool, refused=False, **arguments):
        """Calls a tool; returns its text."""
        if self.token and tool not in ("create_match", "join_match"):
            arguments = {"match": self.match, "token": self.token, **arguments}
        result = await self.client.call_tool(tool, self.always | arguments)
        [content] = result.content
        assert result.is_error == refused, content.text
        self.told.append(content.text)
        self.content = result.structured_content
        written = json.dumps(self.content) if self.content else ""
        self.largest = max(self.largest, len(f"{content.text}{written}".encode()))
        return content.text

    async def seat(self, tool, **arguments):
        """Creates or joins a match; returns the text."""
        text = await self.ask(tool, **arguments)
        self.match = re.search(r"^match: (\S+)$", text, re.MULTILINE)[1]
        self.token = re.search(r"^token: (\S+)$", text, re.MULTILINE)[1]
        return text

    async def play(self, text, rng):
        """Plays a random legal action of a view; returns the next view."""
        version, numbers = legal(text)
        return await self.ask("play", action=rng.choice(numbers), version=version)


def legal(text):
    """The version of a view, and the numbers of its legal actions; None if there are none."""
    found = re.search(r"Legal actions at version (\d+):\n((?:\d+\. .+\n?)+)", text)
    return found and (int(found[1]), [int(n) for n in re.findall(r"^(\d+)\.", found[2], re.M)])


# A server that lets nobody create matches but holders of this key.
KEY = "a key of models"
CALLERS = f"""
require_key = ["create_match"]
[keys.models]
sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}"
"""


@contextlib.asynccontextmanager
async def over_stdio(address):
    process = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, address], env={"CROUPIER_API_KEY": KEY}
    )
    async with Client(process) as client:
        yield client


@contextlib.asynccontextmanager
async def serving(address, *options, host="127.0.0.1", number=signal.SIGINT):
    """The URL of a server over HTTP, in a process that ends well at a signal."""
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, *COMMAND, address, "--http", f"{host}:{port}", *options],
        env=os.environ | {"CROUPIER_API_KEY": KEY},
    )
    try:
        while True:
            with contextlib.suppress(OSError):
                await (await anyio.connect_tcp(host.strip("[]"), port)).aclose()
                break
            await anyio.sleep(PAUSE)
        yield f"http://{host}:{port}/mcp"
    finally:
        process.send_signal(number)
        assert await anyio.to_thread.run_sync(process.wait) == 0


async def post(http, url, tool, **arguments):
    """Calls a tool once, without a library for MCP; returns the status and text of the answer."""
    call = {"name": tool, "arguments": arguments}
    accepted = {"accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answer = await http.post(url, json=message, headers=accepted)
    return answer.status_code, answer.text


@contextlib.asynccontextmanager
async def over_http(address):
    @contextlib.asynccontextmanager
    async def connect(**headers):
        async with httpx2.AsyncClient(headers=headers, timeout=None) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport) as client:
                yield client

    async with serving(address) as url:
        # The key of the process is not lent to who comes over HTTP.
        refused = {"x-api-key": "another"}, {"authorization": f"Basic {KEY}"}
        for refusal, headers in ("REQUIRED", {}), *(("INVALID", each) for each in refused):
            async with connect(**headers) as client:
                create = Model(client).ask("create_match", refused=True, game="skystones")
                assert f"KEY_{refusal}" in await create
        async with connect(authorization=f"Bearer {KEY}") as client:
            yield client


@pytest.mark.parametrize("transport", [over_stdio, over_http])
def test_a_scripted_model_plays_matches_to_their_ends(servers, tmp_path, transport):
    path = tmp_path / "callers.toml"
    path.write_text(CALLERS)
    server, address = servers.start(callers_file=path, allow_seeds=True)

    async def play():
        async with transport(address) as client:
            model = Model(client)
            games = PLAYED if LONG_FORM else PLAYED[2 * (transport is over_http) :][:1]
            for game in games:
                assert f"{game}: " in await model.ask("list_games")
                for number in range(MATCHES):
                    rng = seeded(SEED, game, number)
                    text = await model.seat(
                        "create_match", game=game, opponent="random", seat=number % 2, seed=number
                    )
                    while legal(text):
                        text = await model.play(text, rng)
                    assert re.search(r"The match is over\. .* You are seat [01]\.$", text)
            rules = await client.read_resource(f"croupier://games/{game}")
            assert "Cards:" in rules.contents[0].text

    with note_on_failure(seed=SEED):
        anyio.run(play)
    servers.stop(server)


def in_process(address, script, **options):
    """Runs the script of a model at an MCP server in this process."""

    async def run():
        async with Client(make_server(address, **options)) as client:
            await script(Model(client))

    anyio.run(run)


def test_a_brief_answer_keeps_to_its_bound_and_leads_to_every_action(shared_server):
    async def play(model, game, number):
        rng = seeded("brief", game, number)
        text = await model.seat("create_match", game=game, opponent="random", seed=number)
        for _ in range(400 if LONG_FORM else 12):
            if not legal(text):
                break
            version, _ = legal(text)
            said = dict(re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE))
            while found := re.search(r"^\d+ more, to (\d+): .* first=(\d+)$", text, re.MULTILINE):
                text = await model.ask("view", first=int(found[2]))
                said |= dict(re.findall(r"^(\d+)\. (.+)$", text, re.MULTILINE))
            assert list(map(int, said)) == list(range(1, model.content["action_count"] + 1))
            assert "Not played" in await model.ask(
                "play", refused=True, action="x" * 300, version=version
            )
            text = await model.ask("play", action=rng.choice(list(said.values())), version=version)
        if legal(text):
            assert model.content.get("over", False) is False
            await model.ask("hint", iterations=20)
            await model.ask("resign")
        assert model.content["over"] and sum(model.content["scores"]) == 1
        await model.ask("review", iterations=100)

    async def script(model):
        model.always = {"brief": True}
        for game in PLAYED:
            for number in range(MATCHES):
                await play(model, game, number)
            assert model.largest <= BRIEF_TOKENS * 4, (game, max(model.told, key=len))

    with note_on_failure(seed="brief"):
        in_process(shared_server[1], script)


@pytest.mark.parametrize("game", PLAYED)
def test_an_answer_numbers_nothing_but_the_legal_actions(shared_server, game):
    async def script(model):
        rng = seeded("numbers", game)
        text = await model.seat("create_match", game=game, opponent="random", seed=7)
        for _ in range(15):
            if not legal(text):
                break
            before = text[: text.index("Legal actions at version")]
            assert not re.search(r"^[ #]*\d+\.? +[A-Z\d]", before, re.MULTILINE), before
            assert not re.search(r"by (the|its) number|type ", before, re.IGNORECASE), before
            text = await model.play(text, rng)

    in_process(shared_server[1], script)


def test_programs_get_the_same_as_structured_content(shared_server):
    async def script(model):
        tools = {tool.name: tool for tool in (await model.client.list_tools()).tools}
        for name in ("create_match", "view", "play", "resign", "list_games"):
            assert tools[name].output_schema["properties"]
        await model.ask("list_games")
        assert {each["id"] for each in model.content["games"]} == set(PLAYED)
        text = await model.seat("create_match", game="skystones", opponent="random", seed=1)
        assert model.content["match"] == model.match and model.content["token"] == model.token
        said = re.findall(r"^\d+\. (.+)$", text, re.MULTILINE)
        assert model.content["actions"] == said and model.content["action_count"] == len(said)
        await model.ask("play", action=2, version=model.content["version"])
        assert all(line in model.told[-1] for line in model.content["happened"])
        assert "token" not in model.content
        information = model.client.server_info
        assert information.name == "croupier" and re.match(r"\d+\.\d+", information.version)

    in_process(shared_server[1], script)


def test_games_go_by_their_titles_and_have_their_rules_in_a_tool(shared_server):
    async def script(model):
        for name in ("castle_rampage", "Castle Rampage", "castle rampage", "CastleRampage"):
            rules = await model.ask("rules", game=name)
            assert rules.startswith("Castle Rampage\n") and "Catapult" in rules
        refused = await model.ask("rules", refused=True, game="poker")
        assert "there is no game 'poker', only castle_rampage (Castle Rampage), " in refused
        await model.seat("create_match", game="PowerShot Soccer", opponent="random")
        assert model.content["action_count"]

    async def german(model):
        for name in ("Himmelssteine", "Skystones", "skystones"):
            assert (await model.ask("rules", game=name)).startswith("Himmelssteine\n")

    in_process(shared_server[1], script)
    in_process(shared_server[1], german, language="de")


def test_a_misspelt_argument_is_refused(shared_server):
    async def script(model):
        refused = await model.ask("create_match", refused=True, game="skystones", oponent="expert")
        assert "create_match has no argument 'oponent': did you mean opponent?" in refused
        assert "only game" in await model.ask("rules", refused=True, game="skystones", x=1)
        assert "only list_games, rules, " in await model.ask("creat_match", refused=True)

    in_process(shared_server[1], script)


def test_what_is_refused_says_what_is_legal(shared_server, caplog):
    async def script(model):
        refused = await model.ask("create_match", refused=True, game="chess")
        assert "there is no game 'chess', only castle_rampage" in refused
        refused = await model.ask("create_match", refused=True, game="skystones", opponent="god")
        assert "only random, beginner" in refused and 'or "invited"' in refused
        text = await model.seat("create_match", game="champion_chess", opponent="random", seed=1)
        version, numbers = legal(text)
        menu = text[text.index("Legal actions") :]
        for action in (0, -1, len(numbers) + 1, "99", "nonsense", ""):
            refused = await model.ask("play", refused=True, action=action, version=version)
            assert "Not played: " in refused and menu in refused
        refused = await model.ask("play", refused=True, action=1, version=version + 1)
        assert f"the match is at version {version}" in refused
        assert menu in refused
        words = re.search(r"^1\. (.+)$", text, re.MULTILINE)[1]
        assert f"sent the {words}" in await model.ask("play", action=words, version=version)
        assert "MATCH_NOT_OVER" in await model.ask("review", refused=True)
        assert "You resigned.\nThe match is over" in await model.ask("resign")
        assert "What made the result" in await model.ask("review", iterations=100)
        refused = await model.ask("play", refused=True, action=1, version=version)
        assert "The match is over" in refused
        for token in ("x" * 40, "x" * 1000, "é", "\n", ""):
            assert "TOKEN_INVALID" in await model.ask("view", refused=True, token=token)
        for number in ("seed", "iterations"):
            assert "less than or equal" in await model.ask("hint", refused=True, **{number: 2**64})
        assert "VERSION_IN_FUTURE" in await model.ask("view", refused=True, since=2**64 - 1)
        assert "surrogates" in await model.ask("view", refused=True, match="\ud800")

    in_process(shared_server[1], script)
    assert "Traceback" not in caplog.text


def test_players_join_by_invitation_and_see_no_token_but_their_own(shared_server):
    async def script(first):
        text = await first.seat("create_match", game="champion_chess", opponent="invited")
        assert "You have nothing to decide yet" in text
        invitation = re.search(r"invitation: (\S+)", text)[1]
        second = Model(first.client)
        text = await second.seat("join_match", invitation=invitation, name="Ada")
        assert "INVITATION_USED" in await Model(first.client).ask(
            "join_match", refused=True, invitation=invitation
        )
        assert "HINTS_NOT_ALLOWED" in await second.ask("hint", refused=True)
        version, _ = legal(text)
        waits = await second.ask("play", action=1, version=version, wait=0)
        assert "You have nothing to decide yet" in waits
        refused = await second.ask("play", refused=True, action=1, version=version)
        assert "you have nothing to decide now" in refused
        theirs = await first.ask("view")
        assert "(Ada)" in theirs
        assert first.token != second.token
        await first.ask("resign")
        assert "The match is over" in await second.ask("view", since=version)
        assert not any(first.token in text for text in second.told)
        assert not any(second.token in text for text in first.told)

    in_process(shared_server[1], script)


def test_hints_are_told_in_words(shared_server):
    async def script(model):
        text = await model.seat("create_match", game="skystones", hints="allowed", seed=3)
        hint = await model.ask("hint", iterations=100, seed=1)
        best = re.match(r"Play: (.+?) +\d+ of 100 points ", hint)[1]
        assert re.search(rf"100% +{best} +best ", hint)
        assert re.search(rf"^\d+\. {best}$", text, re.MULTILINE)
        assert hint == await model.ask("hint", iterations=100, seed=1)

    in_process(shared_server[1], script)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "croupier.mcp", raising=False)
    ended = run_command("mcp")
    assert ended.status == 1
    assert "needs mcp: pip install 'croupier-server[mcp]'" in ended.err


def test_who_must_bring_a_key_is_refused_without_one():
    async def run():
        async with Client(make_server("127.0.0.1:1", forward=True, needs_key=True)) as client:
            assert "KEY_REQUIRED: send your API key" in await Model(client).ask(
                "list_games", refused=True
            )

    anyio.run(run)


@pytest.mark.parametrize("logged", [True, False])
def test_where_a_match_began_is_told(shared_server, logged):
    async def script(model):
        with croupier.client.Client(shared_server[1]) as host:
            over = host.create_match("skystones")
            over.seats[0].resign()
            made_up = write_record(random_match("skystones", "default", seeded("made up")))
            source = {"match_token": over.spectator.token} if logged else {"record": made_up}
            seats = (croupier.client.bot("random"), INVITED)
            start = match_pb2.StartFrom(**source)
            match = host.create_match("skystones", seats, start_from=start)
        text = await model.seat("join_match", invitation=match.invitations[1])
        assert f"Played on from version 0 of {over.name if logged else made_up.name}" in text
        assert ("may be made up" in text) != logged

    in_process(shared_server[1], script)


async def beside(model, host):
    """Seats the model in a match with clocks, and returns the seat of the other player."""
    limit = croupier.client.clock(3600)
    match = host.create_match("skystones", (OPEN, INVITED), time_control=limit)
    await model.seat("join_match", invitation=match.invitations[1])
    return match.seats[0]


async def answer(model, seat, agree, **options):
    """Answers what the other player asks for in the view that the match has now."""
    return await model.ask("answer", agree=agree, version=seat.view().version, **options)


def test_a_model_answers_what_the_other_player_asks_for(shared_server):
    async def script(model):
        with croupier.client.Client(shared_server[1]) as host:
            ann = await beside(model, host)
            ann.submit(ann.view().legal_actions[0])
            ann.offer("takeback")
            assert "asks to take its last decision back" in await model.ask("view")
            version = ann.view().version
            stale = await model.ask("answer", refused=True, agree=True, version=version - 1)
            assert f"at version {version}, not {version - 1}" in stale
            assert f"answer, version={version}, agree=true" in stale
            text = await answer(model, ann, True)
            assert "asks to" not in text and legal(text)
            assert ann.view().takeback_count == 1
            ann.offer("pause")
            assert "paused. To go on: answer" in await answer(model, ann, True, brief=True)
            assert legal(await answer(model, ann, True))
            assert not ann.view().HasField("pause_end_time")
            assert "OFFER_NOT_OPEN" in await answer(model, ann, False, refused=True)

    in_process(shared_server[1], script)


def test_a_model_asks_the_other_player_for_a_takeback_or_a_pause(shared_server):
    async def script(model):
        with croupier.client.Client(shared_server[1]) as host:
            ann = await beside(model, host)
            view = ann.view()
            if 0 in view.deciders:
                ann.submit(view.legal_actions[0])
            await model.ask("view")
            version = ann.view().version
            await model.ask("play", action=1, version=version, wait=0)
            await model.ask("offer", kind="takeback", brief=True)
            assert ann.view().offer.seat == 1
            await answer(model, ann, False)  # It is withdrawn.
            assert not ann.view().HasField("offer")
            await model.ask("offer", kind="pause")
            paused = ann.answer_offer(ann.view().offer, agree=True)
            assert paused.HasField("pause_end_time")
            assert "paused. To go on: answer" in await model.ask("view")
            assert "OFFER_NOT_ALLOWED" in await model.ask("offer", refused=True, kind="pause")
            await model.ask("offer", refused=True, kind="rematch")

    in_process(shared_server[1], script)


def test_a_number_that_is_out_of_range_is_said_to_be(shared_server):
    async def script(model):
        text = await model.seat("create_match", game="skystones", opponent="random")
        count = len(legal(text)[1])
        for first in (count + 1, 10**12, 2**64 - 1):
            for brief in (True, False):
                text = await model.ask("view", first=first, brief=brief)
                assert f"There is no action {first}, only 1 to {count}." in text
        await model.ask("view", refused=True, first=10**5000)
        assert "VERSION_IN_FUTURE" in await model.ask("view", refused=True, since=10**12)

    in_process(shared_server[1], script)


def test_who_waits_lets_others_be_answered_and_the_server_end(servers, capfd):
    server, address = servers.start()

    def watchers():
        return server.metrics.registry.get_sample_value("croupier_watchers")

    async def wait(http, url, cut, **seat):
        with contextlib.suppress(httpx2.HTTPError):
            while "nothing to decide yet" in (await post(http, url, "view", **seat))[1]:
                pass  # It waits again, however slow the others come.
        cut.append(seat)

    async def run():
        with croupier.client.Client(address) as host:
            match = host.create_match("skystones", (OPEN, INVITED))
        seat, cut = {"match": match.name, "token": match.seats[0].token, "wait": 60}, []
        many = httpx2.Limits(max_connections=None)
        async with (
            httpx2.AsyncClient(timeout=None, limits=many) as http,
            anyio.create_task_group() as callers,
            serving(address, number=signal.SIGTERM) as url,
        ):
            for _ in range(100):
                callers.start_soon(functools.partial(wait, http, url, cut, **seat))
            while watchers() < 100:
                await anyio.sleep(PAUSE)
            assert "skystones: " in (await post(http, url, "list_games"))[1]
            assert not cut
        assert len(cut) == 100

    anyio.run(run)
    servers.stop(server)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]", "localhost"])
def test_on_this_machine_only_its_names_and_those_of_a_proxy_are_served(shared_server, host):
    async def run():
        options = ("--allowed-host", "play.example", "--require-key")
        async with (
            serving(shared_server[1], *options, host=host) as url,
            httpx2.AsyncClient() as http,
        ):
            port = url.split(":")[-1].removesuffix("/mcp")
            for name, served in (
                (f"{host}:{port}", True),
                (f"localhost:{port}", True),
                ("play.example", True),
                ("play.example:443", True),
                (f"evil.example:{port}", False),
                ("play.example.evil.example", False),
            ):
                http.headers["host"] = name
                status, text = await post(http, url, "list_games")
                assert status == (200 if served else 421), name
                assert ("KEY_REQUIRED" in text) == served
            http.headers |= {"host": f"{host}:{port}", "origin": "http://evil.example"}
            assert (await post(http, url, "list_games"))[0] == 403

    anyio.run(run)


def test_over_http_a_request_has_a_size_before_its_key_is_looked_at(shared_server):
    async def run():
        async with (
            serving(shared_server[1], "--require-key") as url,
            httpx2.AsyncClient() as http,
        ):
            accepted = "application/json, text/event-stream"
            headers = {"content-type": "application/json", "accept": accepted}
            large = await http.post(url, content=b" " * (65 << 10), headers=headers)
            assert large.status_code == 413
            many = {f"x-{number}": "" for number in range(101)}
            assert (await http.get(url, headers=many)).status_code == 431
            assert "KEY_REQUIRED" in (await post(http, url, "list_games"))[1]

    anyio.run(run)


def test_who_asks_for_nonsense_or_leaves_costs_the_others_no_traceback(shared_server, capfd):
    async def run():
        async with (
            serving(shared_server[1], "--require-key") as url,
            httpx2.AsyncClient() as http,
        ):
            place = urlsplit(url)
            with socket.create_connection((place.hostname, place.port)) as leaves:
                head = f"POST /mcp HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-length: 9\r\n"
                types = "content-type: application/json\r\naccept: application/json\r\n"
                leaves.sendall(f"{head}{types}\r\n{{".encode())
            message = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "x"}}
            headers = {"accept": "application/json, text/event-stream"}
            assert "Unknown prompt" in (await http.post(url, json=message, headers=headers)).text
            # Without sessions there is no stream to hold open.
            assert (await http.get(url, headers=headers)).status_code == 405
            assert "KEY_REQUIRED" in (await post(http, url, "list_games"))[1]

    anyio.run(run)
    said = capfd.readouterr().err
    assert "Unknown prompt" in said and "Traceback" not in said


def test_options_of_http_without_it_are_told():
    ended = run_command("mcp", "--require-key")
    assert ended.status == 2 and "belong to --http" in ended.err

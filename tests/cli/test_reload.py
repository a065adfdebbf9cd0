"""SIGHUP: a server reads its callers file and the level of its log again, while it serves."""

import hashlib
import os
import pty
import signal
import threading
from collections import Counter
from subprocess import PIPE, Popen

import pytest

from croupier.v1 import catalog_pb2, match_pb2
from tests.support.long_form import LONG_FORM
from tests.support.server_process import COMMAND, ServerProcess
from tests.support.serving import read_error, refused, ruleset_of

APPLIED, KEPT = "reload: the log level", "reload: nothing is changed"
RELOADS = 1000 if LONG_FORM else 40


def key(name, processor='"unlimited"', secret=""):
    """The entry of a key, whose secret is its name unless it has another one."""
    digest = hashlib.sha256((secret or name).encode()).hexdigest()
    return (
        f'[keys.{name}]\nsha256 = "{digest}"\n[keys.{name}.budgets]\n'
        f'calls_per_second = "unlimited"\nprocessor_milliseconds_per_second = {processor}\n'
    )


def with_key(name):
    return [("x-api-key", name)]


def list_games(client, name):
    return client.catalog.ListGames(catalog_pb2.ListGamesRequest(), metadata=with_key(name))


def create_match(client, name):
    request = match_pb2.CreateMatchRequest(ruleset=ruleset_of("skystones"))
    return client.matches.CreateMatch(request, metadata=with_key(name))


class Reloading(ServerProcess):
    """A server with a callers file and a file of options, which a test writes anew."""

    def __init__(self, folder, callers, options=""):
        self.callers, self.options = folder / "callers.toml", folder / "croupier.toml"
        self.callers.write_text(callers)
        self.options.write_text(options)
        named = ("--callers-file", str(self.callers), "--config", str(self.options))
        super().__init__("--store", "memory", *named)

    def reload(self, callers=None, options=None, expected=APPLIED):
        """Has files read again, and returns what is logged of it."""
        for file, text in ((self.callers, callers), (self.options, options)):
            if text is not None:
                file.write_text(text)
        self.forget_log()
        self._process.send_signal(signal.SIGHUP)
        self.wait_for(expected)
        return self.log


def test_a_revoked_key_is_refused_and_its_streams_end(tmp_path):
    with Reloading(tmp_path, key("one") + key("two")) as server:
        client = server.client
        created = create_match(client, "one")
        seat = [("authorization", f"Bearer {created.seat_tokens[0].token}")]
        watched = match_pb2.WatchMatchRequest(name=created.name)
        streams = [
            client.matches.WatchMatch(watched, metadata=[*with_key(name), *seat])
            for name in ("one", "two")
        ]
        for stream in streams:
            assert next(stream).version == 0
        # Another key of the same name is another key.
        server.reload(key("one", secret="a new one") + key("two"))
        assert refused(next, streams[0]).reason == "KEY_INVALID"
        assert refused(list_games, client, "one").reason == "KEY_INVALID"
        list_games(client, "a new one")
        client.matches.ResignMatch(match_pb2.ResignMatchRequest(name=created.name), metadata=seat)
        assert [each.version for each in streams[1]] == [1]


def test_what_is_used_of_a_budget_stays_used(tmp_path):
    few = key("one").replace("[keys.one.budgets]", "[keys.one.budgets]\nmatches_per_hour = 2")
    with Reloading(tmp_path, few) as server:
        create_match(server.client, "one")
        server.reload(few + key("two"))
        create_match(server.client, "one")
        server.reload(few)
        refusal = refused(create_match, server.client, "one")
        assert refusal.metadata["budget"] == "matches_per_hour"
        server.reload(few.replace("= 2", "= 4"))
        create_match(server.client, "one")


@pytest.mark.parametrize(
    ("callers", "options", "said"),
    [
        (key("one") + "[keys.two]\nsha256 = 5\n", None, "callers.toml, line 7: keys.two.sha256"),
        (key("one") + "[keys\n", None, "(at line 6, column 6)"),
        (None, 'log-level = "loud"', "log-level in"),
        (None, "log-levels = 1", "log-levels is not an option; did you mean log-level?"),
        (None, 'max-idle = "a"', "'a' is not a duration"),
        (None, 'tls-key = "key.pem"', "--tls-cert and --tls-key belong together"),
    ],
)
def test_a_bad_file_changes_nothing_and_the_log_says_where(tmp_path, callers, options, said):
    with Reloading(tmp_path, key("one", 0) + key("two")) as server:
        assert said in server.reload(callers, options, KEPT)
        assert refused(list_games, server.client, "one").reason == "BUDGET_EXHAUSTED"
        list_games(server.client, "two")
        server.callers.unlink()
        assert "callers.toml" in server.reload(options="", expected=KEPT)
        list_games(server.client, "two")
        server.reload(key("one"))
        list_games(server.client, "one")


def test_the_level_of_the_log_is_that_of_the_file_of_options(tmp_path):
    with Reloading(tmp_path, key("one")) as server:
        assert "ListGames OK" not in server.reload(options='log-level = "debug"')
        list_games(server.client, "one")
        server.wait_for("ListGames OK")
        said = server.reload(options='log-level = "error"\nmax-idle = "2h"\nweb-origin = []')
        assert "needs a restart: --max-idle\n" in said
        refused(list_games, server.client, "two")
        assert "ListGames" not in server.reload(options='log-level = "info"')


@pytest.mark.parametrize("role", ["search", "match"])
def test_servers_without_a_callers_file_take_the_level(tmp_path, role):
    options = tmp_path / "croupier.toml"
    options.write_text(f'role = "{role}"\nstore = "memory"')
    with ServerProcess("--config", str(options)) as server:
        options.write_text(f'role = "{role}"\nstore = "memory"\nlog-level = "debug"')
        server._process.send_signal(signal.SIGHUP)
        server.wait_for("reload: the log level is debug")
        server.stop()


def test_no_call_is_answered_by_a_wrong_budget_meanwhile(tmp_path):
    # One key may always call, one never, one in every second file; and half of all files are bad.
    always, never = key("always"), key("never", 0)
    files = (always + never + key("sometimes"), always + never + key("sometimes", 0))
    bad = (always + key("never") + key("sometimes") + "[keys.", key("never") + "limit = 1\n")
    ended = threading.Event()
    seen = {name: Counter() for name in ("always", "never", "gone")}

    def call(name):
        while not ended.is_set():
            seen[name][outcome(server.client, name)] += 1

    with Reloading(tmp_path, files[0]) as server:
        callers = [threading.Thread(target=call, args=(name,)) for name in seen for _ in range(2)]
        for each in callers:
            each.start()
        try:
            for number in range(RELOADS // 2):
                server.reload(files[number % 2])
                allowed = "BUDGET_EXHAUSTED" if number % 2 else "OK"
                assert outcome(server.client, "sometimes") == allowed
                server.reload(bad[number // 2 % 2], expected=KEPT)
                assert outcome(server.client, "sometimes") == allowed
        finally:
            ended.set()
            for each in callers:
                each.join()
        server.stop()
    print(RELOADS, "reloads", seen)
    assert {name: set(found) for name, found in seen.items()} == {
        "always": {"OK"},
        "never": {"BUDGET_EXHAUSTED"},
        # Those who guess keys pay as an address, whose budget may be used up.
        "gone": {"KEY_INVALID"} | set(seen["gone"]) & {"BUDGET_EXHAUSTED"},
    }


def outcome(client, name):
    try:
        list_games(client, name)
    except Exception as error:
        return read_error(error).reason
    return "OK"


def test_a_server_ends_with_its_terminal():
    master, slave = pty.openpty()
    command = [*COMMAND, "--store", "memory", "--metrics-port", "0"]
    server = Popen(command, stdin=slave, stdout=PIPE, stderr=PIPE, text=True)
    os.close(slave)
    try:
        assert "serves on" in server.stdout.readline()
        os.close(master)
        server.send_signal(signal.SIGHUP)
        assert server.wait() == 0
    finally:
        server.kill()
        server.communicate()

"""A package of a game is replaced while its matches run: they go on, or it is said why they do not.

The newer one has the same `rules_version`, and lays a state out anew, so that the hands do not lie
where they lay: what it would take from a snapshot of the older one may be another seat's cards.
"""

import shutil
import sys

import pytest

from croupier.client import Client, CroupierError, Seat
from engine.parts import load_all
from service.hosting import history
from service.hosting.matches import SNAPSHOT_EVERY
from tests.support.planted_games import build_example, environment_of, plant_example, plant_new_game
from tests.support.server_process import ServerProcess
from tests.support.stores import PostgresPlace
from tests.support.waiting import FOREVER

# By the game, a file of its package and what makes the newer one of it.
CHANGES = {
    "high_card": ("rules/rules.py", "    _fields_ = (\n", '("spare", ctypes.c_uint8 * 24),\n'),
    "gin_rummy": ("rules/state.pxd", "cdef struct GinState:", "\n    uint8_t spare[24]"),
}


def change(folder, game, file, at, more):
    path = folder / game / file
    text = path.read_text()
    assert at in text
    path.write_text(text.replace(at, at + more, 1))


@pytest.fixture(scope="module", params=CHANGES)
def packages(request, tmp_path_factory):
    """The id of a game, in plain Python and compiled, and the folders of both packages."""
    game, older = request.param, tmp_path_factory.mktemp("older")
    if game == "high_card":
        plant_new_game(older)
    else:
        plant_example(older, game)
    newer = shutil.copytree(older, tmp_path_factory.mktemp("newer") / "packages")
    change(newer, game, *CHANGES[game])
    if game != "high_card":
        build_example(newer, game)
    return game, older, newer


@pytest.fixture
def serve():
    """Starts a server of the packages in a folder on a log; returns it with a client."""
    started = []

    def serve(folder, log):
        server = ServerProcess(*log, environment=environment_of(folder))
        started.append((server, Client(server.client.address, timeout=FOREVER)))
        return started[-1]

    yield serve
    for server, client in started:
        client.close()
        server.__exit__()


class Played:
    """A match of which each step is made at the next of some servers and looked at on all."""

    def __init__(self, clients, game):
        self.clients = clients
        made = clients[0].create_match(game)
        self.name, self.tokens = made.name, [seat.token for seat in made.seats.values()]
        self.version = 0

    def seat(self, number, client):
        return Seat(client, self.name, self.tokens[number])

    def views(self):
        """The views of both seats, which all servers show alike."""
        found = [[self.seat(each, client).view() for each in (0, 1)] for client in self.clients]
        assert all(views == found[0] for views in found)
        return found[0]

    def act(self):
        """Lets a seat decide that owes it; returns whether the match goes on."""
        views = self.views()
        for number, view in enumerate(views):
            if view.legal_actions:
                client = self.clients[self.version % len(self.clients)]
                view = self.seat(number, client).submit(view.legal_actions[-1])
                self.version = view.version
                return not view.HasField("result")
        # Some hands end a match with the first decisions.
        assert all(view.HasField("result") for view in views)
        return False

    def pass_snapshot(self):
        """Goes on, with new tokens, until a snapshot is in the log, with the entry after it."""
        until = (self.version // SNAPSHOT_EVERY + 1) * SNAPSHOT_EVERY
        while self.version <= until:
            seat = self.seat(0, self.clients[self.version % len(self.clients)])
            self.tokens[0] = seat.replace_token()
            self.version += 1
        return self.views()


def sqlite_log(tmp_path):
    return "--store", "sqlite", "--data", str(tmp_path / "data")


def test_a_match_goes_on_with_the_newer_package(packages, serve, tmp_path):
    game, older, newer = packages
    installed = tmp_path / "installed"
    installed.symlink_to(older)
    server, client = serve(installed, sqlite_log(tmp_path))
    played = Played([client], game)
    for _ in range(3):
        played.act()
    for folder in (newer, older):
        # While a server runs that has loaded the other one.
        installed.unlink()
        installed.symlink_to(folder)
        before = played.pass_snapshot()
        server.kill()
        server, client = serve(installed, sqlite_log(tmp_path))
        played.clients = [client]
        assert played.views() == before
        played.act()
    while played.act():
        pass


def test_both_packages_show_a_match_alike_in_a_rolling_upgrade(packages, serve, postgres):
    game, *folders = packages
    log = ("--store", PostgresPlace(postgres).url)
    servers = [serve(folder, log) for folder in folders]
    played = Played([client for _, client in servers], game)
    for number, folder in enumerate(folders):
        played.act()
        before = played.pass_snapshot()
        # It has the match in its memory no more.
        servers[number][0].kill()
        servers[number] = serve(folder, log)
        played.clients = [client for _, client in servers]
        assert played.views() == before
    while played.act():
        pass


# In the rules of `high_card`, after a place: what leads elsewhere.
ELSEWHERE = {
    "deals another hand": ("        chance.shuffle(ranks)\n", "        ranks.reverse()\n"),
    "cannot deal": ("        chance.shuffle(ranks)\n", "        raise ZeroDivisionError\n"),
    "has no such action": ("for card in held(state.hands[seat])", "[:0]"),
    "cannot play it": ("        cards = [joint[seat][1]", " / 0"),
    "ends sooner": ("return () if state.round_count", " or state.round_count"),
}


@pytest.mark.parametrize("how", ELSEWHERE)
def test_a_match_that_is_led_elsewhere_is_refused(how, serve, tmp_path):
    plant_new_game(tmp_path)
    server, client = serve(tmp_path, sqlite_log(tmp_path))
    played, begun = (Played([client], "high_card") for _ in range(2))
    while played.version < 4:
        played.act()
    server.kill()
    change(tmp_path, "high_card", "rules/rules.py", *ELSEWHERE[how])
    server, client = serve(tmp_path, sqlite_log(tmp_path))
    for match in (played, begun) if "deal" in how else (played,):
        for seat in (0, 1):
            with pytest.raises(CroupierError) as caught:
                match.seat(seat, client).view()
            assert caught.value.reason == "RULES_CHANGED"


@pytest.mark.parametrize("archived", [False, True])
@pytest.mark.parametrize(
    "file", ["acme/rules.py", "acme/x/code.pyc", "acme/x/data", "family.py", "helper.py", "late.py"]
)
def test_every_file_of_a_game_counts_as_its_code(file, archived, tmp_path, monkeypatch):
    class Base:
        __module__ = "family"

    class Acme(Base):
        __module__ = "acme.rules.rules"

    monkeypatch.setattr(history, "games", lambda: {"acme": Acme})
    folder = tmp_path / "packages"
    (folder / "acme").mkdir(parents=True)
    (tmp_path / "linked").mkdir()
    (folder / "acme/x").symlink_to(tmp_path / "linked")
    found = set()
    for content in ("", "a = 1", "b = 1"):
        (folder / "acme/__init__.py").write_text("import helper, json\n")
        (folder / "helper.py").write_text("def help():\n    from late import a\n")
        for each in ("family.py", "late.py"):
            (folder / each).touch()
        (folder / file).write_text(content)
        place = folder
        if archived:
            copy = shutil.copytree(folder, tmp_path / f"copy {content}")
            place = shutil.make_archive(str(copy), "zip", copy)
        for module in ("acme", "family", "helper", "late"):
            monkeypatch.delitem(sys.modules, module, raising=False)
        with monkeypatch.context() as installed:
            installed.syspath_prepend(place)
            history.code_of.cache_clear()
            history._files_of.cache_clear()
            found.add(history.code_of("acme"))
    assert len(found) == 3


def test_a_package_is_loaded_as_a_whole(tmp_path, monkeypatch):
    for file in ("acme/__init__.py", "acme/x/__init__.py", "acme/x/late.py", "acme/__main__.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("assert __name__ != 'acme.__main__'\n")
    (tmp_path / "acme/broken.py").write_text("raise SystemExit\n")
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as loaded:
        for module in ("acme", "acme.x", "acme.x.late"):
            loaded.delitem(sys.modules, module, raising=False)
        load_all("acme")
        assert "acme.x.late" in sys.modules
        for module in ("acme", "acme.x", "acme.x.late"):
            del sys.modules[module]

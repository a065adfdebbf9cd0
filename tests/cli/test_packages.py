"""A package of a game that cannot be used is told in one line, or left out."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from croupier.v1 import catalog_pb2, catalog_pb2_grpc
from tests.support.planted_games import RULES, add_schema, environment_of, plant, run
from tests.support.server_process import ServerProcess

MESSAGES = "".join(
    f"message Planted{kind} {{}}\n" for kind in ("Ruleset", "Action", "Event", "View")
)
SCHEMA = f"""
syntax = "proto3";
package acme.planted.v1;
{MESSAGES}
"""


def refusal(done):
    """The one line that a command said."""
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    start = "croupier: the game planted of acme-planted 1.2 cannot be used: "
    assert line.startswith(start), line
    return line.removeprefix(start)


def test_a_game_of_a_package_is_listed_with_its_origin(tmp_path):
    add_schema(plant(tmp_path), SCHEMA)
    done = run(tmp_path, "games")
    assert done.returncode == 0, done.stderr
    assert "Kuhn poker, rules version 1, acme-planted 1.2" in done.stdout


def test_a_package_for_another_contract_is_refused(tmp_path):
    plant(tmp_path, abi=7)
    said = refusal(run(tmp_path, "games"))
    assert said == "it was made for contract 7 of a game, and this server has contract 2"


def test_a_package_that_cannot_be_imported_is_refused(tmp_path):
    plant(tmp_path, rules="import acme_missing")
    said = refusal(run(tmp_path, "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path)))
    assert said == ("it cannot be imported: ModuleNotFoundError: No module named 'acme_missing'")


def test_a_package_whose_import_takes_long_is_said_with_its_line(tmp_path):
    plant(tmp_path, rules="while True:\n    x = 1")
    program = "from engine import packages; packages.SLOW_SECONDS = 0.1; packages.games()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment_of(tmp_path)
    ) as loading:
        assert any("acme_planted/rules/rules.py" in line for line in loading.stderr)
        loading.kill()


def test_a_package_without_the_game_that_it_names_is_refused(tmp_path):
    plant(tmp_path, rules="x = 1")
    assert refusal(run(tmp_path, "games")) == (
        "acme_planted.rules.rules must have one game of this id, and has none"
    )


@pytest.mark.parametrize("name", ["German", "acme.whist", "a/b", "w" * 41])
def test_a_game_whose_id_no_request_could_name_is_refused(tmp_path, name):
    plant(tmp_path, game_id=name)
    done = run(tmp_path, "games")
    assert done.returncode == 1
    assert f"the game {name} of acme-planted 1.2 cannot be used: its id must be" in done.stderr


def test_a_game_whose_class_is_in_another_package_is_refused(tmp_path):
    rules = plant(tmp_path) / "rules/rules.py"
    rules.rename(tmp_path / "acme_rules.py")
    rules.write_text("from acme_rules import Planted")
    said = refusal(run(tmp_path, "games"))
    assert said == "its class is in acme_rules, and not in acme_planted"


def test_two_packages_with_a_game_of_one_id_are_refused(tmp_path):
    plant(tmp_path, game_id="skystones")
    done = run(tmp_path, "games")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    both = f"acme-planted 1.2 and croupier-server {version('croupier-server')}"
    assert line == (
        f"croupier: the game skystones of {both} cannot be used: they have a game of the same id"
    )


def test_a_package_without_a_schema_is_refused(tmp_path):
    plant(tmp_path)
    said = refusal(run(tmp_path, "games"))
    assert said == "it has no schema: acme_planted.api.acme_planted_pb2 is missing"


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            SCHEMA.replace("acme.planted.v1", "croupier.v1"),
            "its schema must have a package of its own, not croupier.v1",
        ),
        (
            SCHEMA.replace("PlantedEvent", "PlantedEvents"),
            "acme_planted/api/acme_planted.proto must have one message each of PlantedRuleset, "
            "PlantedAction, PlantedEvent, PlantedView",
        ),
    ],
    ids=["our package", "a missing message"],
)
def test_a_schema_that_cannot_be_used_is_refused(tmp_path, schema, said):
    add_schema(plant(tmp_path), schema)
    assert refusal(run(tmp_path, "games")) == said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("Inner inner = 1;", "View.inner.again is a PlantedView in another one"),
        ("map<string, uint32> counts = 1;", "View.counts is a map or a group, which is not served"),
        ("google.protobuf.Any any = 1;", "View.any is an Any, which is not served"),
        (
            'string word = 1 [(buf.validate.field).cel = {id: "x", expression: "this +"}];',
            "the constraints of PlantedView cannot be checked: ",
        ),
    ],
    ids=["recursion", "map", "any", "constraint"],
)
def test_a_schema_with_a_field_that_cannot_be_served_is_refused(tmp_path, fields, said):
    start, imports = "package acme.planted.v1;", ("google/protobuf/any", "buf/validate/validate")
    schema = SCHEMA.replace(start, start + "".join(f'import "{each}.proto";' for each in imports))
    schema = schema.replace(
        "View {}", f"View {{ {fields} }} message Inner {{ PlantedView again = 1; }}"
    )
    add_schema(plant(tmp_path), schema)
    assert said in refusal(run(tmp_path, "games"))


def test_a_schema_that_defines_a_message_of_ours_is_refused(tmp_path):
    schema = SCHEMA.replace("acme.planted.v1", "croupier.v1") + "message Ruleset {}\n"
    add_schema(plant(tmp_path), schema)
    said = refusal(run(tmp_path, "games"))
    assert said.startswith("its schema cannot be used: ")
    assert "croupier.v1.Ruleset" in said


def test_a_broken_package_can_be_left_out(tmp_path):
    plant(tmp_path, abi=7)
    done = run(tmp_path, "games", CROUPIER_SKIP_BROKEN_GAMES="true")
    assert done.returncode == 0
    assert "Skystones" in done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("left out: the game planted of acme-planted 1.2 cannot be used: ")


def test_a_module_that_no_server_needs_keeps_none_from_starting(tmp_path):
    package = plant(tmp_path)
    add_schema(package, SCHEMA)
    (package / "tests").mkdir()
    skips = "class Skipped(BaseException): pass\nraise Skipped"  # As pytest.importorskip does.
    for place in ("tests/__init__.py", "tests/test_rules.py", "extra.py"):
        (package / place).write_text(skips)
    done = run(tmp_path, "games")
    assert (done.returncode, done.stderr) == (0, "")
    assert "acme-planted 1.2" in done.stdout


SILENT = """
class Silent(Exception):
    def __str__(self):
        raise SystemExit(5)

raise Silent
"""


def test_a_module_whose_error_has_no_words_is_refused_or_left_out(tmp_path):
    add_schema(plant(tmp_path, rules=SILENT), SCHEMA)
    assert refusal(run(tmp_path, "games")).endswith("Silent: SystemExit")
    done = run(tmp_path, "games", CROUPIER_SKIP_BROKEN_GAMES="true")
    assert done.returncode == 0 and "Skystones" in done.stdout


NAMELESS = RULES.replace("abi =", "title = 5\n        abi =")


def test_a_game_that_cannot_be_described_is_refused_or_left_out(tmp_path):
    add_schema(plant(tmp_path, rules=NAMELESS.format(id="planted", abi=2, reference=False)), SCHEMA)
    assert refusal(run(tmp_path, "games")).startswith("it cannot be described: TypeError: ")
    done = run(tmp_path, "games", CROUPIER_SKIP_BROKEN_GAMES="true")
    assert done.returncode == 0
    assert "Skystones" in done.stdout and "planted" not in done.stdout
    assert done.stderr.startswith("left out: the game planted of acme-planted 1.2 cannot be used: ")


def test_a_server_goes_without_a_game_whose_texts_or_files_cannot_be_read(tmp_path):
    package = plant(tmp_path)
    add_schema(package, SCHEMA)
    options = ("--store", "memory", "--web", "127.0.0.1:0", "--skip-broken-games")
    for path in (package / "de.toml", Path(os.fsdecode(bytes(package) + b"/\xff"))):
        path.write_text("rules = ")
        with ServerProcess(*options, environment=environment_of(tmp_path)) as server:
            found = catalog_pb2_grpc.CatalogServiceStub(server.client.channel).ListGames(
                catalog_pb2.ListGamesRequest()
            )
            names = [each.name for each in found.games]
            assert "games/skystones" in names and "games/planted" not in names
            server.stop()
            assert "left out: the game planted of acme-planted 1.2 cannot be used" in server.log
        path.unlink()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["class"], "class means something else in Python"),
        (["json"], "json means something else in Python"),
        (["engine"], "engine means something else in Python"),
        (["skystones"], "there is a game skystones already"),
        (["whist", "--title", 'The "best"'], "is no title"),
        (["whist", "--title", "a\\"], "is no title"),
        (["whist", "--title", "a\nb"], "is no title"),
        (["whist", "--title", " "], "is no title"),
    ],
)
def test_a_name_or_a_title_with_which_no_package_works_is_refused(tmp_path, words, said):
    folder = tmp_path / "new"
    done = run(tmp_path, "new-game", *words, "--output", str(folder))
    assert said in done.stderr
    assert done.returncode in (1, 2)
    assert not folder.exists()

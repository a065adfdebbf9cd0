"""The commands and programs of the docs do what they say: every block that is not marked is run."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.gateway.listener import WebOptions
from tests.support.long_form import LONG_FORM
from tests.support.ports import free_port

ROOT = Path(__file__).parents[1]
# What the blocks of a page print, besides ending well.
PRINTED = {
    ("docs/adapters.md", "python"): [
        r"the score of seat_\d as a reward: [+-]\d",
        r"\['check', 'bet'\] Discrete\(4\)",
        r"NashConv 0\.\d+\n",
        r"\[-?[01](\.[05])?,? -?[01](\.[05])?\]",
    ],
    ("docs/clients.md", "sh"): [
        r"games/skystones",
        r"croupier\.v1\.MatchService",
        r'"final_report":true',
        r"Code: A(BORTED|borted)\n  Message: the match is at version",
        r"grpcurl ended with 74",
    ],
    ("docs/clients.md", "python"): [
        r"the secret fits its hash: True",
        r"dealt: False\ndealt: True",
        r"INVITATION_USED",
    ],
    ("docs/debugging.md", "sh"): [
        r"croupier_searches_waiting",
        r"x-request-id: my-call",
        r'"searchTime":"\d',
        r"true: matches/",
        r'\{"event":\{"',  # Of any match: the pages share a server.
    ],
    ("docs/debugging.md", "python"): [
        r"the same hint again: True\nthe same action here: True\n",
    ],
    ("docs/web.md", "sh"): [
        r"games/skystones",
        r'"code": "invalid_argument"',
        r"curl ended with 22",
        r'"finalReport":true',
        r'"scores":',
        r'\{"code":"failed_precondition".*\}\n$',  # The match is over.
    ],
}


# The short form plays a shorter match there, with few cards: each decision takes ten processes.
FEW_CARDS = """{"skystones": {"boardSize": 2, "handSize": 2, "handLimit": 99, "cards": [
  {"element": "SKYSTONES_ELEMENT_FIRE", "copies": 4},
  {"element": "SKYSTONES_ELEMENT_WATER", "copies": 4, "north": 1, "east": 2}
]}}"""
SHORTER = {
    "docs/web.md": (('{"skystones": {}}', FEW_CARDS), ('iterations: "2000"', 'iterations: "200"')),
}


def _load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


list_modules = _load("list_modules")
check_docs = _load("check_docs")


def _programs(page):
    """The shell script and the Python program of all blocks of a page that are to be run."""
    run = [block for block in check_docs.blocks(page) if not block.marked]
    return {
        language: "\n".join(block.text for block in run if block.language == language)
        for language in check_docs.RUN
    }


PAGES = [
    pytest.param(page, language, program, id=f"{page.relative_to(ROOT)}-{language}")
    for page in check_docs.pages(ROOT)
    for language, program in _programs(page).items()
    if program
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder that looks like the checkout, into which commands may write files."""
    folder = tmp_path_factory.mktemp("docs")
    for each in ROOT.iterdir():
        if each.name not in ("build", "schemas"):
            (folder / each.name).symlink_to(each)
    return folder


@pytest.fixture(scope="module")
def addresses(servers, folder):
    """The server that the docs speak of, as the addresses that they name and those that it has."""
    token = folder / "operator-token"
    token.write_text("a-word-of-at-least-thirty-two-characters")
    metrics_port = free_port()
    server, address = servers.start(
        web=WebOptions(port=0),
        search_threads=2,
        operator_token_file=token,
        metrics_port=metrics_port,
    )
    yield {
        "http://127.0.0.1:8080": server.web_url.rstrip("/"),
        "http://127.0.0.1:9464": f"http://127.0.0.1:{metrics_port}",
        "127.0.0.1:50051": address,
    }
    servers.stop(server)


@pytest.fixture(scope="module")
def path(addresses, tmp_path_factory):
    """A PATH on which `croupier` calls the server, and grpcurl is there."""
    programs = tmp_path_factory.mktemp("bin")
    croupier = programs / "croupier"
    croupier.write_text(f"""#!/bin/sh
command="$1"; shift
case "$command" in
play|games|health|export) set -- --server {addresses["127.0.0.1:50051"]} "$@" ;;
esac
exec {sys.executable} -m cli "$command" "$@"
""")
    croupier.chmod(0o755)
    if not shutil.which("grpcurl"):
        grpcurl = programs / "grpcurl"
        grpcurl.write_text(
            f'#!/bin/sh\nexec {sys.executable} {ROOT}/tests/support/grpcurl.py "$@"\n'
        )
        grpcurl.chmod(0o755)
    return f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(("page", "language", "program"), PAGES)
def test_the_commands_of_a_page(page, language, program, folder, addresses, path):
    for written, real in addresses.items():
        program = program.replace(written, real)
    program = program.replace(".venv/bin/", "")
    for written, shorter in () if LONG_FORM else SHORTER.get(str(page.relative_to(ROOT)), ()):
        assert written in program
        program = program.replace(written, shorter)
    start = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[language]
    done = subprocess.run(
        [*start, program],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    expected = PRINTED.get((str(page.relative_to(ROOT)), language), [])
    printed = done.stderr + done.stdout
    assert [each for each in expected if not re.search(each, printed)] == [], printed


@pytest.fixture
def checkout(tmp_path):
    """A small checkout without a fault."""
    files = {
        "docs/architecture.md": "## Layers\n\n`docs/`, `engine/`, `games/`, `games/*/`, `web/`\n",
        "engine/match.py": '"""A match."""\n',
        "games/poker/state.pxd": '# Sizes.\n"""The state of poker."""\n',
        "web/README.md": "# Web\n",
        "web/src/calls.ts": "// The calls.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)

    assert check_docs.check(tmp_path) == []
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("engine/clocks.py", "import time\n"),
        ("games/poker/rules.pyx", '""""""\ncdef int one = 1\n'),
        ("web/src/errors.ts", 'import { t } from "./i18n";\n// What was refused.\n'),
    ],
)
def test_a_module_that_does_not_say_what_it_holds_is_found(checkout, name, text):
    (checkout / name).write_text(text)
    assert check_docs.check(checkout) == [f"{name}: its first line does not say what it holds"]


@pytest.mark.parametrize("name", ["ai/search.py", "games/poker/old/rules.pyx", "lab/notes.txt"])
def test_a_folder_that_no_layer_names_is_found(checkout, name):
    (checkout / name).parent.mkdir()
    (checkout / name).write_text('"""A module."""\n')
    missing = Path(name).parent
    assert check_docs.check(checkout) == [
        f"docs/architecture.md: its layers do not name the folder {missing}/"
    ]


def test_the_list_of_modules_has_their_first_sentences(checkout):
    sources = list_modules.sources(checkout)
    assert {str(path): list_modules.first_sentence(checkout / path) for path in sources} == {
        "engine/match.py": "A match.",
        "games/poker/state.pxd": "The state of poker.",
        "web/src/calls.ts": "The calls.",
    }

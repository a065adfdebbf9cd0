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

ROOT = Path(__file__).parents[1]
END = 120
# What the blocks of a page print, besides ending well.
PRINTED = {
    ("docs/first-session.md", "sh"): [
        r"games/skystones",
        r"croupier\.v1\.MatchService",
        r'"final_report":true',
        r"Code: A(BORTED|borted)\n  Message: the match is at version",
        r"grpcurl ended with 74",
    ],
    ("docs/first-session.md", "python"): [
        r"the secret fits its hash: True",
        r"dealt: False\ndealt: True",
        r"INVITATION_USED",
    ],
    ("docs/web.md", "sh"): [
        r"games/skystones",
        r'"code": "invalid_argument"',
        r"curl ended with 22",
        r'"finalReport":true',
        r'"scores":',
        r'\{"code":"failed_precondition".*\}\n$',  # The match is over.
    ],
    ("docs/writing-a-client.md", "sh"): [r'"scores":', r'"google.rpc.ErrorInfo"'],
}


def _load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


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
    server, address = servers.start(
        web=WebOptions(port=0), search_threads=2, operator_token_file=token
    )
    yield {"http://127.0.0.1:8080": server.web_url.rstrip("/"), "127.0.0.1:50051": address}
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
    start = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[language]
    done = subprocess.run(
        [*start, program],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=END,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    expected = PRINTED.get((str(page.relative_to(ROOT)), language), [])
    printed = done.stderr + done.stdout
    assert [each for each in expected if not re.search(each, printed)] == [], printed

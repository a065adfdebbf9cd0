"""The adapters for other libraries: no server imports them, and they say what is missing."""

import subprocess
import sys

import pytest

# The library that each needs.
ADAPTERS = {"croupier.mcp": "mcp"}
ADAPTERS |= {"adapters.openspiel": "pyspiel", "adapters.pettingzoo": "pettingzoo"}


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_server_imports_no_adapter():
    code = """if True:
        import sys
        import cli.serve, service.running.search_process, service.running.server
        print(*sys.modules)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "service.api.match_service" in loaded
    assert not loaded & {*ADAPTERS, *ADAPTERS.values()}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_adapter_names_the_extra_that_is_missing(adapter):
    library = ADAPTERS[adapter]
    done = python(f"import sys; sys.modules[{library!r}] = None; import {adapter}")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == (
        f"ModuleNotFoundError: {adapter} needs {library}:"
        f" pip install 'croupier-server[{adapter.rpartition('.')[2]}]'"
    )

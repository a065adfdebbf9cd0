"""The options of the server: three sources with one precedence, refusals, and what is printed."""

import argparse
import os
import re
import runpy
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import tomlkit

from cli.configuration import ConfiguredParser
from cli.server_options import add_options, read_options
from service.listening.connections import ConnectionLimits
from service.running.server import Options
from tests.support.commands import croupier

ROOT = Path(__file__).parents[2]
# Three values of each kind, for a file, a variable and a flag.
VALUES = {
    "DIR": ("a", "b", "c"),
    "DURATION": ("1d", "2h", "3m"),
    "SIZE": ("16M", "300M", "2G"),
    "FILE": ("a.pem", "b.pem", "c.pem"),
    "HOST": ("a.example", "b.example", "c.example"),
    "HOST:PORT": ("a:1", "b:2", "c:3"),
    "N": (2, 3, 4),
    "NAME": ("a.example", "b.example", "c.example"),
    "ORIGIN": ("https://a.example", "https://b.example", "https://c.example"),
    "PORT": (1, 2, 3),
    "SECONDS": (1, 2, 3),
    "TARGET": ("dns:///a", "dns:///b", "dns:///c"),
    "WHERE": ("memory", "postgresql://b", "postgres://c"),
}


def options():
    parser = ConfiguredParser()
    add_options(parser)
    return parser


OPTIONS = options().options


def read(arguments=(), environment=(), file=None):
    """The options in force, and a function that tells their sources."""
    parser = options()
    environment = dict(environment)
    if file is not None:
        environment["CROUPIER_CONFIG"] = str(file)
    chosen, unknown = parser.parse_known_args([*arguments], env_vars=environment)
    assert not unknown
    return chosen, parser.source


def values(option):
    if isinstance(option.action, argparse.BooleanOptionalAction):
        return (not option.action.default, option.action.default, not option.action.default)
    if option.action.choices:
        others = [each for each in option.action.choices if each != option.action.default]
        return others[0], option.action.default, others[-1]
    return VALUES[option.action.metavar]


def taken(option, value):
    value = value if isinstance(value, bool) else (option.action.type or str)(str(value))
    return [value] if isinstance(option.action.default, list) else value


def flags(option, value):
    if isinstance(value, bool):
        return [option.action.option_strings[not value]]
    return [option.flag, str(value)]


def written(path, key, value):
    path.write_text(tomlkit.dumps({key: value}))
    return path


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_a_flag_goes_before_the_environment_and_that_before_the_file(tmp_path, option):
    low, middle, high = values(option)
    file = written(tmp_path / "croupier.toml", option.key, low)
    environment = {option.variable: str(middle)}
    for arguments, given_environment, given_file, value, source in (
        ((), {}, file, low, f"{option.key} in {file}"),
        ((), environment, file, middle, f"environment variable {option.variable}"),
        (flags(option, high), environment, file, high, "flag"),
        (flags(option, high), {}, file, high, "flag"),
        (flags(option, high), environment, None, high, "flag"),
        ((), {option.variable: ""}, file, low, f"{option.key} in {file}"),
    ):
        chosen, source_of = read(arguments, given_environment, given_file)
        assert getattr(chosen, option.action.dest) == taken(option, value)
        assert source_of(option) == source
    default, source_of = read()
    assert source_of(option) == "default"
    if not isinstance(option.action.default, bool):
        assert getattr(default, option.action.dest) not in [taken(option, v) for v in (low, high)]


def test_lists_come_from_each_source_and_are_not_joined(tmp_path):
    file = written(tmp_path / "croupier.toml", "web-host", ["a", "b"])
    assert read((), {}, file)[0].web_host == ["a", "b"]
    variable = {"CROUPIER_WEB_HOST": '["c", "d,e"]'}
    assert read((), variable, file)[0].web_host == ["c", "d,e"]
    both = ("--web-host", "f", "--web-host", "g")
    assert read(both, variable, file)[0].web_host == ["f", "g"]
    assert read((), {}, written(file, "web-host", []))[0].web_host == []


@pytest.mark.parametrize("word", ["true", "True", "on", "1", "false", "off", "no", "0"])
def test_a_boolean_option_has_words_in_the_environment(word):
    chosen, _ = read((), {"CROUPIER_ALLOW_SEEDS": word})
    assert chosen.allow_seeds is (word.lower() in ("true", "on", "1"))


def test_defaults_that_the_server_has_too_are_the_same():
    found = read_options(read()[0])
    ours = Options()
    assert found.connections == ConnectionLimits()
    for name in ("host", "port", "end_idle", "max_search_seconds", "searches_running", "tls"):
        assert getattr(found, name) == getattr(ours, name)


@pytest.mark.parametrize(
    ("name", "wrong", "rule"),
    [
        ("metrics-port", "x", "'x' is not a port: 0 to 65535"),
        ("listen", "nowhere", "'nowhere' is not HOST:PORT"),
        ("end-idle", "5y", "'5y' is not a duration: 90d, 12h, 30m or 45s"),
        ("max-streams", "0", "'0' is not a whole number"),
        ("store", "mysql://me:word@db", "'mysql:...' is no store"),
        ("web-origin", "a.example", "'a.example' is not an origin"),
        ("log-level", "loud", "invalid choice: 'loud'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_source_and_the_rule(
    tmp_path, monkeypatch, name, wrong, rule
):
    variable = "CROUPIER_" + name.upper().replace("-", "_")
    file = written(tmp_path / "croupier.toml", name, wrong)

    def refused(*arguments, **environment):
        with monkeypatch.context() as patch:
            for key, value in environment.items():
                patch.setenv(key, value)
            ended = croupier("serve", *arguments)
        assert (ended.status, ended.out) == (2, "")
        assert ":word@" not in ended.err
        said = ended.err.splitlines()[-1]
        assert said.startswith(f"croupier serve: error: argument --{name}: {rule}"), said
        return said

    assert "croupier.toml" not in refused(f"--{name}", wrong)
    assert refused(**{variable: wrong}).endswith(f" (environment variable {variable})")
    assert refused("--config", str(file)).endswith(f" ({name} in {file})")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("metric-port = 1", "metric-port is not an option; did you mean metrics-port?"),
        ('"--listen" = "a:1"', "--listen is not an option; did you mean listen?"),
        ('config = "other.toml"', "config is not an option"),
        ("help = true", "help is not an option"),
        ("no-allow-seeds = true", "no-allow-seeds is not an option; did you mean allow-seeds?"),
        ("[data]", "[data] is a table, and no option is one"),
        ("listen = =", "Invalid value (at line 1, column 10)"),
        ('listen = ["a:1"]', "argument --listen: it takes one value, not a list (listen in "),
        ("allow-seeds = 'maybe'", "'maybe' is neither true nor false (allow-seeds in "),
        ("allow-seeds = [true]", "['True'] is neither true nor false (allow-seeds in "),
        ("metrics-port = true", "'True' is not a port: 0 to 65535 (metrics-port in "),
        ("web-origin = ['x']", "'x' is not an origin"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, said):
    file = tmp_path / "croupier.toml"
    file.write_text(text)
    ended = croupier("serve", "--config", file)
    assert ended.status == 2
    (line,) = ended.err.splitlines()[1:]
    assert said in line
    assert str(file) in line


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name):
    ended = croupier("serve", "--config", tmp_path / name)
    assert ended.status == 2
    assert f"Unable to open config file: {tmp_path / name}" in ended.err


def test_an_empty_list_in_the_environment_is_refused(monkeypatch):
    monkeypatch.setenv("CROUPIER_WEB_HOST", "[]")
    assert "an empty list: leave the variable out" in croupier("serve").err


def config(*arguments):
    ended = croupier("config", *arguments)
    assert ended.status == 0, ended.err
    return ended.out


def test_config_prints_each_option_with_its_source(tmp_path, monkeypatch):
    file = written(tmp_path / "croupier.toml", "max-streams", 7)
    monkeypatch.setenv("CROUPIER_WEB_HOST", '["a", "b"]')
    lines = config("--config", file, "--allow-seeds", "--max-age", "1d").splitlines()
    for line in (
        "# connections",
        f"max-streams = 7 # max-streams in {file}",
        'max-age = "1d" # flag',
        'max-idle = "15m" # default',
        'web-host = ["a", "b"] # environment variable CROUPIER_WEB_HOST',
        "allow-seeds = true # flag",
        "# retain-finished: never",
    ):
        assert line in lines
    named = [
        option.key
        for option in OPTIONS
        if re.search(rf"^(# )?{option.key}( =|:)", "\n".join(lines), re.M)
    ]
    assert named == [option.key for option in OPTIONS]


def test_the_output_of_config_is_a_file_with_the_same_options(tmp_path, monkeypatch):
    for option in OPTIONS:
        _, value, _ = values(option)
        monkeypatch.setenv(option.variable, str(value))
    file = tmp_path / "croupier.toml"
    file.write_text(config())
    assert set(tomllib.loads(file.read_text())) == {option.key for option in OPTIONS}
    one = read_options(read((), dict(os.environ))[0])
    assert read_options(read((), {}, file)[0]) == one != read_options(read()[0])
    for option in OPTIONS:
        monkeypatch.delenv(option.variable)
    file.write_text(config())
    assert read_options(read((), {}, file)[0]) == read_options(read()[0])


def test_a_folder_of_many_digits_is_no_number():
    digits = 5000 * "9"
    assert tomllib.loads(config("--data", digits))["data"] == digits


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:word@db/cards", "postgresql://me@db/cards"),
        ("postgresql://me:wo%40rd@one:1,two:2/", "postgresql://me@one:1,two:2/"),
        ("postgresql://db/cards?user=me&password=word", "postgresql://db/cards?user=me"),
        ("postgres://:word@db/?sslpassword=x&sslmode=require", "postgres://@db/?sslmode=require"),
        ("postgresql://me@h/d?PASSWORD=w&a=b&amp;password=w", "postgresql://me@h/d"),
        ("postgresql://password@password/word", "postgresql://password@password/word"),
    ],
)
def test_config_leaves_passwords_out(url, shown):
    store = tomllib.loads(printed := config("--store", url))["store"]
    assert store == shown
    assert ("; the password is left out" in printed) == (shown != url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:qz/xq@db/cards",
        "postgresql://me:qz#xq@db/cards",
        "postgresql://me:qz@xq@db/cards",
        "postgresql://me:qz?xq@db/cards",
        "postgresql://me:qz xq@db/cards",
        "postgresql://me:qzxq/cards",
        "postgresql://me:qzxq@[db/cards",
        "postgresql:/me:qzxq@db/cards",
        "Postgres://me:qzxq@db/cards",
        "mysql://me:qzxq@db/cards",
        "host=db password=qzxq",
    ],
)
def test_a_url_that_is_none_is_refused_and_not_shown(url):
    for command in ("config", "serve"):
        ended = croupier(command, "--store", url)
        assert ended.status == 2
        assert "argument --store" in ended.err
        assert "qz" not in ended.err
        assert "xq" not in ended.err


def test_config_refuses_what_serve_refuses():
    ended = croupier("config", "--tls-key", "key.pem")
    assert ended.status == 2
    assert "--tls-cert and --tls-key belong together" in ended.err


def test_an_abbreviated_flag_is_refused():
    # It would not be seen to go before the variable.
    ended = croupier("serve", "--metrics-p", "1")
    assert ended.status == 2
    assert "unrecognized arguments: --metrics-p" in ended.err


def test_the_help_names_each_variable():
    words = " ".join(croupier("serve", "--help").out.split())
    for option in OPTIONS:
        assert f"[env var: {option.variable}]" in words
    assert "[env var: CROUPIER_CONFIG]" in words


def test_a_server_has_its_options_from_everywhere_and_warns_of_unknown_variables(tmp_path):
    file = tmp_path / "croupier.toml"
    file.write_text(
        'metrics-port = 0\nlisten = "nowhere:1"\nstore = "memory"\nsearch-processes = 0\n'
    )
    environment = {
        "CROUPIER_CONFIG": str(file),
        "CROUPIER_LISTEN": "127.0.0.1:0",
        "CROUPIER_METRIC_PORT": "1",
        "TEST_MATCHES": "1",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "cli", "serve", "--web", "off"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout.readline().startswith("croupier serves on 127.0.0.1:")
        assert server.stdout.readline().startswith("gRPC alone at 127.0.0.1:")
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate()
    finally:
        server.kill()
    assert server.returncode == 0
    (line,) = [line for line in log.splitlines() if "WARNING" in line]
    assert line.endswith(
        "WARNING cli.serve: the environment variable CROUPIER_METRIC_PORT is not an option; did "
        "you mean CROUPIER_METRICS_PORT?"
    )


def test_the_first_lines_of_a_server_say_which_port_is_which():
    options = ("--store=memory", "--metrics-port=0", "--search-processes=0")
    at = ("--listen=127.0.0.1:0", "--web=127.0.0.1:0")
    server = subprocess.Popen(
        [sys.executable, "-m", "cli", "serve", *options, *at], stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().split()[-1]
        url = server.stdout.readline().split()[-1]
        told = server.stdout.readline()
    finally:
        server.terminate()
        server.communicate()
    assert told == f"gRPC at {address}; JSON, Connect and gRPC-Web at {url}\n"


def test_the_table_in_the_docs_is_checked(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["write_options.py", "--check", "--page", str(page)])
    write_options = runpy.run_path(str(ROOT / "scripts/write_options.py"))
    text = (ROOT / "docs/configuration.md").read_text()
    page.write_text(text)
    assert write_options["main"]() == 0
    for changed, said in ((text.replace("| 9464 |", "| 9465 |"), "not current"), ("", "no place")):
        page.write_text(changed)
        with pytest.raises(SystemExit, match=said):
            write_options["main"]()
        assert page.read_text() == changed

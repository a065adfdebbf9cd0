"""What a command does where its surroundings fail it: pipes, folders, disks, signals, servers."""

import os
import re
import resource
import signal
import subprocess
import sys
import urllib.request

import pytest

from cli import record_files
from service.hosting.records import write_record
from tests.support.play import seeded
from tests.support.ports import free_port
from tests.support.random_matches import random_match
from tests.support.waiting import wait_until

COMMAND = [sys.executable, "-m", "cli"]
NOWHERE = "127.0.0.1:9"


PLAY = [sys.executable, "-c", "from croupier.terminal.main import main; main()"]


def run(*words, command=COMMAND, **options):
    options = {"stdin": subprocess.DEVNULL, **options}
    return subprocess.run([*command, *words], stderr=subprocess.PIPE, text=True, **options)


def at(server):
    return "--server", server[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["export", "--all", "--output", "/dev/null/x", "--operator-token-file", "x"], "/dev/null"),
        (["schema", "--output", "/proc/none"], "/proc/none"),
        (["games", "--server", NOWHERE], f"{NOWHERE}: UNAVAILABLE"),
        (["load", "--server", NOWHERE, "--api-key", "sch\u00f6n"], "the API key has characters"),
        (["mcp", "--server", NOWHERE, "--api-key", "a\nb"], "the API key has characters"),
        (["export", "--all", "--output", "{file}", "--operator-token-file", "{file}"], "no folder"),
        (["verify", "x" * 5000], f" '{'x' * 199}...\n"),
        (["health", "--tls-ca", "/dev/zero"], "/dev/zero has more than 4096 KiB"),
        (["puzzles", "--check", "/dev/zero"], "/dev/zero has more than 65536 KiB"),
    ],
)
def test_what_is_missing_is_said_in_a_line(tmp_path, words, said):
    file = tmp_path / "file"
    file.write_text("A" * 43)
    done = run(*(each.format(file=file) for each in words), stdout=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.startswith("croupier: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [[*COMMAND, "play"], PLAY], ids=len)
def test_an_address_or_a_key_that_is_none_is_said_in_a_line(command):
    for words, said in (
        (["--server", "http://localhost:8080"], "give HOST:PORT, without http://"),
        (["--server", "localhost:99999"], "99999 is not a port"),
        (["--server", NOWHERE, "--api-key", "sch\u00f6n"], "the API key has characters"),
    ):
        done = run("skystones", *words, command=command, stdout=subprocess.PIPE)
        assert said in done.stderr
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--listen", "{word}"],
        ["play", "skystones", "--server", "{word}"],
        ["load", "--matches", "{word}"],
        ["{word}"],
    ],
)
@pytest.mark.parametrize(
    ("word", "repeated"),
    [("x" * 5000, "x" * 150), ("postgresql://me:hidden@there/matches", "there/matches")],
)
def test_a_wrong_argument_is_repeated_in_short_and_without_its_password(words, word, repeated):
    done = run(*(each.format(word=word) for each in words), stdout=subprocess.PIPE)
    assert done.returncode
    assert repeated in done.stderr
    assert "hidden" not in done.stderr
    assert len(done.stderr.splitlines()[-1]) < 500


@pytest.mark.parametrize("name", ["games", "play", "verify"])
def test_a_full_disk_is_said_in_a_line(shared_server, tmp_path, name):
    record = write_record(random_match("champion_chess", "default", seeded("full")))
    words = [*COMMAND, "verify", record_files.write(record, tmp_path, "json")]
    if name != "verify":
        command = [*COMMAND, name] if name == "games" else [*PLAY, "champion_chess", "--no-save"]
        words = [*command, *at(shared_server)]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}  # Else nothing is left for the end.
    with open("/dev/full", "w") as full:
        done = run(command=words, stdout=full, env=environment)
        assert re.fullmatch(r"croupier.*: \[Errno 28\] No space left on device\n", done.stderr)
        assert done.returncode == 1
        assert run(command=[*words, "--help"], stdout=full, env=environment).returncode == 1


BRIEF_ARENA = "arena --game kuhn_poker --games 2 --workers 1 random random --json"
FIND = "puzzles --self-play skystones --puzzles 1 --iterations 400 --seed 1 --workers 1"
BRIEF_PUZZLES = f"{FIND} --output"


@pytest.mark.parametrize(
    "words",
    [
        "schema --descriptor-set {}/file",
        "schema --output {}",
        f"{BRIEF_ARENA} {{}}/file",
        f"{BRIEF_PUZZLES} {{}}/file",
        "balance kuhn_poker --matches 1 --player random --workers 1 --folder {}",
        "new-game german_whist --output {}/new",
    ],
)
def test_a_file_that_the_disk_does_not_take_is_named_and_not_there_in_part(tmp_path, words):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))

    before = tmp_path / "file"
    before.write_text("before")
    # Python and git would write files of their own in part.
    apart = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_DIR": os.devnull}
    options = {"preexec_fn": limit, "env": {**os.environ, **apart}}
    done = run(*words.format(tmp_path).split(), stdout=subprocess.PIPE, **options)
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(rf"croupier: \[Errno 27\] File too large: '{tmp_path}.+'", last)
    assert done.returncode == 1
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"]
    assert files == [before]
    assert before.read_text() == "before"


@pytest.mark.parametrize("words", [BRIEF_ARENA, BRIEF_PUZZLES])
def test_a_file_that_cannot_be_written_is_said_before_the_work(tmp_path, words):
    for path, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "file", "is in no folder"),
        ("/proc/file", "'/proc' cannot be written"),
    ):
        done = run(*words.split(), str(path), stdout=subprocess.PIPE)
        assert said in done.stderr
        assert done.returncode == 2


def test_a_result_goes_to_a_pipe_or_behind_a_link(tmp_path):
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    for path in (link, "/dev/stdout"):
        done = run(*BRIEF_ARENA.split(), str(path), stdout=subprocess.PIPE)
        assert done.returncode == 0
    assert file.read_text().partition("\n")[2].splitlines()[0] in done.stdout
    assert link.is_symlink()


@pytest.mark.parametrize("command", [[*COMMAND, "play"], PLAY], ids=len)
def test_a_player_without_standard_streams_leaves(shared_server, tmp_path, command):
    words = (*command, "champion_chess", *at(shared_server), "--no-save")
    shell = ["sh", "-c", 'exec "$@" <&- >&-', "", *words]
    assert run(command=shell).stderr == ""
    # What is said to nobody is not said elsewhere.
    shell[2] = 'exec "$@" 2>&-'
    done = run("--server", NOWHERE, command=shell, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_reader_that_has_enough_ends_a_command_in_silence():
    reading, writing = os.pipe()
    os.close(reading)
    done = run("games", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_interrupt_ends_a_command_in_silence(tmp_path):
    """It waits for a record from a pipe that nobody writes to, or for a request."""
    pipe = tmp_path / "record.json"
    os.mkfifo(pipe)
    command = subprocess.Popen([*COMMAND, "verify", pipe], stderr=subprocess.PIPE, text=True)
    with pipe.open("w"):  # Returns once the command reads it.
        command.send_signal(signal.SIGINT)
        assert command.communicate()[1] == ""
    assert command.returncode == 130
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = subprocess.Popen([*COMMAND, "mcp", "--server", NOWHERE], text=True, **streams)
    print('{"jsonrpc": "2.0", "id": 1, "method": "ping"}', file=command.stdin, flush=True)
    assert command.stdout.readline()
    command.send_signal(signal.SIGINT)
    assert (command.wait(), command.stderr.read()) == (0, "")


def test_a_disk_that_takes_no_progress_ends_no_work():
    command = [*COMMAND, "exploit", "kuhn_poker", "--iterations", "10", "--workers", "1"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stderr=full, stdout=subprocess.PIPE)
    assert done.stdout
    assert done.returncode == 0


def test_a_server_without_standard_streams_serves_and_ends(tmp_path):
    metrics = free_port()
    options = f"--listen 127.0.0.1:0 --web off --data {tmp_path} --metrics-port {metrics}"
    words = f"exec {sys.executable} -m cli serve {options} <&- >&- 2>&-"
    server = subprocess.Popen(["sh", "-c", words])

    def is_ready():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{metrics}/readyz").status == 200
        except OSError:
            return server.poll() is not None

    wait_until(is_ready)
    for stream in range(3):
        assert os.readlink(f"/proc/{server.pid}/fd/{stream}") == os.devnull
    server.terminate()
    assert server.wait() == 0


def test_no_proxy_of_the_environment_leads_to_this_machine(shared_server):
    _, address = shared_server
    for command in ("health", "games"):
        done = run(
            command,
            "--server",
            address,
            stdout=subprocess.PIPE,
            env={**os.environ, "http_proxy": "http://127.0.0.1:9", "no_proxy": ""},
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [[*COMMAND, "health"], [*PLAY, "skystones"]], ids=len)
def test_a_proxy_on_the_way_is_named(command):
    proxy = {"http_proxy": "http://u:secret@127.0.0.1:9", "no_proxy": "x.example, y.example"}
    unset = ("https_proxy", "grpc_proxy", "no_grpc_proxy")
    environment = {name: each for name, each in os.environ.items() if name not in unset} | proxy
    for host, said in (("a.example", True), ("a.x.example", False), ("127.0.0.2", False)):
        done = run("--server", f"{host}:9", command=command, env=environment)
        assert ("by the proxy of http_proxy" in done.stderr) == said
        assert "secret" not in done.stderr
        assert done.returncode == 1


def test_what_the_output_or_utf_8_lacks_ends_no_command(shared_server, tmp_path):
    record = write_record(random_match("champion_chess", "default", seeded("letters")))
    path = record_files.write(record, tmp_path, "json").rename(tmp_path / os.fsdecode(b"\xe9.json"))
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for environment in (os.environ, ascii_only):
        done = run("verify", path, stdout=subprocess.PIPE, env=environment)
        assert (done.returncode, done.stderr) == (0, "") and "true: matches/" in done.stdout
        words = ("champion_chess", "--auto", "--hint-iterations", "5", "--no-save")
        done = run("play", *words, *at(shared_server), stdout=subprocess.PIPE, env=environment)
        assert done.returncode == 0, done.stderr
    for command in ([*COMMAND, "play"], PLAY):
        done = run("--join", b"\xff", *at(shared_server), command=command, stdout=subprocess.PIPE)
        assert done.returncode == 1
        assert re.fullmatch(r"croupier\S*: .*an argument is not UTF-8\n", done.stderr)


def test_a_terminal_that_is_only_said_to_be_one_has_a_size(shared_server):
    """As in the logs of a build, whose colours somebody wants."""
    words = ("play", "champion_chess", "--auto", "--hint-iterations", "5", "--no-save")
    environment = {**os.environ, "TERM": "dumb", "FORCE_COLOR": "1"}
    done = run(*words, *at(shared_server), stdout=subprocess.PIPE, env=environment)
    assert done.returncode == 0, done.stderr


def test_what_a_server_says_tells_a_terminal_nothing():
    program = (
        "from croupier.terminal import program; import sys\n"
        "def fail(): raise OSError('gr\u00fcn\\x1b[2J')\n"
        "program.run(fail, str)"
    )
    done = run("-c", program, command=[sys.executable], stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "gr\u00fcn\\x1b[2J\n")


@pytest.mark.parametrize("option", ["--token-key-file", "--operator-token-file"])
def test_a_device_is_no_secret(option):
    done = run("serve", "--store", "memory", "--listen", "127.0.0.1:0", option, "/dev/zero")
    assert (done.returncode, done.stderr) == (1, "croupier: /dev/zero has more than 64 KiB\n")


def test_a_record_and_a_file_of_options_have_an_end():
    done = run("verify", "/dev/zero", stdout=subprocess.PIPE)
    assert done.returncode == 1 and "/dev/zero has more than 262144 KiB" in done.stderr
    done = run("config", "--config", "/dev/zero", stdout=subprocess.PIPE)
    assert done.returncode == 2 and "too long for a file of options" in done.stderr


@pytest.mark.parametrize("words", [["health", "--server=--"], ["serve", "--data=--"]])
def test_dashes_are_no_value(words):
    done = run(*words, stdout=subprocess.PIPE)
    assert done.returncode == 2
    assert f"argument {words[1].partition('=')[0]}: -- is no value" in done.stderr


def test_a_file_of_options_that_is_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "options.toml").write_text(f"listen = {'[' * 9999}")
    done = run("serve", "--config", tmp_path / "options.toml")
    assert done.returncode == 2 and "nested too deeply" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["matches/../../x", "matches//etc/x", "matches/", "matches/a\0b"])
def test_a_record_is_written_nowhere_but_into_its_folder(tmp_path, name):
    record = write_record(random_match("champion_chess", "default", seeded("name")))
    record.name = name
    with pytest.raises(OSError, match="is no name of a match"):
        record_files.write(record, tmp_path, "json")


def test_an_empty_file_is_said_to_be_no_record(tmp_path):
    (tmp_path / "record.json").write_text("")
    done = run("verify", tmp_path / "record.json", stdout=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.endswith("record.json: not true: it is empty, and so no record\n")

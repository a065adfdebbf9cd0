"""Short trainings, and a command that waits after its first line until a signal interrupts it."""

import subprocess
import sys

from lab.training.training import Settings

SETTINGS = Settings(
    game_id="skystones",
    seed=3,
    generations=1,
    matches=10,
    iterations=20,
    policy_matches=30,
    uses=("beliefs", "value"),
    gate_limit="iterations=5",
    gate_games=4,
    elo0=0.0,
    elo1=15.0,
)

_CODE = """if True:
    import builtins, runpy, sys
    say = print
    def wait(*arguments, **options):
        say(*arguments, **{**options, "flush": True})
        builtins.print = say
        sys.stdin.read()
    builtins.print = wait
    runpy.run_module("cli", run_name="__main__")
"""


def ignore(text):
    pass


def files(folder):
    """All that a training has written, but for the model in the end."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*.json*"))
        if path.name != "weights.json"
    }


def interrupted(number, *command):
    """Interrupts a command after its first line; returns this line, the status and the rest."""
    with subprocess.Popen(
        [sys.executable, "-c", _CODE, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        line = process.stdout.readline()
        process.send_signal(number)
        process.stdin.close()
        told = process.stdout.read()
        return line, process.wait(), told

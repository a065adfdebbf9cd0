"""A command in a process that waits after its first line, until a signal has interrupted it."""

import subprocess
import sys

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

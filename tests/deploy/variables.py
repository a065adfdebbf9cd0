"""Environment variables of containers, read as the server in them would."""

import os
import subprocess
import sys


def check_variables(variables):
    """Checks that all variables are options, whose values the server takes."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("CROUPIER_")}
    done = subprocess.run(
        [sys.executable, "-m", "cli", "config"],
        env=others | variables,
        capture_output=True,
        text=True,
    )
    # A variable that is no option is a warning.
    assert (done.returncode, done.stderr) == (0, ""), done.stderr

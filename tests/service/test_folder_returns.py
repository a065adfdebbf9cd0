"""How straight the way of a call through the folders of the service is."""

import re
import subprocess
import sys
from pathlib import Path


def test_a_call_seldom_comes_back_to_a_folder_that_it_has_left():
    # In a process of its own: a profile that is set beside threads of other tests can hang.
    command = (sys.executable, "-m", "tests.support.folder_returns")
    told = subprocess.run(
        command, cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r"^(\w+): (\d+) returns \(\*\) in the call, (\d+) behind it", told, re.M)
    returns = {name: (int(own), int(behind)) for name, own, behind in found}
    assert 1 <= returns["action"][0] <= 3
    assert min(returns["hint"]) >= 1  # Otherwise not all is noted.
    assert sum(returns["hint"]) <= 8

"""What must hold of the tools that decide what is taken: scripts/run_parts.py and count_code.py."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

SCRIPTS = Path(__file__).parents[1] / "scripts"
MAKEFILE = """
.SILENT:
good:
	echo "good, ARGS=$(ARGS) SHORT=$(SHORT)"
test:
	test -e tried || { touch tried; exit $(STATUS); }
unstable:
	@echo 'A try has failed, a test: why'
	@echo ' ✓ a test 35ms (retry x1)'
long:
	echo $$$$ >pid; exec sleep 100000
"""
RETRY = ("--retry", "test ARGS=again")


@pytest.fixture
def parts(tmp_path):
    """Starts the script in a folder of its own, whose name has a space."""
    root = tmp_path / "a clone"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(SCRIPTS / "run_parts.py", root / "scripts")
    (root / "Makefile").write_text(MAKEFILE)

    def start(*arguments, **environment):
        return subprocess.Popen(
            [sys.executable, root / "scripts/run_parts.py", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **environment},
        )

    start.root = root
    return start


def test_a_part_whose_tests_failed_runs_once_more_and_both_results_are_said(parts):
    process = parts("good", "test STATUS=1", *RETRY)
    said, _ = process.communicate()
    assert process.returncode == 0
    assert "make test: FAILED" in said and "FAILED, AND RAN ONCE MORE" in said
    assert "make test: passed" in said and "failed: 0" in said


def test_a_test_of_the_page_that_passed_at_the_second_try_is_named(parts):
    said, _ = parts("unstable").communicate()
    assert "make unstable: passed" in said and "a test 35ms (retry x1)" in said
    assert "A try has failed, a test: why" in said


# 2 is what pytest ends with where it was interrupted, or could not collect.
@pytest.mark.parametrize("status", (2, 3, 4, 5, 137))
def test_a_part_that_did_not_run_to_its_end_is_not_tried_again(parts, status):
    process = parts("good", f"test STATUS={status}", *RETRY)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "ONCE MORE" not in said and "failed: 1" in said


def test_no_part_takes_what_was_meant_for_another(parts):
    environment = {"MAKEFLAGS": "-n", "GNUMAKEFLAGS": "-n", "ARGS": "--help", "SHORT": "1"}
    said, _ = parts("good", "--last", "good", **environment).communicate()
    assert "good, ARGS= SHORT=\n" in said


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
def test_a_signal_ends_the_parts_too(parts, number):
    process = parts("long")
    pid = parts.root / "pid"
    wait_until(lambda: pid.exists() and pid.read_text(), lambda: "the part to begin")
    process.send_signal(number)
    process.communicate()
    assert process.returncode == 128 + number
    wait_until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


def test_a_part_that_does_not_end_is_ended(parts):
    process = parts("long", "--minutes", "0.001")
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "make long: FAILED" in said and "Ended after 0.001 minutes." in said


def test_two_runs_in_one_clone_do_not_mix(parts):
    first = parts("long")
    wait_until(lambda: (parts.root / "pid").exists(), lambda: "the part to begin")
    second = parts("good")
    said, _ = second.communicate()
    assert second.returncode == 1 and "Parts run here already" in said
    first.terminate()
    first.communicate()


@pytest.mark.parametrize(
    "budget", ("", "product = 1\ntests = 1", "prodct = 1\ntests = 1\nwords = 1", "product = inf")
)
def test_a_budget_that_does_not_bound_all_kinds_is_refused(tmp_path, budget):
    (tmp_path / "scripts").mkdir()
    script = shutil.copy(SCRIPTS / "count_code.py", tmp_path / "scripts")
    (tmp_path / "scripts/budget.toml").write_text(budget)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, script, "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "a whole number each for product, tests and words" in done.stderr

"""The arena and reviews on a Ray cluster of two machines, against processes here.

`make ray` installs Ray and runs these tests. They are skipped otherwise, since Ray is large.
"""

import json
import os
import signal
import subprocess
import sys
from functools import partial

import pytest

from cli import record_files
from lab import workers
from lab.workers import RayCluster, WorkersError, in_order
from service.hosting.records import write_record
from tests.support.play import seeded
from tests.support.random_matches import random_match
from tests.support.waiting import wait_until

if "TEST_RAY" not in os.environ:
    pytest.skip("`make ray` runs these", allow_module_level=True)

import ray
from ray.cluster_utils import Cluster

ARENA = [sys.executable, "-m", "cli", "arena"]
GAMES = 200


@pytest.fixture(scope="module")
def address():
    """The address of a cluster of two machines with a processor each."""
    cluster = Cluster()
    for _ in range(2):
        cluster.add_node(num_cpus=1, object_store_memory=80 << 20, include_dashboard=False)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture
def connected(address):
    found = RayCluster(address)
    yield found
    found.close()


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def machine_of(folder, task):
    machine = ray.get_runtime_context().get_node_id()
    (folder / machine).touch()
    wait_until(lambda: len(list(folder.iterdir())) == 2)  # One machine cannot do all of them.
    return task, machine


def die_once(folder, task):
    marker = folder / str(task)
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def fail_at_two(task):
    if task == 2:
        raise ValueError("two")
    return task


def test_an_arena_of_200_games_has_the_same_result_as_here(address, tmp_path):
    def played(*where):
        written = tmp_path / "results.json"
        players = ("search:iterations=50", "policy", "--game", "skystones", "--seed", "5")
        run(*ARENA, *players, "--games", str(GAMES), "--json", written, *where)
        [result] = json.loads(written.read_text())["results"]
        for effort in result["efforts"]:
            assert effort.pop("seconds") > 0
        return result

    here = played("--workers", "1")
    assert len(here["pairs"]) == GAMES // 2
    assert played("--ray", address) == here == played("--workers", "2")


def test_reviews_are_the_same(address, tmp_path):
    for game in ("champion_chess", "skystones"):
        record = write_record(random_match(game, "default", seeded(game)))
        record_files.write(record, tmp_path, "json")
    few = ("--iterations", "100", "--deep-iterations", "200")
    review = (sys.executable, "-m", "cli", "review", tmp_path, *few)
    for printed in (("--summary",), ("--summary", "--json"), ("--json",), ()):
        here = run(*review, *printed, "--workers", "1")
        assert here
        assert run(*review, *printed, "--ray", address) == here
        assert run(*review, *printed, "--workers", "2") == here


def test_both_machines_play_and_results_keep_their_order(connected, tmp_path):
    with in_order(partial(machine_of, tmp_path), range(40), connected) as results:
        found = list(results)
    assert [task for task, _ in found] == list(range(40))
    assert len({machine for _, machine in found}) == 2


def test_a_task_whose_process_dies_is_repeated(connected, tmp_path):
    with in_order(partial(die_once, tmp_path), range(3), connected) as results:
        assert list(results) == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 3


def test_an_error_of_a_task_arrives_as_itself(connected):
    with in_order(fail_at_two, range(5), connected) as results:
        assert [next(results), next(results)] == [0, 1]
        with pytest.raises(ValueError, match="two"):
            next(results)


def test_a_machine_with_another_version_is_refused(connected, monkeypatch):
    monkeypatch.setattr(workers, "_version", lambda: "0.0.1")
    future = connected.submit(fail_at_two, 1)
    with pytest.raises(
        WorkersError, match=r"a machine of the cluster has Croupier .*, not 0\.0\.1"
    ):
        future.result()


def test_players_with_more_threads_than_a_machine_has_are_refused(address):
    with pytest.raises(WorkersError, match="no machine has 2 processors"):
        RayCluster(address, processors=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_arena_prints_its_results_so_far(address, number):
    options = ("uct:iterations=2000", "random", "--game", "skystones", "--games=100000")
    process = subprocess.Popen(
        [*ARENA, *options, "--ray", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline().startswith("2 games, Elo")
    process.send_signal(number)
    output, errors = process.communicate()
    assert (process.returncode, errors) == (130, "")
    assert "uct:iterations=2000 against random, interrupted" in output

"""What a server exports to its operator, with the commands that an operator has."""

import subprocess
import sys

from cli import record_files
from croupier.client import Client, Operator
from tests.support.replicas import OPERATOR


def verified_records(replica, operator, folder):
    """The records of all matches that are over, by name. `croupier verify` must accept them."""
    command = [sys.executable, "-m", "cli"]
    export = ["export", "--all", "--format", "binary", "--output", folder]
    export += ["--server", replica.address, *operator]
    subprocess.run([*command, *export], check=True)
    subprocess.run([*command, "verify", "-q", folder], check=True)
    return {record.name: record for record in map(record_files.read, folder.iterdir())}


def check_log(replica, run, operator, tmp_path):
    """Checks that the log has all matches as they ended, and that `croupier verify` accepts them.

    The log has no other matches: every match in it is one whose creation was answered.
    """
    exported = verified_records(replica, operator, tmp_path / "records")
    for record in run.records:
        assert exported[record.name] == record
    with Client(replica.address) as client:
        created = [match.name for match in Operator(client, OPERATOR).matches()]
    assert sorted(created) == sorted(record.name for record in run.records)

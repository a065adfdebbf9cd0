"""What a server exports to its operator, with the commands that an operator has."""

import subprocess
import sys

from cli import record_files


def verified_records(replica, operator, folder):
    """The records of all matches that are over, by name. `croupier verify` must accept them."""
    command = [sys.executable, "-m", "cli"]
    export = ["export", "--all", "--format", "binary", "--output", folder]
    export += ["--server", replica.address, *operator]
    subprocess.run([*command, *export], check=True)
    subprocess.run([*command, "verify", "-q", folder], check=True)
    return {record.name: record for record in map(record_files.read, folder.iterdir())}

"""The connections of clients to a server, by the process that has accepted them (Linux)."""

from contextlib import suppress
from pathlib import Path

SERVING = "service.serving_process"
_ESTABLISHED = "01"


def serving_processes(pid: int) -> list[int]:
    """The processes that answer the calls of a server: its own, or those that it has started."""
    return [each for each in children(pid) if SERVING in _arguments(each)] or [pid]


def children(pid: int) -> list[int]:
    """The processes that a process has started, in ascending order."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sorted(map(int, found))


def connections(pid: int, address: str) -> int:
    """How many clients of an address, HOST:PORT, a process has."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    sockets = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            sockets.add(str(file.readlink()))
    count = 0
    # gRPC also listens on IPv4 addresses by IPv6 sockets.
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines():
            fields = line.split()
            count += (
                fields[1].endswith(port)
                and fields[3] == _ESTABLISHED
                and f"socket:[{fields[9]}]" in sockets
            )
    return count


def _arguments(pid: int) -> str:
    # A process that has just ended has none.
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""

"""The memory of searches: what this machine has for them, and what one gets when it begins.

`ai/memory.pyx` keeps the account of a process. Its bound is chosen here, once, when a server
starts.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ai.memory import Grant, account

MIB = 1 << 20
LEAST = 16 * MIB  # With less, searches find little.
# What stays for everything else: an eighth of all memory, and
KEPT_BY_MATCHES = 256 * MIB  # for a match server with one search process,
KEPT_BY_SEARCHES = 128 * MIB  # for a search server,
KEPT_BY_PROCESS = 80 * MIB  # and for each further search process.
# What a match server with search processes or servers has for searches while none of them answers:
# enough for bots. More would be taken from searches at all other times.
OWN = 32 * MIB

# What is set aside for each thread of a search. The measured most is 0.4 MB and 290 bytes an
# iteration; endings that are solved take more at times.
BEGINNING = 1 * MIB
BYTES_AN_ITERATION = 400
TIMED = 10 * MIB  # Where only time ends a search, which can use up to 100 MB a second.
SHARE_OF_ONE = 8  # At most an eighth of all: so there is room in an account that holds nothing.
LEFT_TO_BOTS = 1 / 8  # By hints, to bots that play against persons.

_LIMIT_FILES = {"cgroup2": "memory.max", "cgroup": "memory.limit_in_bytes"}


def available(root: Path = Path("/")) -> int:
    """The bytes of memory of this machine, or of the control group (of either version) if less.

    A control group also has the limits of those around it. `root` is where files are looked for.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with suppress(OSError):  # On other systems.
        for folder, name in _groups(root / "proc/self"):
            with suppress(OSError, ValueError):  # A group without a limit says "max".
                limits.append(int((folder / name).read_text()))
    return min(limits)


def _groups(process: Path) -> Iterator[tuple[Path, str]]:
    # The folders of the group and of those around it, and the name of the file with the limit.
    paths = {}
    for line in (process / "cgroup").read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if not controllers or "memory" in controllers.split(","):
            paths["cgroup" if controllers else "cgroup2"] = Path(group)
    for line in (process / "mountinfo").read_text().splitlines():
        mount, _, system = line.partition(" - ")
        kind, _, options = system.split(" ", 2)
        if kind not in paths or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        mounted, at = map(Path, mount.split()[3:5])
        path = paths[kind]
        # In a container the root of what is mounted can be the group itself.
        inside = path.relative_to(mounted if path.is_relative_to(mounted) else "/")
        top = process.parent.parent / at.relative_to("/")
        for part in (inside, *inside.parents):
            yield top / part, _LIMIT_FILES[kind]


def of_search_server(chosen: int) -> int:
    """The bound of a search server's account, as chosen (0: by what this machine has)."""
    return chosen or _without(KEPT_BY_SEARCHES)


def of_match_server(chosen: int, processes: int, has_servers: bool) -> tuple[int, int]:
    """The bounds of a match server's own account, and of that of each of its search processes.

    `chosen` is for all of them together (0: by what this machine has).
    """
    whole = chosen or _without(KEPT_BY_MATCHES + KEPT_BY_PROCESS * max(0, processes - 1))
    if not has_servers:
        return whole, 0
    own = min(OWN, whole // 8)
    return own, (whole - own) // max(1, processes)


def _without(kept: int) -> int:
    whole = available()
    return max(LEAST, whole - kept - whole // 8)


class Ask(NamedTuple):
    """What a search asks for when it is to begin."""

    threads: int
    size: int  # Set aside for each thread.
    limit: int  # Of what may be held in all then.
    most: int  # That a thread may use when it has grown.

    @classmethod
    def of(cls, threads: int, iterations: int, room: int, leaves: float | None) -> "Ask":
        """`iterations` are its limit (0: none); so many threads of long searches have `room`.

        It leaves a share of all to others (None: as much as one that grows).
        """
        whole = account.bound
        by_iterations = BYTES_AN_ITERATION * iterations // threads
        size = min(BEGINNING + (by_iterations or TIMED), whole // SHARE_OF_ONE // threads)
        limit = account.grow_bound if leaves is None else int(whole * (1 - leaves))
        return cls(threads, size, limit, max(size, account.grow_bound // room))

    def fits(self) -> bool:
        """Whether there is so much now."""
        return account.held + self.threads * self.size <= self.limit

    def grants(self) -> list[Grant] | None:
        """What was asked for, a grant for each thread; None if there is not so much now."""
        return account.reserve(*self)


def resident() -> int:
    """The bytes of memory that this process has in use; 0 where the system does not say so."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0

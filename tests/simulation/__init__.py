"""The whole service in a simulated world (docs/simulation.md)."""

from pathlib import Path

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # A folder that is no disk.
STORES = ("postgresql", "sqlite")
FAULTS = (
    "kills",
    "stops",
    "pauses",
    "cuts",
    "database",
    "losses",
    "clocks",
    "searches",
    "upgrades",
)

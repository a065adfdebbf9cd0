"""The whole service in a simulated world (docs/simulation.md)."""

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

"""The history of a match: its entries, what each led to, and the requests that were carried out."""

from engine.events import Event
from service.store import Entry

# The events of one version; None where a snapshot has skipped them.
Events = tuple[Event, ...] | None


class History:
    """The entries of a match and their events, in order.

    All states of a match share one history: a state at version n is its first n entries. It grows
    when an entry is added to the newest state, and is copied when one is added to an older state.
    """

    def __init__(
        self, entries: list[Entry], events: list[Events], requests: dict[tuple[int, str], int]
    ) -> None:
        self.entries = entries
        self.events = events  # By version; version 0 is the deal.
        self.requests = requests  # The version that a request made, by seat and request_id.

    @staticmethod
    def begin(dealt: tuple[Event, ...]) -> "History":
        """The history of a match without entries."""
        return History([], [dealt], {})

    def after(self, version: int, entry: Entry, events: Events) -> "History":
        """The first `version` entries and one more."""
        history = self
        if len(self.entries) > version:
            # The entry that was added here before was not committed, or the match is replayed.
            requests = {request: made for request, made in self.requests.items() if made <= version}
            history = History(self.entries[:version], self.events[: version + 1], requests)
        history.entries.append(entry)
        history.events.append(events)
        if entry.request_id:
            history.requests[entry.seat, entry.request_id] = version + 1
        return history

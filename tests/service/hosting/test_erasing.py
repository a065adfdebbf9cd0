"""Names that are erased while an entry is on its way to the log."""

from service.hosting.creation import NewMatch
from service.hosting.matches import Matches
from service.observability.metrics import Metrics
from service.store import MemoryStore
from tests.support.scheduling import act
from tests.support.serving import ruleset_of


async def test_what_is_committed_while_names_are_erased_shows_none_of_them():
    store = MemoryStore()
    matches, append = Matches(store, Metrics()), store.append
    asked = NewMatch(ruleset_of("skystones"), display_names=("Ann", "Bob"))
    match_id = (await matches.create(asked)).header.match_id

    async def add(match_id, head, entry, status, on_added):
        # A statement that began before the erasure, as a database may order them.
        assert await store.erase_names(match_id, 2)
        erased = (await matches.load(match_id)).head
        added = await append(match_id, head._replace(erased=erased.erased), entry, status)
        on_added()
        return added

    with matches.watch(match_id) as watch:
        await matches.load(match_id)
        assert watch.handed.seats.display_names == ("Ann", "Bob")
        store.append = add
        await act(matches, match_id)
        shown = await watch.any()
        assert (shown.version, shown.seats.display_names) == (1, ("Ann", ""))
        known = await matches.load(match_id)
        assert (known.version, known.seats.display_names) == (1, ("Ann", ""))

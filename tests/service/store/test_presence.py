"""Presence: whom a server takes to be there, from its streams and from what others tell."""

import re
from contextlib import ExitStack

import pytest

from croupier.v1.match_pb2 import SeatPresence
from service.store.postgresql_listener import write_notices
from service.store.presence import SECONDS, Place, Presence
from tests.support.play import note_on_failure, seeded

UNTOLD, HERE, AWAY = SeatPresence.values()
PLACES = [Place(match_id, seat) for match_id in ("one", "two") for seat in (0, 1)]


@pytest.mark.parametrize("number", range(20))
def test_a_seat_is_there_while_a_stream_is_open_and_some_time_after(number):
    rng, arrived, now = seeded("presence", number), [], 1000.0
    presence = Presence()
    presence.now = lambda: now
    presence.begin_to_hear()
    end = presence.listen(arrived.append)
    began, seen, streams = now, dict.fromkeys(PLACES, -SECONDS), {place: [] for place in PLACES}
    for step in range(400):
        now += rng.choice((0.0, 0.1, 1.0, 8.0, 20.0, 50.0)) * rng.random()
        place = rng.choice(PLACES)
        known = {each: presence.of(each) for each in PLACES}
        arrived.clear()
        with note_on_failure(number=number, step=step, now=now, place=place):
            for each in PLACES:
                if streams[each]:
                    seen[each] = now
                age = now - seen[each]
                if age < SECONDS / 2:
                    assert known[each] == HERE
                elif known[each] == HERE:
                    assert age < SECONDS
                else:
                    assert known[each] == (AWAY if now - began >= SECONDS else UNTOLD)
            act = rng.randrange(3)
            if act == 0:
                streams[place].append(ExitStack())
                streams[place][-1].enter_context(presence.attend(place))
            elif act == 1 and streams[place]:
                streams[place].pop().close()
            elif act == 2:
                presence.see(place)
            else:
                continue
            seen[place] = now
            # Whoever is there is told of once.
            assert arrived == [place] * (known[place] != HERE)
            assert set(presence.attended()) == {each for each in PLACES if streams[each]}
    end()
    now += 10 * SECONDS
    arrived.clear()
    presence.see(PLACES[0])
    assert not arrived


def test_notices_of_seats_say_nothing_of_versions_to_those_who_do_not_know_them():
    read = re.compile(r"([a-z0-9]+) (\d{1,18})(?=,|$)")  # By servers of before.
    notices = write_notices(
        {"one": 5, "two": 2**31}, [Place(f"{n:032}", n % 2) for n in range(300)]
    )
    assert all(len(notice) < 8000 for notice in notices)
    found = [each for notice in notices for each in read.findall(notice)]
    assert found == [("one", "5"), ("two", f"{2**31}")]

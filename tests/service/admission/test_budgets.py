"""Budgets: what is refused, when it may come back, and what is forgotten."""

import random

import pytest
from google.rpc.error_details_pb2 import RetryInfo

from service.admission import budgets
from service.admission.budgets import WINDOWS, Budget, Ledger
from service.common.call import Kind, Principal
from service.common.errors import store_unavailable
from service.observability.metrics import Metrics
from wire import errors
from wire.errors import Refusal

ONE, OTHER = Principal(Kind.SEAT, "one/0"), Principal(Kind.SEAT, "one/1")
HOME = Principal(Kind.ADDRESS, "192.0.2.1")
LIMITS = {
    Kind.SEAT: {Budget.CALLS: 10, Budget.SEARCH_SECONDS: 30, Budget.STREAMS: 2},
    Kind.ADDRESS: {Budget.CALLS: 15, Budget.STREAMS: 3},
}
SEED = 20261122


class Time:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def ledger(time, monkeypatch):
    monkeypatch.setattr(errors, "RETRY_SPREAD", 0)
    return Ledger(lambda principal: LIMITS[principal.kind], Metrics(), time)


def retry_of(call, *arguments):
    """Make a call that is refused; return the seconds after which to come back, if any."""
    with pytest.raises(Refusal) as caught:
        call(*arguments)
    found = [
        detail for detail in caught.value.status.details if detail.type_url.endswith("RetryInfo")
    ]
    if not found:
        return None
    info = RetryInfo()
    assert found[0].Unpack(info)
    return info.retry_delay.ToMilliseconds() / 1000


@pytest.mark.parametrize("limit", [1e-12, 1e-300, 5e-324])
def test_a_budget_that_hardly_refills_is_refused_like_others(ledger, monkeypatch, limit):
    monkeypatch.setitem(LIMITS, Kind.SEAT, {Budget.SEARCH_SECONDS: limit})
    ledger.charge([ONE], Budget.SEARCH_SECONDS, 1)
    assert retry_of(ledger.check, [ONE], Budget.SEARCH_SECONDS) == budgets.MAX_RETRY_SECONDS


def test_a_refusal_says_when_to_come_back_only_if_that_helps(ledger, time, monkeypatch):
    for budget in WINDOWS:
        most = 12 * budgets.BURSTS[budget] / WINDOWS[budget]
        monkeypatch.setitem(LIMITS, Kind.SEAT, {budget: 12})
        assert retry_of(ledger.spend, [ONE], budget, 1.001 * most) is None
        ledger.spend([ONE], budget, most)
        wait = retry_of(ledger.spend, [ONE], budget, most)
        assert wait is not None
        assert retry_of(ledger.spend, [ONE], budget, 1.001 * most) is None
        time.now += wait + 0.001
        ledger.spend([ONE], budget, most)
        monkeypatch.setitem(LIMITS, Kind.SEAT, {budget: 0})
        assert retry_of(ledger.spend, [ONE], budget) is None
        assert retry_of(ledger.check, [ONE], budget) is None
        time.now += 2 * WINDOWS[budget]
    monkeypatch.setitem(LIMITS, Kind.SEAT, {Budget.BYTES: 100, Budget.LIVE_MATCHES: 20})
    held, more = ledger.holding([ONE], Budget.BYTES), ledger.holding([ONE], Budget.BYTES)
    held.set(60)
    assert retry_of(held.set, 101) is None
    assert retry_of(more.set, 41) is not None
    assert retry_of(more.set, 101) is None
    held.set(0)
    more.set(100)
    assert retry_of(ledger.check_count, ONE, Budget.LIVE_MATCHES, 19, 2) is not None
    assert retry_of(ledger.check_count, ONE, Budget.LIVE_MATCHES, 0, 21) is None
    ledger.check_count(ONE, Budget.LIVE_MATCHES, 0, 20)


def test_those_who_are_refused_together_do_not_come_back_together():
    def refuse():
        raise store_unavailable()

    delays = {retry_of(refuse) for _ in range(100)}
    assert len(delays) > 50
    assert min(delays) >= 1


def spent(ledger, payers, budget=Budget.CALLS):
    """Return how many calls are admitted at once."""
    count = 0
    while count < 1000:
        try:
            ledger.spend(payers, budget)
        except Refusal:
            return count
        count += 1
    return count


def test_all_of_a_budget_can_be_used_at_once_and_refills_evenly(ledger, time):
    assert spent(ledger, [ONE]) == 10
    time.now += 0.45
    assert spent(ledger, [ONE]) == 4
    time.now += 100
    assert spent(ledger, [ONE]) == 10


def test_a_refusal_says_when_to_come_back(ledger, time):
    spent(ledger, [ONE])
    wait = retry_of(ledger.spend, [ONE], Budget.CALLS)
    assert wait == pytest.approx(0.1, abs=0.002)
    time.now += wait - 0.01
    assert retry_of(ledger.spend, [ONE], Budget.CALLS) == pytest.approx(0.01, abs=0.002)
    time.now += 0.0101
    ledger.spend([ONE], Budget.CALLS)


def test_a_call_uses_the_budgets_of_all_payers_or_none(ledger):
    assert spent(ledger, [ONE, HOME]) == 10
    # The calls that were refused for the seat have cost its address nothing.
    assert spent(ledger, [OTHER, HOME]) == 5
    assert spent(ledger, [OTHER]) == 5


def test_most_refusals_of_a_caller_that_goes_on_calling_come_later(ledger, time):
    # One second's refusals come at once; a tenth of the calls is 1.5 in a second.
    delays = [ledger.refusal_delay(HOME) for _ in range(100)]
    assert delays[:2] == [0, 0]
    assert delays[2:10] == pytest.approx([number / 1.5 - 1 for number in range(2, 10)])
    assert max(delays) <= budgets.MAX_REFUSAL_SECONDS
    assert ledger.refusal_delay(ONE) == 0
    time.now += budgets.MAX_REFUSAL_SECONDS + 1
    assert ledger.refusal_delay(HOME) == 0


def test_a_budget_of_nothing_admits_nothing(time):
    ledger = Ledger(lambda principal: {Budget.CALLS: 0}, Metrics(), time)
    assert spent(ledger, [ONE]) == 0
    time.now += 10_000
    assert spent(ledger, [ONE]) == 0


def test_what_is_held_is_given_back(ledger):
    with ledger.hold([ONE, HOME], Budget.STREAMS), ledger.hold([ONE, HOME], Budget.STREAMS):
        with pytest.raises(Refusal), ledger.hold([ONE, HOME], Budget.STREAMS):
            raise AssertionError("was admitted")
        with (
            ledger.hold([OTHER, HOME], Budget.STREAMS),
            pytest.raises(Refusal),
            ledger.hold([OTHER, HOME], Budget.STREAMS),
        ):
            raise AssertionError("was admitted")
    assert ledger.held(ONE, Budget.STREAMS) == ledger.held(HOME, Budget.STREAMS) == 0


def test_what_is_held_is_given_back_after_an_error(ledger):
    for _ in range(5):
        with pytest.raises(ZeroDivisionError), ledger.hold([ONE], Budget.STREAMS):
            raise ZeroDivisionError
    assert ledger.held(ONE, Budget.STREAMS) == 0


def test_what_is_held_is_given_back_whatever_the_limits_are_by_then(ledger):
    unlimited, limited = (lambda principal: {}), ledger._limits
    for before, after in ((limited, unlimited), (unlimited, limited)):
        ledger.limit_by(before)
        held = ledger.holding([ONE], Budget.STREAMS)
        held.set(2)
        ledger.limit_by(after)
        ledger.limit_by(limited)
        with pytest.raises(Refusal), ledger.hold([ONE], Budget.STREAMS):
            raise AssertionError("was admitted")
        ledger.limit_by(after)
        held.set(0)
        assert ledger.held(ONE, Budget.STREAMS) == 0


@pytest.mark.parametrize(("limit", "left"), [(20, 12), (8, 0)])
def test_under_another_limit_as_much_stays_used(ledger, limit, left):
    ledger.spend([ONE], Budget.CALLS, 8)
    ledger.limit_by(lambda principal: {Budget.CALLS: limit})
    assert spent(ledger, [ONE]) == left


def test_a_cost_that_is_known_afterwards_makes_debt(ledger, time):
    budget = Budget.SEARCH_SECONDS
    ledger.check([ONE], budget)
    ledger.charge([ONE], budget, 45)  # 1.5 times what the budget allows in a minute.
    assert retry_of(ledger.check, [ONE], budget) == pytest.approx(30)
    time.now += 30.1
    ledger.check([ONE], budget)


def test_no_order_of_calls_gets_more_than_the_budget(ledger, time):
    rng = random.Random(SEED)
    began, admitted = time.now, 0
    for _ in range(5000):
        time.now += rng.expovariate(30)
        admitted += spent(ledger, [ONE]) if rng.random() < 0.1 else _try(ledger)
    allowed = 10 + 10 * (time.now - began) / WINDOWS[Budget.CALLS]
    assert 0.9 * allowed < admitted <= allowed, f"seed {SEED}"


def _try(ledger):
    try:
        ledger.spend([ONE], Budget.CALLS)
    except Refusal:
        return 0
    return 1


def test_idle_accounts_are_forgotten_and_others_are_not(time, monkeypatch):
    monkeypatch.setattr(budgets, "MAX_IDLE_ACCOUNTS", 100)
    ledger = Ledger(lambda principal: LIMITS[principal.kind], Metrics(), time)
    with ledger.hold([ONE], Budget.STREAMS):
        for number in range(10_000):
            time.now += 0.05
            spent(ledger, [HOME]) if number % 100 == 0 else None
            ledger.spend([Principal(Kind.SEAT, f"many/{number}")], Budget.CALLS)
            assert len(ledger._accounts) <= 102
        assert ledger.held(ONE, Budget.STREAMS) == 1


@pytest.mark.parametrize(
    ("wait", "said"), [(0.002, "in 0.1 s"), (0.1, "in 0.1 s"), (9.91, "in 10.0 s")]
)
def test_nobody_is_told_to_come_back_too_early(wait, said):
    refusal = budgets.BudgetExhausted(HOME, Budget.CALLS, 500, wait)
    assert str(refusal).endswith(f"come back {said}")

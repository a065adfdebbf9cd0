"""How straight the way of a call through the folders of the service is."""

from tests.support.folder_returns import entries, returns


def test_a_call_seldom_comes_back_to_a_folder_that_it_has_left():
    noted = entries()
    (action, _), hint = returns(noted["action"]), returns(noted["hint"])
    assert 1 <= action <= 3
    assert min(hint) >= 1  # Otherwise not all is noted.
    assert sum(hint) <= 8

"""A list names the matches that are damaged, and has all others."""

from croupier.v1 import error_pb2, match_pb2
from service.store import MemoryStore
from tests.support.serving import ruleset_of

TOKEN = "an-operators-token-of-32-or-more"


def test_damaged_match_is_named_and_the_list_goes_on(start, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    store = MemoryStore()
    _, client = start(store, operator_token_file=tmp_path / "token")
    names = [client.create(ruleset_of("skystones")).name for _ in range(3)]
    match_id = names[1].removeprefix("matches/")
    store._anchor.execute("UPDATE matches SET bots = x'0100' WHERE match_id = ?", (match_id,))
    request = match_pb2.ListMatchesRequest(page_size=1)
    told, damaged = [], []
    while True:
        metadata = [("authorization", f"Bearer {TOKEN}")]
        response = client.matches.ListMatches(request, metadata=metadata)
        told += [each.name for each in response.matches]
        damaged += [(each.name, each.reason) for each in response.errors]
        request.page_token = response.next_page_token
        if not request.page_token:
            break
    client.close()
    assert sorted(told) == sorted(names)
    assert damaged == [(names[1], error_pb2.ERROR_REASON_MATCH_DAMAGED)]

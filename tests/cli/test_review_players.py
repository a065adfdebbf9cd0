"""What `croupier review --summary` adds up for the players of many matches."""

import pytest

from cli.review import Players
from croupier.v1 import match_pb2, review_pb2


def decision(version, loss, verdict="VERDICT_GOOD"):
    return review_pb2.DecisionReview(version=version, seat=0, loss=loss, verdict=verdict)


def lines(*decisions):
    record = match_pb2.MatchRecord(entries=[{"version": 8}])
    players = [{"open": {}, "display_name": name} for name in ("Anna", "Ben")]
    summary = review_pb2.MatchReview(
        result={"scores": [1, 0]}, seats=[{"player": player} for player in players]
    )
    summed = Players()
    summed.add(record, decisions, summary)
    return {line["part"]: line for line in summed.lines() if line["player"] == "Anna"}


def test_a_forced_decision_is_none():
    found = lines(decision(1, 0.2), decision(2, 0, "VERDICT_FORCED"), decision(3, 0.4))
    assert found["all"]["decisions"] == 2
    assert found["all"]["loss"]["mean"] == pytest.approx(0.3)


def test_each_decision_counts_in_its_third_of_the_match():
    found = lines(decision(2, 0.1), decision(3, 0.2), decision(5, 0.3), decision(8, 0.5))
    losses = {part: found[part]["loss"]["mean"] for part in ("opening", "middle", "ending")}
    assert losses == pytest.approx({"opening": 0.1, "middle": 0.25, "ending": 0.5})

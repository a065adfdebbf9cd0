"""What happens is said in the words of its game, by each reader's lights and in each language."""

import json
import re
from pathlib import Path

import pytest
from google.protobuf import json_format

import wire
from croupier.messages import GameMessages
from croupier.phrases import Words
from croupier.v1 import castle_rampage_pb2, catalog_pb2, hint_pb2
from engine.match import Match
from lab.contract import random_joint, random_secret, seeded
from service.api.catalog_service import in_all_languages

# web/tests/unit/words.test.ts reads them too: both clients say the same.
GIVEN = json.loads(Path(__file__).with_name("phrases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("event", "me", "seat", "text"), GIVEN["cases"], ids=str)
def test_a_phrase_is_filled(event: dict, me: int | None, seat: int | None, text: str) -> None:
    game = catalog_pb2.Game(name="games/castle_rampage", phrases=GIVEN["phrases"])
    for card, title in GIVEN["cards"].items():
        game.cards.add(id=card, title=title, kind="Einheit")
    said = Words(game, lambda each: "du" if each == me else "der Bot", me)
    message = json_format.ParseDict(event, castle_rampage_pb2.CastleRampageEvent())
    assert said.tell("event", message) == (seat, text)


@pytest.mark.parametrize(("reason", "text"), GIVEN["reasons"], ids=str)
def test_a_reason_is_said(reason: dict, text: str) -> None:
    game = catalog_pb2.Game(name="games/castle_rampage", phrases=GIVEN["phrases"])
    game.aspects.add(id="goal", unit=catalog_pb2.ASPECT_UNIT_CHANCE)
    game.aspects.add(id="chips", unit=catalog_pb2.ASPECT_UNIT_AMOUNT)
    given = json_format.ParseDict(reason, hint_pb2.Reason())
    hint = hint_pb2.Hint(seat=1, reasons=[given], actions=[hint_pb2.ActionEvaluation()])
    assert Words(game).why(hint, lambda _: "X") == [text]
    for seat in (1, 0):
        hint.actions[0].line.add(seat=seat)
    assert Words(game).why(hint, lambda _: "X") == [text, "Die Antwort: X"]


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_all_that_happens_is_said_in_each_language(game_id: str) -> None:
    game = wire.hosted_games()[game_id]()
    described = in_all_languages(game)
    assert list(described) == ["en", "de"]
    for seed in range(3):
        rng = seeded("phrases", game_id, seed)
        match = Match(game, random_secret(rng), "phrases")
        happened = match.events
        while True:
            for reader in (0, 1, None):
                told = {
                    language: list(lines(match, happened, shown, reader))
                    for language, shown in described.items()
                }
                for english, german in zip(*told.values(), strict=True):
                    for text in (english, german):
                        assert text and not re.search(r"[{}|\[\]_]|  |^[a-z]", text), (seed, text)
                    assert english != german or not re.search(r"[a-z]{3} [a-z]{3}", english), (
                        english
                    )
            if match.over:
                break
            joint = random_joint(match.position, rng)
            happened = [match.apply(seat, action) for seat, action in joint.items()][-1]


def lines(match, happened, shown, reader):
    """What a seat is told of events, and its legal actions, in one language."""
    who = ("you", "the other") if shown.language_code == "en" else ("du", "dein Gegenüber")
    said = Words(shown, lambda seat: who[seat != reader], reader)
    messages = GameMessages(shown)
    for event in happened:
        if event.seen_by(2 if reader is None else reader):
            message = wire.write_event(match.game, event, 1)
            yield said.sentence("event", messages.read(message, "event"))
    if reader in match.deciders:
        for action in match.legal(reader)[:40]:
            message = wire.write_action(match.game, action)
            yield said.sentence("action", messages.read(message))

"""What `croupier check-game` finds in the phrases of a game, each mistake planted alone."""

import pytest

import wire
from lab import contract_messages
from service.api import catalog_service

SKYSTONES = wire.hosted_games()["skystones"]
PLANTED = {
    "there is no phrase event.passed": ({"event.passed": None}, {}),
    "de: no phrase event.passed": ({}, {"event.passed": None}),
    "de: no phrase table.round": ({}, {"table.round": None}),
    "en: event.passed: there is no field card": ({"event.passed": "{seat} passed {card}"}, {}),
    "de: event.placed: there is no field karte": ({}, {"event.placed": "{seat} legt {karte}"}),
    "en: event.placed.cards: the schema has no cards there; the nearest is card": (
        {"event.placed.cards": "{seat}"},
        {},
    ),
    "de: event.field_laid.field=fir: no field is fir": ({}, {"event.field_laid.field=fir": "!"}),
    "en: event.won: the schema has no won there": ({"event.won": "{seat} won"}, {}),
    "en: view.hands: the schema has no hands there; the nearest is hand": ({"view.hands": ""}, {}),
    "en: view.sides.pile: the schema has no pile there; the nearest is pile_size": (
        {"view.sides.pile": ""},
        {},
    ),
    "en: value.phase.placing: the schema has no placing there; the nearest is place": (
        {"value.phase.placing": "Now"},
        {},
    ),
    "en: the game has no hidden place sleeve": ({"place.sleeve": "Sleeve"}, {}),
    "en: the game has no aspect luck": ({"aspect.luck": "you are lucky"}, {}),
    "there is no phrase aspect.chips": ({"aspect.chips": None}, {}),
    "en: words.card is no name of a phrase": ({"words.card": "card"}, {}),
}


def planted(phrases: dict[str, str], changes: dict[str, str | None]) -> dict[str, str]:
    """Phrases with others in their place; None takes one away."""
    return {name: text for name, text in {**phrases, **changes}.items() if text is not None}


@pytest.mark.parametrize("found", PLANTED)
def test_a_mistake_in_a_phrase_is_found(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    english, german = PLANTED[found]

    class Planted(SKYSTONES):
        __module__ = SKYSTONES.__module__  # So that it has the game's aspects.
        phrases = planted(SKYSTONES.phrases, english)

    whole = catalog_service.translations("skystones")
    changed = {
        code: each._replace(phrases=planted(each.phrases, german)) for code, each in whole.items()
    }
    for module in (catalog_service, contract_messages):
        monkeypatch.setattr(module, "translations", lambda game_id: changed)
    with pytest.raises(AssertionError) as caught:
        contract_messages.check_phrases(Planted())
    assert str(caught.value).splitlines()[0].startswith(found)


@pytest.mark.parametrize("game", wire.hosted_games())
def test_the_phrases_of_our_games_are_whole(game: str) -> None:
    contract_messages.check_phrases(wire.hosted_games()[game]())

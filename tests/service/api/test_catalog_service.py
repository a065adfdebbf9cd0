"""The catalog describes every card of every game well enough to draw it, in every language."""

import tomllib
from importlib.resources import files

import pytest

import wire
from croupier.phrases import fields_of
from croupier.v1 import catalog_pb2
from tests.support.serving import refused

# The languages of all games together. Every hosted game must have a file for each of them.
TRANSLATED = sorted(
    {
        file.name.removesuffix(".toml")
        for game_id in wire.hosted_games()
        for file in files("games").joinpath(game_id).iterdir()
        if file.name.endswith(".toml")
    }
)
LANGUAGES = ["en", *TRANSLATED]


def game_in(client, game_id, language=""):
    request = catalog_pb2.GetGameRequest(name=f"games/{game_id}", language_code=language)
    return client.catalog.GetGame(request).game


def texts_of(game):
    """All texts of the seats and the cards. A number at the end of a text is cut off."""
    texts = [*game.seat_titles]
    for card in game.cards:
        texts += [card.title, card.kind, card.text]
        texts += [number.title for number in card.numbers]
    return [text.rstrip(" 0123456789") for text in texts]


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_every_text_has_a_translation_and_none_is_left_over(client, game_id):
    english = game_in(client, game_id)
    assert list(english.language_codes) == LANGUAGES
    wanted = set(filter(None, texts_of(english)))
    for language in TRANSLATED:
        file = files("games").joinpath(game_id, f"{language}.toml")
        translated = tomllib.loads(file.read_text(encoding="utf-8"))
        assert set(translated["texts"]) == wanted
        assert all(translated["texts"].values()) and all(translated["phrases"].values())
        # A phrase is left over if it varies no phrase of the English ones.
        known = {".".join(name.split(".")[:2]) for name in english.phrases}
        assert {".".join(name.split(".")[:2]) for name in translated["phrases"]} <= known
        # Cards whose English titles differ have different titles in this language too.
        titles = {card.title for card in game_in(client, game_id, language).cards}
        assert len(titles) == len({card.title for card in english.cards})


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_an_aspect_has_a_unit_and_a_phrase_in_each_language(client, game_id):
    english, *others = (game_in(client, game_id, language) for language in LANGUAGES)
    said = {name for name in english.phrases if name.startswith("aspect.")}
    assert said == {f"aspect.{aspect.id}" for aspect in english.aspects}
    assert said and all(aspect.unit for aspect in english.aspects)
    for other in others:
        assert list(other.aspects) == list(english.aspects)
        assert all(other.phrases[name] != english.phrases[name] for name in said)
    listed = client.catalog.ListGames(catalog_pb2.ListGamesRequest()).games
    assert not any(game.aspects for game in listed)


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("language", TRANSLATED)
def test_a_phrase_has_the_same_fields_in_each_language(client, game_id, language):
    def fields(game):
        return {
            name: set(fields_of(text))
            for name, text in game.phrases.items()
            if name.startswith(("ending.", "over.", "table."))
        }

    english = game_in(client, game_id)
    assert any(name.startswith("ending.") for name in english.phrases)
    assert fields(game_in(client, game_id, language)) == fields(english)


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_card_can_be_drawn(client, game_id, language):
    game = game_in(client, game_id, language)
    assert game.language_code == language
    assert game.title and game.rules and len(game.seat_titles) == 2
    assert len({card.id for card in game.cards}) == len(game.cards) > 0
    for card in game.cards:
        assert card.title and card.kind
        # Either a text or the numbers say what the card does.
        assert card.text or card.numbers
        assert all(number.title for number in card.numbers)


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_changes_texts_and_nothing_else(client, game_id, language):
    def without_texts(game):
        for field in ("title", "rules", "seat_titles", "language_code"):
            game.ClearField(field)
        game.phrases.clear()
        for card in game.cards:
            for field in ("title", "kind", "text"):
                card.ClearField(field)
            for number in card.numbers:
                number.ClearField("title")
        return game

    english, translated = game_in(client, game_id), game_in(client, game_id, language)
    assert english.rules != translated.rules
    assert english.rules.count("\n\n") == translated.rules.count("\n\n")
    assert without_texts(english) == without_texts(translated)


def test_cards_have_the_ids_of_their_schema(client):
    knight = "CASTLE_RAMPAGE_CARD_KNIGHT"
    for game in (game_in(client, "castle_rampage"), game_in(client, "castle_rampage", "de")):
        specs = game.default_ruleset.castle_rampage.cards
        names = specs[0].DESCRIPTOR.fields_by_name["card"].enum_type.values_by_number
        prefix = knight.removesuffix("KNIGHT")
        assert [card.id for card in game.cards] == [
            names[spec.card].name.removeprefix(prefix) for spec in specs
        ]


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("", "en"),
        ("de", "de"),
        ("DE", "de"),
        ("de-AT", "de"),
        ("de-Latn-CH-1996", "de"),
        ("en-GB", "en"),
        ("qaa", "en"),  # Reserved by ISO 639-2 for local use, so no game will have it.
        ("d", "en"),
    ],
)
def test_a_language_is_found_by_its_tag(client, wanted, given):
    assert game_in(client, "skystones", wanted).language_code == given
    request = catalog_pb2.ListGamesRequest(language_code=wanted)
    games = client.catalog.ListGames(request).games
    assert [game.name for game in games] == [f"games/{game_id}" for game_id in wire.hosted_games()]
    assert {game.language_code for game in games} == {given}
    assert not any(game.cards for game in games)


@pytest.mark.parametrize("wrong", ["de_DE", "-", "de-", "deutschland", "d" + "-e" * 18])
def test_a_malformed_language_tag_is_refused(client, wrong):
    refusal = refused(game_in, client, "skystones", wrong)
    assert (refusal.reason, refusal.fields) == ("INVALID_FIELD", ["language_code"])

"""The texts of reviews in other languages, by the English ones."""

from collections.abc import Callable, Mapping

GERMAN = {
    ".": ",",  # Of a number.
    # Actions
    "castle the {} for a Rook": "Rochade: ein Turm für {}",
    "aid {}": "Hilfe: {}",
    "aid nothing": "keine Hilfe",
    "discard {}": "ablegen: {}",
    "discard nothing": "nichts ablegen",
    "{} under the {}": "{} → {}",
    "keep {}": "Hand: {}",
    "{} with bonus": "{} mit der Zusatzeinheit",
    "{} against {}": "{} gegen {}",
    "{}, discarding {}": "{}, bezahlt mit {}",
    "end the turn": "den Zug beenden",
    "{} as {}": "{} als {}",
    "{}, giving up": "{}: den Ball abgeben",
    "{}, declining": "{}: kein Angriff auf den Ball",
    # Verdicts, also counted
    "forced": "einziger Zug",
    "best": "bester Zug",
    "good": "guter Zug",
    "inaccuracy": "Ungenauigkeit",
    "mistake": "Fehler",
    "blunder": "grober Fehler",
    "unclear": "nicht zu sagen",
    # Players
    "no name": "ohne Namen",
    "random bot": "Bot Zufall",
    "beginner bot": "Bot Einsteiger",
    "casual bot": "Bot Hobbyspieler",
    "regular bot": "Bot Stammspieler",
    "skilled bot": "Bot Geübt",
    "expert bot": "Bot Experte",
    # A review of a match
    "{who} erred most in version {version}, for {points} points: better was {action}.": (
        "{who} hat in Version {version} am meisten verloren, {points} Punkte. Besser war {action}."
    ),
    "{who} made no clear error.": "{who} hat keinen klaren Fehler gemacht.",
    "The decisions of {who} were not judged.": "Die Entscheidungen von {who} sind nicht beurteilt.",
    "Luck was worth {points} points for {who}: {deal} in the deal, {later} later.": (
        "Das Glück war für {who} {points} Punkte wert: {deal} beim Geben, {later} später."
    ),
    "What turned the match, in points of a hundred for {}": (
        "Was die Partie entschied, in Punkten von 100 für {}"
    ),
    "What made the result, in points of a hundred for {}": (
        "Wie es zum Ergebnis kam, in Punkten von 100 für {}"
    ),
    "version": "Version",
    "seat": "Platz",
    "played": "gespielt",
    "better": "besser",
    "loss": "Verlust",
    "the deal": "das Geben",
    "chance": "Zufall",
    "luck of the deal": "Glück beim Geben",
    "luck of later chance": "Glück danach",
    "what {} lost": "Verluste von {}",
    "being {}": "Platz von {}",
    "the rest": "der Rest",
    "not judged": "nicht beurteilt",
    "The match is reviewed.": "Die Partie wird ausgewertet.",
    "{} of {} decisions judged": "{} von {} Entscheidungen beurteilt",
    "{} of {} searched longer": "{} von {} länger untersucht",
    ", about {} s left": ", noch etwa {} s",
    "The review was stopped.": "Die Auswertung ist angehalten.",
    "No review: {}": "Keine Auswertung: {}",
    # Reviews of many matches
    "player": "wer",
    "matches": "Partien",
    "score": "Punkte",
    "luck a match": "Glück je Partie",
    "part": "Teil",
    "decisions": "Entscheidungen",
    "loss a decision": "Verlust je Entscheidung",
    "all": "alle",
    "opening": "Anfang",
    "middle": "Mitte",
    "ending": "Ende",
}
LANGUAGES: Mapping[str, Mapping[str, str]] = {"de": GERMAN}

Say = Callable[[str], str]


def in_language(code: str) -> Say:
    """Returns what translates a text, if it can, into a language of the catalog."""
    translations = LANGUAGES.get(code, {})
    return lambda text: translations.get(text, text)

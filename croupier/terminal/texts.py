"""What the terminal says beside the phrases of the games: in other languages, by the English."""

from collections.abc import Callable, Mapping

from croupier.phrases import ORIGIN, UNLOGGED

HELP = """\
number or words  play a legal action: its number, or words of it ("rook", "imp b2")
#number          the same, where numbers name cards and "list" numbers the actions
7; 3; rook       the same with those that shall follow: the server plays each in its turn
h, hint          show what a search would play, and how it rates the actions
p, play          play what the last hint advises
l, list [words]  list the legal actions, or those with these words
v, view          draw the whole match, also what a low screen leaves out
c, cards         show the cards of the game and their numbers
rules            show the rules in short
r, resign        resign the match
q, quit          leave; the match stays as it is
?, help          show this help"""

HELP_GERMAN = """\
Nummer, Wörter   eine erlaubte Aktion: ihre Nummer oder Wörter daraus ("turm", "molch b2")
#Nummer          dasselbe, wo Nummern Karten nennen und "list" die Aktionen nummeriert
7; 3; turm       dasselbe mit denen, die folgen sollen: der Server spielt jede, wenn sie dran ist
h, hint          zeigt, was eine Suche spielen würde und wie sie die Aktionen bewertet
p, play          spielt, was der letzte Tipp rät
l, list [Wörter] zeigt die erlaubten Aktionen, oder die mit diesen Wörtern
v, view          zeichnet die ganze Partie, auch was auf einem niedrigen Schirm fehlt
c, cards         zeigt die Karten des Spiels und ihre Zahlen
rules            zeigt die Regeln in Kürze
r, resign        gibt die Partie auf
q, quit          geht; die Partie bleibt, wie sie ist
?, help          zeigt diese Hilfe"""

GERMAN = {
    ".": ",",  # Of a number.
    # A match
    "you are ": "du bist ",
    " against ": " gegen ",
    "a {}": "{}",
    "friend": "Gegenüber",
    "Type ? for help.": "Tipp ? für Hilfe.",
    "result: draw {}": "Ergebnis: unentschieden {}",
    "result: you win {}": "Ergebnis: du gewinnst {}",
    "result: {} wins {}": "Ergebnis: {} gewinnt {}",
    "{} stays unfinished on {}.": "{} bleibt unbeendet auf {}.",
    "Left": "Verlassen",
    "Interrupted": "Abgebrochen",
    "Come back with: {}": "Zurück mit: {}",
    "The seat was not saved.": "Der Platz wurde nicht gespeichert.",
    "{} has joined.": "{} ist da.",
    "The match begins when {} has joined.": "Die Partie beginnt, sobald {} da ist.",
    "waiting for {}": "warten: {}",
    "{} decides": "{} überlegt",
    "Too late: the match is over.": "Zu spät: Die Partie ist zu Ende.",
    "Too late: your time was up.": "Zu spät: Deine Zeit war um.",
    "You can only play: {}": "Du kannst nur eines spielen: {}",
    "You choose: ": "Du wählst: ",
    "You have {} seconds.": "Du hast {} Sekunden.",
    "Choose one of {}:": "Wähle eines von {}:",
    "hint: ": "Tipp: ",
    "Resign?": "Aufgeben?",
    "Rematch?": "Revanche?",
    "(y or n)": "(j oder n)",
    "Enter: go on ": "Eingabetaste: weiter ",
    "{} actions fit:": "{} Aktionen passen:",
    "{}: no legal action. ? for help.": "{}: keine erlaubte Aktion. ? für Hilfe.",
    "{}: number your cards 1 to {}, each once.": "{}: Nummern von 1 bis {}, jede einmal.",
    "{}: not in your hand.": "{}: nicht auf deiner Hand.",
    " or ": " oder ",
    "None.": "Keine.",
    'and {} more: "list", or with words "list rook", shows them': (
        'und {} weitere: "list" zeigt alle, mit Wörtern ("list turm") diese'
    ),
    "There is no hint yet: h asks for one.": "Es gibt noch keinen Tipp: h fragt danach.",
    "No hint: in this match nobody may ask for hints before it is over.": (
        "Kein Tipp: In dieser Partie gibt es vor dem Ende keine Tipps."
    ),
    "No hint: {}": "Kein Tipp: {}",
    "{} iterations. p plays it.": "{} Durchläufe. p spielt das.",
    "{} asks for a rematch.": "{} möchte eine Revanche.",
    "There is no rematch any more.": "Die Revanche gibt es nicht mehr.",
    "v reviews the match: who erred where, and what was luck.": (
        "v wertet die Partie aus: wer wo geirrt hat, und was Glück war."
    ),
    HELP: HELP_GERMAN,
    # Hints and cards
    "Play: ": "Spiel: ",
    "Drawn: ": "Ausgelost: ",
    "   {} of 100 points": "   {} von 100 Punkten",
    "   win {} %  draw {} %  loss {} %": "   Sieg {} %  Remis {} %  Niederlage {} %",
    "play": "wie oft",
    "action": "Aktion",
    "in points of 100": "in Punkten von 100",
    "searched": "Versuche",
    "as good": "genauso gut",
    "worse by {} (± {})": "um {} (± {}) schlechter",
    "worse by {}": "um {} schlechter",
    "not examined": "nicht untersucht",
    "  and {} more": "  und {} weitere",
    "expected:": "erwartet:",
    "then": "dann",
    "card": "Karte",
    "kind": "Art",
    "copies": "Anzahl",
    # Invitations
    "Your friend joins with:": "Dein Gegenüber kommt dazu mit:",
    "a friend": "jemand",
    " invites you to play ": " lädt dich ein, du spielst ",
    "Both of you may ask for hints.": "Beide dürfen nach Tipps fragen.",
    "There are no hints before the end.": "Vor dem Ende gibt es keine Tipps.",
    "{:g} seconds for a decision": "{:g} Sekunden für eine Entscheidung",
    "{:g} seconds for the match": "{:g} Sekunden für die Partie",
    "{:g} seconds back after each decision": "{:g} Sekunden zurück nach jeder Entscheidung",
    "There is no clock.": "Es gibt keine Uhr.",
    "Each of you has {}.": "Jede Seite hat {}.",
    "Join?": "Teilnehmen?",
    ORIGIN: (
        "Übung, weitergespielt ab Version {version} von {name}: Wer die Aufzeichnung jener Partie "
        "hat, kennt die Karten."
    ),
    UNLOGGED: "Kein Server bürgt für diese Aufzeichnung: Sie kann ausgedacht sein.",
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


def number(value: float, say: Say, digits: int = 0) -> str:
    """Writes a number with its thousands apart, as the language does."""
    text = f"{value:,.{digits}f}"
    return text if say(".") == "." else text.translate(str.maketrans(",.", ".,"))

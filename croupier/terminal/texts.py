"""What the terminal says beside the phrases of the games: in other languages, by the English."""

from collections.abc import Callable, Mapping

from croupier.phrases import ORIGIN, UNLOGGED
from croupier.v1.game_pb2 import OFFER_KIND_PAUSE, OFFER_KIND_TAKEBACK

HELP = """\
number or words  play a legal action: its number, or words of it ("{}")
#number          the same, where numbers name cards and "list" numbers the actions
7; 3; rook       the same with those that shall follow: the server plays each in its turn
h, hint          show what a search would play, and how it rates the actions
p, play          play what the last hint advises
l, list [words]  list the legal actions, or those with these words
v, view          draw the whole match, also what a low screen leaves out
c, cards         show the cards of the game and their numbers
rules            show the rules in short
t, takeback      ask the other player to take your last decision back
pause            ask the other player for a pause of the clocks
r, resign        resign the match
q, quit          leave; the match stays as it is
?, help          show this help"""

TO_DECIDE = 6  # So many lines, the first ones, are for a player who has to decide.
# How the lines of what is offered begin.
OFFERS: Mapping[int, str] = {OFFER_KIND_TAKEBACK: "t, ", OFFER_KIND_PAUSE: "pause "}

HELP_GERMAN = """\
Nummer, Wörter   eine erlaubte Aktion: ihre Nummer oder Wörter daraus ("{}")
#Nummer          dasselbe, wo Nummern Karten nennen und "list" die Aktionen nummeriert
7; 3; turm       dasselbe mit denen, die folgen sollen: der Server spielt jede, wenn sie dran ist
h, hint          zeigt, was eine Suche spielen würde und wie sie die Aktionen bewertet
p, play          spielt, was der letzte Tipp rät
l, list [Wörter] zeigt die erlaubten Aktionen, oder die mit diesen Wörtern
v, view          zeichnet die ganze Partie, auch was auf einem niedrigen Schirm fehlt
c, cards         zeigt die Karten des Spiels und ihre Zahlen
rules            zeigt die Regeln in Kürze
t, takeback      bittet darum, deine letzte Entscheidung zurückzunehmen
pause            bittet um eine Pause, in der die Uhren stehen
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
    "The match has no result.": "Die Partie hat kein Ergebnis.",
    "A draw: {} each.": "Unentschieden: je {}.",
    "You win, {1} to {2}.": "Du gewinnst, {1} zu {2}.",
    "{0} wins, {1} to {2}.": "{0} gewinnt, {1} zu {2}.",
    "{} stays unfinished on {}.": "{} bleibt unbeendet auf {}.",
    "Left": "Verlassen",
    "Interrupted": "Abgebrochen",
    "Come back with: {}": "Zurück mit: {}",
    "The seat was not saved.": "Der Platz wurde nicht gespeichert.",
    "{} has joined.": "{} ist da.",
    "The match begins when {} has joined.": "Die Partie beginnt, sobald {} da ist.",
    "waiting for {}": "warten: {}",
    "{} decides": "{} überlegt",
    "{} is away": "{} ist gerade nicht da",
    "The match is paused. Go on?": "Die Partie pausiert. Weiterspielen?",
    "Agree?": "Einverstanden?",
    "No offer: {}": "Kein Angebot: {}",
    "That has just been done.": "Das ist eben geschehen.",
    "The cards are not dealt yet.": "Die Karten sind noch nicht gegeben.",
    "It is not your turn. ? for help.": "Du bist nicht am Zug. ? zeigt die Hilfe.",
    "Asked. The match goes on when you play.": "Gefragt. Wenn du spielst, geht die Partie weiter.",
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
    'and {} more: "list", or with words "list {}", shows them': (
        'und {} weitere: "list" zeigt alle, mit Wörtern ("list {}") diese'
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
    "no difference seen (± {1})": "kein Unterschied gesehen (± {1})",
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
    # Puzzles
    "Opponent": "Gegner",
    "Puzzle {}": "Aufgabe {}",
    "One move is clearly the best. h shows the solution, n the next puzzle.": (
        "Ein Zug ist klar der beste. h zeigt die Lösung, n die nächste Aufgabe."
    ),
    "n, next          go on to the next puzzle": "n, next          zur nächsten Aufgabe",
    "Right!": "Richtig!",
    "There is something better. Your move, {}: {}.": "Es gibt etwas Besseres. Dein Zug, {}: {}.",
    "there are no puzzles for this game": "zu diesem Spiel gibt es keine Aufgaben",
    "the last puzzle of this game is {}": "die letzte Aufgabe dieses Spiels ist {}",
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
    # What ends the command, and matches to come back to
    "lost the server at {}": "der Server bei {} antwortet nicht mehr",
    "lost the server at {}. When it is back: {}": (
        "der Server bei {} antwortet nicht mehr. Wenn er wieder da ist: {}"
    ),
    "This seat cannot be saved, so it cannot be resumed: {}": (
        "Dieser Platz lässt sich nicht speichern, also führt nichts zu ihm zurück: {}"
    ),
    "there is no game {!r}. Games of this server: {}": (
        "es gibt kein Spiel {!r}. Spiele dieses Servers: {}"
    ),
    "this server takes no seeds. Start one that does with: {}": (
        "dieser Server nimmt keinen Startwert an. Einer, der es tut, startet mit: {}"
    ),
    "the server refused: {}": "der Server lehnt ab: {}",
    "no connection to {}: {}": "keine Verbindung zu {}: {}",
    "no server answers at {0}. Start one with: croupier serve --listen {0}": (
        "bei {0} antwortet kein Server. Einer startet mit: croupier serve --listen {0}"
    ),
    "{} is not a Croupier server: {}": "{} ist kein Server von Croupier: {}",
    "this is not an invitation of {}": "das ist keine Einladung von {}",
    "this invitation was used before: somebody else sits in your seat."
    " Ask your friend for a new match": (
        "diese Einladung ist verbraucht: Auf deinem Platz sitzt schon jemand."
        " Bitte um eine neue Partie"
    ),
    "this match ended before you joined. Ask your friend for a new one": (
        "diese Partie war zu Ende, bevor du dazukamst. Bitte um eine neue"
    ),
    "the server no longer knows this match": "der Server kennt diese Partie nicht mehr",
    "the server no longer knows this seat": "der Server kennt diesen Platz nicht mehr",
    "somebody has taken over your seat with a new token": (
        "jemand hat deinen Platz mit einem neuen Schlüssel übernommen"
    ),
    "in this match nobody may ask for hints before it is over, so --auto"
    " cannot play it. For a match with hints, create it with: --hints allow": (
        "in dieser Partie gibt es vor dem Ende keine Tipps, also kann --auto sie nicht spielen."
        " Eine Partie mit Tipps beginnt mit: --hints allow"
    ),
    "there are no saved seats: {}": "es gibt keine gespeicherten Plätze: {}",
    "no seat of the match {!r} is saved here. Saved: {}": (
        "kein Platz der Partie {!r} ist hier gespeichert. Gespeichert: {}"
    ),
    "there is no match to come back to": "es gibt keine Partie, zu der man zurückkann",
    "there is no match to come back to; no saved seat: {}": (
        "es gibt keine Partie, zu der man zurückkann; kein gespeicherter Platz: {}"
    ),
    "game": "Spiel",
    "against": "gegen",
    "since": "seit",
    "server": "Server",
    "match": "Partie",
    "Which match? (1 to {}) ": "Welche Partie? (1 bis {}) ",
}
LANGUAGES: Mapping[str, Mapping[str, str]] = {"de": GERMAN}

Say = Callable[[str], str]


def in_language(code: str) -> Say:
    """Returns what translates a text, if it can, into a language such as "de" or "de-CH"."""
    translations = LANGUAGES.get(code.partition("-")[0].lower(), {})
    return lambda text: translations.get(text, text)


def number(value: float, say: Say, digits: int = 0) -> str:
    """Writes a number with its thousands apart, as the language does."""
    text = f"{value:,.{digits}f}"
    return text if say(".") == "." else text.translate(str.maketrans(",.", ".,"))

"""Facts about the games, as text: tests/games/<game>/facts.txt, run by tests/games/test_facts.py.

A file is a list of stanzas, separated by empty lines. A stanza has a comment with the rule, and the
commands that show it. What a command prints is behind its colon, or indented below it:

    # A seat that faces a bet calls or folds.
    first = KING
    play first bet
    legal second: call, fold

No stanza depends on another. With REWRITE=1 in the environment the runner writes into the file what
the commands print, instead of comparing it. Review the diff then.

Set-up, before all other commands of a stanza:
    ruleset.OPTION = VALUE     an option of the ruleset, as JSON or as the game writes it
    FIELD = VALUE              a field of the position; the other fields are filled in to fit
    deal SEED                  a new deal instead, as in a match whose secret is the seed
    seed N                     the chance of all later actions; 0 by default

Commands. A SEAT is the title of a seat in lower case. A READER is a seat, `spectator` or `record`.
    play SEAT ACTION [SEAT ACTION]     decides for all seats that must decide; prints nothing
    refused SEAT ACTION                prints the rule that the action breaks
    refused ruleset OPTION = VALUE     prints the rule that the ruleset breaks with this option
    refused view SEAT PATH = NUMBER    prints the rule that the view breaks after this change
    cards                              the cards of the ruleset, as a client gets them
    legal SEAT                         the legal actions, in the engine's order
    deciders                           the seats that must decide
    scores                             the scores, after the end
    ending                             what decided the match, after the end: its name and sentence
    state [FIELD...]                   the state: all fields, or those named
    view READER [FIELD...]             the view of a seat or of the spectator
    events READER [KIND...]            the events of the deal or of the last `play` that the reader
                                       may see: all, or those of a kind
    possible SEAT FIELD                all values of that field in 2,000 worlds drawn by the
                                       sampler of the seat's view
    perft DEPTH                        lines of 1, 2, ... DEPTH joint actions

A subclass of `Facts` (tests/games/__init__.py) in tests/games/<game>/__init__.py holds what differs
between games, such as the names of the cards.
"""

import difflib
import os
import re
import textwrap
from pathlib import Path

import wire
from engine.errors import GameError, RulesetError
from engine.game import SPECTATOR, SeatView
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from tests.games import Facts, facts_of

FOLDER = Path(__file__).parents[1] / "games"
DRAWS = 2000


def deal(game, seed):
    """Return a match whose secret is a seed, in 32 bytes."""
    return Match(game, seed.to_bytes(32, "big"), "facts")


class StanzaRunner:
    """Runs the commands of one stanza."""

    def __init__(self, facts: Facts):
        self.facts = facts
        self.options = {}
        self.given = {}
        self.game = None
        self.position = None
        self.events = []
        self.seed = 0

    def run(self, line):
        """Run a line and return its output, as lines."""
        word, _, rest = line.partition(" ")
        target, equals, value = line.partition("=")
        if equals and " " not in target.strip():
            self.put(target.strip(), value.strip())
            return []
        if word in ("deal", "seed", "refused"):
            return getattr(self, f"do_{word}")(rest)
        self.ready()
        command = getattr(self, f"do_{word}", None)
        if command is None:
            raise ValueError(f"no such command: {word}")
        return command(rest)

    def put(self, name, value):
        if self.position is not None:
            raise ValueError("fields are set before the first command")
        if name.startswith("ruleset."):
            self.options[name.removeprefix("ruleset.")] = value
        else:
            self.given[name] = value

    def ready(self):
        if self.game is None:
            self.game = self.facts.make_game(self.options)
        if self.position is None:
            fields = self.facts.set_up(self.game, self.given)
            self.position = Position.from_fields(self.game, fields)
            self.facts.check_conserved(self.game, self.position.fields)

    def reader(self, name):
        return SPECTATOR if name == "spectator" else self.facts.seats.index(name)

    def action_text(self, action):
        return self.facts.show_action(self.game, self.game.read_action(action))

    def do_deal(self, rest):
        self.game = self.facts.make_game(self.options)
        match = deal(self.game, int(rest))
        self.position, self.events = match.position, match.events
        return []

    def do_seed(self, rest):
        self.seed = int(rest)
        return []

    def do_play(self, rest):
        written = {}
        seat = None
        for word in rest.split():
            if word in self.facts.seats:
                seat = self.facts.seats.index(word)
                written[seat] = []
            else:
                written[seat].append(word)
        joint = {
            seat: self.game.make_action(
                self.facts.read_action(self.position, seat, " ".join(words))
            )
            for seat, words in written.items()
        }
        self.events = self.position.apply(joint, self.seed)
        self.seed += 1
        return []

    def do_refused(self, rest):
        word, _, text = rest.partition(" ")
        try:
            if word == "ruleset":
                option, _, value = text.partition(" = ")
                self.facts.make_game({**self.options, option: value})
            else:
                self.ready()
                if word == "view":
                    self.change_view(text)
                else:
                    seat = self.reader(word)
                    fields = self.facts.read_action(self.position, seat, text)
                    self.position.check(seat, self.game.make_action(fields))
        except GameError as error:
            if isinstance(error, RulesetError) != (word == "ruleset"):
                raise
            return textwrap.wrap(str(error), 100)
        return ["is not refused"]

    def change_view(self, text):
        change, _, number = text.partition("=")
        reader, path = change.split()
        fields = self.position.view(self.reader(reader)).fields
        *parents, last = path.replace("]", "").replace("[", ".").split(".")
        part = fields
        for name in parents:
            part = part[int(name) if name.isdecimal() else name]
        part[int(last) if last.isdecimal() else last] = int(number)
        Sampler.of(SeatView.from_fields(self.game, fields))

    def do_cards(self, rest):
        return [
            " ".join(
                [
                    f"{card['copies']} {card['title']}, {card['kind']}:",
                    *[f"{title.lower()} {n}" for title, n in card["numbers"].items()],
                ]
            )
            for card in self.game.cards()
        ]

    def do_legal(self, rest):
        actions = [self.action_text(action) for action in self.position.legal(self.reader(rest))]
        # A line never ends within an action.
        lines = textwrap.wrap(", ".join(actions).replace(" ", "~").replace(",~", ", "), 100)
        return [line.replace("~", " ") for line in lines] or ["none"]

    def do_deciders(self, rest):
        return [" ".join(self.facts.seats[seat] for seat in self.position.deciders) or "nobody"]

    def do_scores(self, rest):
        scores = self.position.scores
        return [" ".join(f"{score:g}" for score in scores) if scores else "not over"]

    def do_ending(self, rest):
        ending = wire.write_ending(self.position.view(SPECTATOR), self.events)
        told = f"{ending.id}: {ending.text}"
        return textwrap.wrap(told, 100, subsequent_indent="  ", break_on_hyphens=False)

    def do_state(self, rest):
        return pick(self.facts.show_state(self.game, self.position.fields), rest)

    def do_view(self, rest):
        reader, _, names = rest.partition(" ")
        view = self.position.view(self.reader(reader))
        return pick(self.facts.show_view(self.game, view.fields), names)

    def do_events(self, rest):
        reader, *kinds = rest.split()
        return [
            self.facts.show_event(self.game, event)
            for event in self.events
            if (event.recorded if reader == "record" else event.seen_by(self.reader(reader)))
            if not kinds or event.kind in kinds
        ] or ["none"]

    def do_possible(self, rest):
        reader, field = rest.split()
        sampler = Sampler.of(self.position.view(self.reader(reader)))
        return sorted(
            {
                self.facts.show_state(self.game, sampler.sample(seed).fields)[field] or "nothing"
                for seed in range(DRAWS)
            }
        )

    def do_perft(self, rest):
        depths = range(1, int(rest) + 1)
        return [" ".join(str(self.position.perft(depth, self.seed)) for depth in depths)]

    def divide(self, depth):
        """Return `perft` by the first joint action, to find the one where a count is wrong."""
        return [
            f"{', '.join(self.action_text(action) for action in line)}: {count}"
            for line, count in self.position.divide(depth, self.seed).items()
        ]


def pick(shown, names):
    """Return a line for each field that is not empty, or for each named one.

    If exactly one field is named, the line is its text alone.
    """
    if names and " " not in names:
        return [shown[names] or "nothing"]
    wanted = names.split() or [name for name, text in shown.items() if text]
    return [f"{name}: {shown[name]}".rstrip() for name in wanted]


def head(command, lines):
    """Return the output of a command, headed by the command."""
    if len(lines) == 1 and len(command) + len(lines[0]) < 98:
        return [f"{command}: {lines[0]}"]
    return [f"{command}:", *[f"  {line}" for line in lines]]


class Stanza:
    """A block of a facts file."""

    def __init__(self, path, line, lines):
        self.path = path
        self.line = line
        self.lines = lines

    def __repr__(self):
        return f"{self.path.parent.name}:{self.line}"

    def run(self):
        """Run the commands; return the lines as they must be, and for each of them its place."""
        runner = StanzaRunner(facts_of(self.path.parent.name))
        lines, places, prints = [], [], False
        for number, line in enumerate(self.lines, self.line):
            if line.startswith(" "):
                continue
            command = line if line.startswith("#") else re.sub(r":( .*)?$", "", line)
            place = f"{self.path.parent.name}:{number}: {command}"
            try:
                printed = [] if line.startswith("#") else runner.run(command)
            except Exception as error:  # Any error must name the command.
                raise AssertionError(f"{place}: {type(error).__name__}: {error}") from error
            told = head(command, printed) if printed else [command]
            lines += told
            places += [place] * len(told)
            prints |= bool(printed)
        if not prints:
            raise AssertionError(f"{self} states nothing")
        return runner, lines, places

    def check(self):
        """Assert that the commands print what is written."""
        runner, lines, places = self.run()
        if lines == self.lines:
            return
        at = 0
        while at < len(lines) - 1 and lines[at : at + 1] == self.lines[at : at + 1]:
            at += 1
        message = [f"from {places[at]}"]
        message += difflib.unified_diff(self.lines, lines, "expected", "got", lineterm="", n=1)
        if "perft" in message[0]:
            depth = int(message[0].split()[-1])
            message += [f"divide {depth}:", *runner.divide(depth)]
        raise AssertionError("\n".join(message))


def read_stanzas(path):
    """Return the stanzas of a file. A block of comments alone is a heading."""
    stanzas, block = [], []
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            if not all(line.startswith("#") for line in block):
                stanzas.append(Stanza(path, number - len(block), block))
            block = []
    return stanzas


def rewrite(path):
    """Write the output of the stanzas of a file into it."""
    lines = path.read_text().splitlines()
    for stanza in reversed(read_stanzas(path)):
        at = stanza.line - 1
        try:
            _, lines[at : at + len(stanza.lines)], _ = stanza.run()
        except AssertionError:
            continue  # Its test will fail and report the error.
    path.write_text("\n".join(lines) + "\n")


def all_stanzas():
    """Return the stanzas of all files, rewritten first if REWRITE is set in the environment."""
    paths = sorted(FOLDER.glob("*/facts.txt"))
    if os.environ.get("REWRITE"):
        for path in paths:
            rewrite(path)
    return [stanza for path in paths for stanza in read_stanzas(path)]

"""Facts about the games, as text: tests/games/<game>.txt, run by tests/games/test_facts.py.

A file is a row of stanzas, parted by empty lines. A stanza says what must hold (the comment), how
to get there (the commands) and, below a line of dashes, what they print:

    # A seat that faces a bet calls or folds.
    first = KING
    play first bet
    legal second
    ----
    call, fold

Where several commands print, each of their outputs is headed by its command.

Every stanza starts afresh and stands alone. With REWRITE=1 in the environment the runner writes
what was printed into the file instead of comparing; the diff is the review.

Setting up, before everything else in a stanza:
    ruleset.OPTION = VALUE     an option of the ruleset, as JSON or as the game writes it
    FIELD = VALUE              what matters about a position; the rest is filled in so that it fits
    deal SEED                  or a new deal, as a match with that secret has it
    seed N                     the chance of all actions from here on; 0 if not said

Commands. A seat is called by its title in lower case; `spectator` and `record` also read.
    play SEAT ACTION [SEAT ACTION]     decides for all who must; prints nothing
    refused SEAT ACTION                prints the rule that the action breaks
    refused ruleset                    prints the rule that the ruleset breaks
    refused view SEAT PATH = NUMBER    prints the rule that the seat's view breaks, so changed
    cards                              the cards of the ruleset, as a client is told of them
    legal SEAT                         the legal actions, in the engine's order
    deciders                           who must decide
    scores                             the scores, once it is over
    state [FIELD...]                   what is so: all fields, or those named
    view SEAT [FIELD...]               what the reader knows
    events READER                      what it saw of the deal or of the last `play`
    possible SEAT FIELD                what that field of the state can be for all the seat knows:
                                       the different ones among 2,000 drawn worlds
    perft DEPTH                        lines of 1, 2, ... DEPTH joint actions
    playthrough [STEPS]                plays on at random: the actions, and what has changed in the
                                       views, first what only one seat sees

What is particular to a game, such as the names of its cards, is in a subclass of `Facts`
(tests/games/__init__.py) in tests/games/<game>.py.
"""

import difflib
import os
import random
import textwrap
from pathlib import Path

from engine.errors import GameError, RulesetError
from engine.game import SPECTATOR, SeatView
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from tests.games import Facts, facts_of

FOLDER = Path(__file__).parents[1] / "games"
RULE = "----"
DRAWS = 2000


def deal(game, seed):
    """A match whose secret is made of a seed."""
    return Match(game, seed.to_bytes(32, "big"), "facts")


class Stage:
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
        """Runs a line and returns what it prints, as lines."""
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
                self.facts.make_game(self.options)
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
        # An action is not broken.
        lines = textwrap.wrap(", ".join(actions).replace(" ", "~").replace(",~", ", "), 100)
        return [line.replace("~", " ") for line in lines] or ["none"]

    def do_deciders(self, rest):
        return [" ".join(self.facts.seats[seat] for seat in self.position.deciders) or "nobody"]

    def do_scores(self, rest):
        scores = self.position.scores
        return [" ".join(f"{score:g}" for score in scores) if scores else "not over"]

    def do_state(self, rest):
        return pick(self.facts.show_state(self.game, self.position.fields), rest)

    def do_view(self, rest):
        reader, _, names = rest.partition(" ")
        view = self.position.view(self.reader(reader))
        return pick(self.facts.show_view(self.game, view.fields), names)

    def do_events(self, rest):
        return [
            self.facts.show_event(self.game, event)
            for event in self.events
            if (event.recorded if rest == "record" else event.seen_by(self.reader(rest)))
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
        """`perft` by the first joint action, for a look at one that is off."""
        return [
            f"{', '.join(self.action_text(action) for action in line)}: {count}"
            for line, count in self.position.divide(depth, self.seed).items()
        ]

    def changes(self, before):
        """What has changed in each view; of a seat's, what a spectator does not see."""
        shown = []
        for viewer in (*range(2), SPECTATOR):
            fields = self.facts.show_view(self.game, self.position.view(viewer).fields)
            shown.append({name: fields[name] for name in fields if name not in self.facts.quiet})
        lines = []
        for viewer, reader in enumerate([*self.facts.seats, "all"]):
            news = [
                f"{name} {text}".rstrip()
                for name, text in shown[viewer].items()
                if before[viewer].get(name) != text and (text or name in before[viewer])
                if viewer == SPECTATOR or shown[SPECTATOR].get(name) != text
            ]
            if news:
                lines += wrap(
                    f"  {reader} {'see' if viewer == SPECTATOR else 'sees'} {'; '.join(news)}"
                )
        before[:] = shown
        return lines

    def do_playthrough(self, rest):
        steps = int(rest or self.facts.longest)
        rng = random.Random(self.seed)
        lines = []
        before = [{}, {}, {}]
        while True:
            lines += self.changes(before)
            if self.position.over:
                return [*lines, *self.do_scores("")]
            if not steps:
                return lines
            steps -= 1
            joint = {seat: rng.choice(self.position.legal(seat)) for seat in self.position.deciders}
            lines += wrap(
                "; ".join(
                    f"{self.facts.seats[seat]}: {self.action_text(action)}"
                    for seat, action in joint.items()
                )
            )
            self.events = self.position.apply(joint, self.seed)
            self.seed += 1


def wrap(text):
    """A long line as several, the later ones indented."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_on_hyphens=False)


def pick(shown, names):
    """Lines for all fields that say something, or for those named; just what it says, if one is."""
    if names and " " not in names:
        return [shown[names] or "nothing"]
    wanted = names.split() or [name for name, text in shown.items() if text]
    return [f"{name}: {shown[name]}".rstrip() for name in wanted]


def head(command, lines):
    """What a command prints, headed by the command."""
    if len(lines) == 1 and len(command) + len(lines[0]) < 98:
        return [f"{command}: {lines[0]}"]
    return [f"{command}:", *[f"  {line}" for line in lines]]


class Stanza:
    """A block of a facts file."""

    def __init__(self, path, line, lines):
        self.path = path
        self.line = line
        rule = lines.index(RULE)
        self.head = lines[:rule]
        self.expected = lines[rule + 1 :]

    def __repr__(self):
        return f"{self.path.parent.name}:{self.line}"

    def run(self):
        """Runs the commands; returns what they print and, for each printed line, its command."""
        stage = Stage(facts_of(self.path.parent.name))
        outputs = []
        for offset, line in enumerate(self.head):
            if not line.startswith("#"):
                where = f"{self.path.parent.name}:{self.line + offset}: {line}"
                try:
                    lines = stage.run(line)
                except Exception as error:  # Whatever it is, its command must be named.
                    raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
                if lines:
                    outputs.append((where, line, lines))
        if len(outputs) > 1:
            outputs = [(where, line, head(line, lines)) for where, line, lines in outputs]
        printed = [text for _, _, lines in outputs for text in lines]
        return stage, printed, [where for where, _, lines in outputs for _ in lines]

    def check(self):
        """Asserts that it prints what is expected."""
        stage, printed, sources = self.run()
        if printed == self.expected:
            return
        same = 0
        while same < min(len(printed), len(self.expected)) and printed[same] == self.expected[same]:
            same += 1
        message = [f"from {(sources[same:] or sources[-1:] or [repr(self)])[0]}"]
        message += difflib.unified_diff(self.expected, printed, "expected", "got", lineterm="", n=1)
        if "perft" in message[0]:
            depth = int(message[0].split()[-1])
            message += [f"divide {depth}:", *stage.divide(depth)]
        raise AssertionError("\n".join(message))


def read_stanzas(path):
    """The stanzas of a file; a block without a rule is a heading."""
    stanzas, block, start = [], [], 1
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.strip():
            if not block:
                start = number
            block.append(line)
        elif block:
            if RULE in block:
                stanzas.append(Stanza(path, start, block))
            elif any(not line.startswith("#") for line in block):
                raise ValueError(f"{path.parent.name}:{start}: a stanza without {RULE}")
            block = []
    return stanzas


def rewrite(path):
    """Writes what the stanzas of a file print into it."""
    lines = path.read_text().splitlines()
    for stanza in reversed(read_stanzas(path)):
        at = stanza.line - 1 + len(stanza.head) + 1
        try:
            _, printed, _ = stanza.run()
        except AssertionError:
            continue  # Its test will tell.
        lines[at : at + len(stanza.expected)] = printed
    path.write_text("\n".join(lines) + "\n")


def all_stanzas():
    """The stanzas of all files, rewritten first if REWRITE is set in the environment."""
    paths = sorted(FOLDER.glob("*/facts.txt"))
    if os.environ.get("REWRITE"):
        for path in paths:
            rewrite(path)
    return [stanza for path in paths for stanza in read_stanzas(path)]

"""One match for a report on balance: played by the arena, and noted as one line of JSON.

A match of two equal players is a function of its number, so each number is one deal, with the same
chance under two rulesets as far as both allow it. Pairs of a stronger player exchange the seats.

What lies in a hand is told by the hidden places of the contract: what a seat hides from the other.
A card is *played* where an action names it, unless the action, its field, or another value of it is
called so that it is not: "discard...", "decline" or "give_up". It is *drawn* where it comes to a
hand, and the seat's own action does not name it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import wire
from croupier.phrases import Words, kind_of
from engine.game import SEATS, SPECTATOR, Game
from engine.match import Match
from engine.position import Position
from lab import arena
from lab.arena import DRAW, Events, Task
from service.api.catalog_service import describe

Line = dict[str, Any]
Counts = Counter[int]  # By the place of a card in the catalog.
Order = tuple[str, int, Task]  # "match", or "pair" of two strengths; which ruleset; what to play.

GRID = 20  # Parts of a match for which its expected score is kept.
DEALS = 64  # Other deals, for the luck of the deal.
LEADS = 0.6  # A seat that expects more leads.
DECIDED = 0.9  # A match is decided once a seat expects more for good.
THINKING, OBVIOUS = 8.0, 1.0  # Seconds of a person for a decision with a choice, and without.
UNPLAYED = re.compile("discard|decline|give_up")
NOTED = ("opening", "drawn", "played", "left", "could", "did")


def play(order: Order) -> Line:
    """Plays a match or a pair, and returns what is noted of it."""
    kind, arm, task = order
    head = {"kind": kind, "arm": arm, "match": task.pair}
    if kind == "pair":
        return head | {"score": arena.play_pair(task._replace(playouts=0)).score}
    match = Match(arena.game_of(task.game_id, task.ruleset), arena.secret_of(task))
    trace = Trace(match, task)
    arena.play(match, [arena.player_of(each) for each in (task.first, task.second)], task, trace)
    return head | trace.line()


class Trace(arena.Steps):
    """What happens in a match, from the deal on."""

    def __init__(self, match: Match, task: Task) -> None:
        super().__init__(match, task)
        self._luck = arena.luck_of(task, arena.SAMPLES)
        deal, _ = arena.luck_of(task, DEALS).deal(match.position, self.chance("deal"))
        # What AIVAT adds to the score: `deal`, `later`, `sampled` and `after_start`, these two with
        # the luck of decisions that were drawn from known shares.
        counted = ("turns", "decisions", "forced", "minutes", "later", "after_start")
        self._noted: Line = dict.fromkeys(counted, 0)
        self._noted |= {"starter": None, "ending": "", "deal": deal}
        self._values = [self._luck.mean_score(match.position, self.chance("value"))]
        self._cards = {name: (Counts(), Counts()) for name in NOTED}
        self._hands = [hand(match.position, seat) for seat in range(SEATS)]
        for seat, held in enumerate(self._hands):
            dealt = held or hand(match.position, seat, elsewhere=True)
            for name in ("opening", "drawn"):
                self._cards[name][seat].update(dealt)
        self._turn: tuple[int, ...] = ()

    def stepped(
        self, before: Position, joint: Mapping[int, int], after: Position, happened: Events
    ) -> None:
        noted, deciders, corrected = self._noted, tuple(sorted(joint)), self.correction
        if noted["starter"] is None and len(deciders) == 1:
            noted |= {"starter": deciders[0], "after_start": -corrected}
        noted["turns"] += deciders != self._turn or len(deciders) == SEATS
        self._turn = deciders
        legal = {seat: before.legal(seat) for seat in deciders}
        free = [seat for seat in deciders if len(legal[seat]) > 1]
        noted["decisions"] += len(deciders)
        noted["forced"] += len(deciders) - len(free)
        noted["minutes"] += (THINKING if free else OBVIOUS) / 60
        for seat in free:
            self._choose(before.game, seat, joint[seat], legal[seat])
        super().stepped(before, joint, after, happened)
        luck = self.correction - corrected
        if any(len(each) > 1 for each in self._shares):  # Which action was drawn is no luck.
            made = [[(joint[seat], 1.0)] if seat in joint else [] for seat in range(SEATS)]
            luck = self._luck.correction(before, made, after, self.chance("luck"))
        noted["later"] += luck
        self._values.append(self._luck.mean_score(after, self.chance("value")))
        for seat, held in enumerate(self._hands):
            self._hands[seat] = hand(after, seat)
            taken = Counter(named(before.game, joint[seat]) if seat in joint else ())
            self._cards["drawn"][seat].update(self._hands[seat] - held - taken)
        if after.over and not after.game.reference:  # Those for study have no words.
            told = wire.write_ending(after.view(SPECTATOR), happened)
            noted["ending"] = told.id if told else ""

    def _choose(self, game: Game, seat: int, action: int, legal: tuple[int, ...]) -> None:
        # It could play a card, or not, if some of its actions play it, and some do not.
        holds = self._hands[seat]
        played = [card for card in named(game, action) if card in holds]
        options = [set(named(game, each)) & set(holds) for each in legal]
        choices = set().union(*options) - options[0].intersection(*options)
        self._cards["played"][seat].update(played)
        self._cards["could"][seat].update(choices)
        self._cards["did"][seat].update(choices & set(played))

    def line(self) -> Line:
        """What is noted of the match, which is over."""
        assert self._match.scores is not None
        score = self._match.scores[0]
        values = [*self._values[:-1], score]
        leaders = [value > DRAW for value in values if abs(value - DRAW) > LEADS - DRAW]
        of_winner = [value if score > DRAW else 1 - value for value in values]
        open_until = max((n for n, each in enumerate(of_winner) if each < DECIDED), default=-1)
        last = len(values) - 1
        for seat in range(SEATS):
            self._cards["left"][seat].update(self._hands[seat])
        self._noted["after_start"] += self.correction
        return self._noted | {
            "score": score,
            "sampled": self.correction,
            "leads": sum(a != b for a, b in pairwise(leaders)),
            # 1 if it never was before its end, as of a draw.
            "decided": 1.0 if score == DRAW else min(open_until + 1, last) / last,
            "values": [round(values[n * last // GRID], 3) for n in range(GRID + 1)],
            "cards": {
                name: [{str(card): n for card, n in sorted(each.items())} for each in both]
                for name, both in self._cards.items()
            },
        }


def hand(position: Position, seat: int, elsewhere: bool = False) -> Counts:
    """The cards in the hand of a seat; with `elsewhere`, all that it hides from the other."""
    found = Counts()
    for name, counts in position.hidden(1 - seat).items():
        if name.startswith("opponent") if elsewhere else name.endswith("hand"):
            found.update({card: n for card, n in enumerate(counts) if n})
    return found


@lru_cache(1 << 17)
def named(game: Game, action: int) -> tuple[int, ...]:
    """The cards that an action plays, by their places in the catalog, each as often as it does."""
    if game.reference:
        return ()
    words, places = _catalog(game)
    message = wire.messages(game.id).read(wire.write_action(game, action))
    kind = kind_of(message)
    if kind is None or UNPLAYED.match(kind.name):
        return ()
    found: list[int] = []
    for field in kind.message_type.fields:
        if not field.message_type and not UNPLAYED.match(field.name):
            values = words.field(getattr(message, kind.name), field).values
            said = [value.keys[0] for value in values]
            if words.holds_cards(field):
                found += [places[each] for each in said if each in places]
            elif field.enum_type and any(map(UNPLAYED.match, said)):
                return ()
    return tuple(found)


@cache
def _catalog(game: Game) -> tuple[Words, dict[str, int]]:
    catalog = describe(game)
    return Words(catalog), {card.id.lower(): n for n, card in enumerate(catalog.cards)}

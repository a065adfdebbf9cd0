"""How the facts of PowerShot Soccer are written.

A card is written as its title, with _ for spaces: Long_Range_Shot_5. The option `cards` is written
as roles and powers, with copies if there are several:

    ruleset.cards = PASS 1, STAR_PLAYER 8 *2

A position is at the start of a half, unless there is an attack:

    half = 2                   1 if not said
    goals = 1 0                of home and away, in the first half
    first_kick_off = away      the seat that kicked off the first half: home if not said
    home.hand = Pass_1 ...     completed with the first cards of the list that are left
    home.draw_pile = Save_3 ...    the cards on top, the top one first; the others lie below
    attack = Pass_1 Cross_4    standing possession cards, in order, as pass and dribble. Their seat
                               held them besides its hand; the other declined with Saves

An action is written as the card and the role it is played in: `Pass_3 pass`, `Save_1 give_up`.
"""

from collections import Counter
from typing import ClassVar

from engine.position import Position
from tests.games import Facts

ROLES = [
    "none",
    "pass",
    "dribble",
    "cross",
    "fancy_footwork",
    "shoot",
    "long_range_shot",
    "tackle",
    "intercept",
    "save",
    "star_player",
    "give_up",
    "decline",
]
OUTCOMES = ["open", "stands", "repelled", "lost", "goal", "given_up"]
PHASES = ["over", "attack", "defend"]
PASSES = ("pass", "cross")


def read_card_list(text):
    """Read a card list for a ruleset from its text."""
    cards = []
    for spec in text.split(","):
        role, power, *copies = spec.split()
        card = {"role": ROLES.index(role.lower()), "power": int(power)}
        cards.append(card | ({"copies": int(copies[0].removeprefix("*"))} if copies else {}))
    return cards


def spread(counts):
    """The sorted cards of a multiset."""
    return [card for card, count in enumerate(counts) for _ in range(count)]


SMALL = "PASS 2 *2, SHOOT 1, STAR_PLAYER 3, INTERCEPT 2 *2, LONG_RANGE_SHOT 4 *3, SAVE 4"
STARS = "STAR_PLAYER 1 *4, STAR_PLAYER 5 *3, CROSS 1 *2, FANCY_FOOTWORK 1, SHOOT 20 *3"
# More types with several copies than the sampler counts.
PAIRS = ", ".join(
    f"{role} {power} *2"
    for role in ("PASS", "DRIBBLE", "SHOOT", "TACKLE", "INTERCEPT", "SAVE")
    for power in (2, 6)
)


class PowerShotSoccerFacts(Facts):
    """PowerShot Soccer."""

    rulesets: ClassVar[dict] = {
        "default": {},
        "small": {"hand_size": 4, "cards": read_card_list(SMALL)},
        "stars": {"hand_size": 5, "cards": read_card_list(STARS)},
        "pairs": {"cards": read_card_list(PAIRS)},
    }
    small_rulesets: ClassVar[dict] = {
        "star": {
            "hand_size": 2, "cards": read_card_list("PASS 1 *2, STAR_PLAYER 2, SAVE 1"),
        },
        "long_range": {
            "hand_size": 1, "cards": read_card_list("DRIBBLE 1, LONG_RANGE_SHOT 2 *2"),
        },
    }  # fmt: skip
    # In each half, each seat plays at most 44 cards.
    longest = 4 * 44

    def read_option(self, name, text):
        return read_card_list(text) if name == "cards" else super().read_option(name, text)

    def title(self, game, card):
        """The text of a card."""
        return game.cards()[card]["title"].replace(" ", "_")

    def titles(self, game, cards):
        """The text of some cards."""
        names = [card["title"].replace(" ", "_") for card in game.cards()]
        return " ".join(names[card] for card in cards)

    def read_cards(self, game, text):
        """The cards of a list."""
        names = [card["title"].replace(" ", "_") for card in game.cards()]
        return [names.index(word) for word in text.split()]

    def set_up(self, game, given):
        given = dict(given)
        fields = Position.deal(game, 0).fields
        common = fields["common"]
        common["half"] = int(given.pop("half", 1))
        common["goals"] = [int(n) for n in given.pop("goals", "0 0").split()]
        first = common["first_kick_off"] = self.seats.index(given.pop("first_kick_off", "home"))
        common["possession"] = first if common["half"] == 1 else 1 - first
        attack = self.read_cards(game, given.pop("attack", ""))
        saves = [n for n, spec in enumerate(game.ruleset["cards"]) if spec["role"] == 9]
        answers = saves[: len(attack)]
        played = [attack, answers] if common["possession"] == 0 else [answers, attack]
        for seat, name in enumerate(self.seats):
            hand = self.read_cards(game, given.pop(f"{name}.hand", ""))
            top = self.read_cards(game, given.pop(f"{name}.draw_pile", ""))
            left = Counter(spread(spec["copies"] for spec in game.ruleset["cards"]))
            left.subtract([*hand, *top, *played[seat]])
            if min(left.values()) < 0:
                raise ValueError(f"{name} has a card too often")
            rest = list(left.elements())
            size = game.ruleset["hand_size"]
            missing = size - len(hand)
            # At first the hand holds the cards of the attack. Each play draws a card of the given
            # hand.
            held = played[seat] + hand + rest[:missing]
            pile = held[size:] + top + rest[missing:]
            own = fields["own"][seat]
            own["hand"] = [held[:size].count(card) for card in range(len(own["hand"]))]
            own["draw_pile"] = pile[::-1] + [0] * (len(own["draw_pile"]) - len(pile))
        self.show_kick_off(game, fields)
        if given:
            raise ValueError(f"no such field: {', '.join(given)}")
        position = Position.from_fields(game, fields)
        for card, answer in zip(attack, answers, strict=True):
            role = ROLES[game.ruleset["cards"][card]["role"]]
            self.play(position, f"{self.title(game, card)} {attack_role(role)}")
            self.play(position, f"{self.title(game, answer)} decline")
        return position.fields

    def show_kick_off(self, game, fields):
        """Show one pair of kick-off cards of the draw piles that gives the kick-off to its seat."""
        common = fields["common"]
        powers = [spec["power"] for spec in game.ruleset["cards"]]
        piles = [
            own["draw_pile"][:size] if common["half"] == 1 else range(len(powers))
            for own, size in zip(fields["own"], common["draw_sizes"], strict=True)
        ]
        lead = -1 if common["first_kick_off"] else 1
        pair = next(
            ([a, b] for a in piles[0] for b in piles[1] if (powers[a] - powers[b]) * lead > 0),
            None,
        )
        if pair is None:
            raise ValueError("the draw piles cannot have shown who kicks off")
        common["kick_offs"] = 1
        none = [[0, 0]] * (len(common["kick_off_cards"]) - 1)
        common["kick_off_cards"] = [pair, *none]

    def play(self, position, text):
        """Play a card of the seat that must decide."""
        seat = position.deciders[0]
        action = position.game.make_action(self.read_action(position, seat, text))
        position.apply({seat: action}, 0)

    def read_action(self, position, seat, text):
        name, role = text.split()
        card = self.read_cards(position.game, name)[0]
        return {"kind": "play_card", "card": card, "role": ROLES.index(role)}

    def show_action(self, game, fields):
        return f"{self.title(game, fields['card'])} {ROLES[fields['role']]}"

    def show_plays(self, game, plays):
        """The text of some plays and their outcomes."""
        return ", ".join(
            f"{self.seats[play['seat']]} {self.show_action(game, play)}"
            + (f" {OUTCOMES[play['outcome']]}" if play["outcome"] else "")
            for play in plays
        )

    def show_common(self, game, common):
        """The public part of a state or view."""
        plays = common["plays"][: common["play_count"]]
        shows = common["kick_off_cards"][: common["kick_offs"]]
        return {
            "phase": PHASES[common["phase"]],
            "half": str(common["half"]),
            "goals": " ".join(map(str, common["goals"])),
            "possession": self.seats[common["possession"]],
            "standing": str(common["standing"]),
            "draw_sizes": " ".join(map(str, common["draw_sizes"])),
            "kick_off": ", ".join(self.titles(game, pair) for pair in shows),
            "first_kick_off": self.seats[common["first_kick_off"]],
            "play_piles": self.show_plays(game, plays[common["attack_start"] :]),
            "discarded": self.show_plays(game, plays[: common["attack_start"]]),
        }

    def show_state(self, game, fields):
        shown = self.show_common(game, fields["common"])
        for seat, name in enumerate(self.seats):
            own = fields["own"][seat]
            pile = own["draw_pile"][: fields["common"]["draw_sizes"][seat]]
            shown[f"{name}.hand"] = self.titles(game, spread(own["hand"]))
            shown[f"{name}.draw_pile"] = self.titles(game, pile[::-1])
        return shown

    def show_view(self, game, fields):
        shown = self.show_common(game, fields["common"])
        shown["hand"] = self.titles(game, spread(fields["hand"]))
        return shown

    def show_event(self, game, event):
        kind, values = event.kind.removesuffix("_hidden"), list(event.values)
        if event.kind in ("shuffled", "drawn", "kick_off_shown"):
            text = self.titles(game, values)
        elif kind == "played":
            text = f"{self.title(game, values[0])} {ROLES[values[1]]}"
        elif kind == "exchange_decided":
            text = f"{OUTCOMES[values[0]]} {values[1]} against {values[2]}"
        elif kind == "half_ended":
            text = f"{values[0]} at {values[1]} {values[2]}"
        else:
            text = str(values[0])
        seat = self.seats[event.seat] if event.seat >= 0 else ""
        return f"{seat} {kind} {text}".strip()

    def check_conserved(self, game, fields):
        common = fields["common"]
        copies = [spec["copies"] for spec in game.ruleset["cards"]]
        for seat, own in enumerate(fields["own"]):
            size = common["draw_sizes"][seat]
            cards = Counter(spread(own["hand"]) + own["draw_pile"][:size])
            assert not any(own["draw_pile"][size:])
            assert sum(own["hand"]) == game.ruleset["hand_size"]
            plays = common["plays"][: common["play_count"]]
            cards.update(play["card"] for play in plays if play["seat"] == seat)
            assert cards == dict(enumerate(copies))

    def hidden(self, game, fields, seat):
        # The next cards of the draw piles, too, as far as small rulesets allow.
        top = [
            own["draw_pile"][max(0, size - 2) : size]
            for own, size in zip(fields["own"], fields["common"]["draw_sizes"], strict=True)
        ]
        return *fields["own"][1 - seat]["hand"], *map(tuple, top)


def attack_role(role):
    """The role in which a possession card is played."""
    return "pass" if role in PASSES else "dribble"

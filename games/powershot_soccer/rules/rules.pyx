"""PowerShot Soccer: two halves of attack and defence, by the rules sheet of the card game.

HOME (seat 0) and AWAY (seat 1) each have a deck of their own with the same 55 cards: a hand of 11
and a draw pile. They play one card at a time, face up, onto their play piles, and draw one at once,
so a hand always holds 11. More goals after two halves win; equal goals are a draw.

*Attack.* The seat in possession plays a card:

- A possession card: a Pass or Cross as a pass, a Dribble or Fancy Footwork as a dribble. If it is
  not challenged it stands.
- A shot: a Shoot if at least 2 possession cards of this attack stand, a Long Range Shot if at least
  1 does. Its total is its power, +2 for every standing card beyond those needed, and +2 if the last
  of them is a Cross or a Fancy Footwork.
- Any other card, or a shot that may not be played yet, gives up possession to the other seat.

*Defence.* The other seat answers every possession card and every shot with a card. An Intercept
challenges a pass, a Tackle a dribble, a Save a shot; any other card declines.

- A challenge with more power wins possession. With equal power the attacker keeps possession and
  begins a new attack. A challenge with less power counts as declined.
- A possession card is compared by its own power, a shot by its total. A total above 8 is a
  PowerShot, against which no Save counts.
- A shot that is not saved is a goal, and possession goes to the defender.

The Star Player is played as a Pass, Dribble, Shoot, Tackle, Intercept or Save, as its seat says; it
may also give up or decline. As a possession card it is neither a Cross nor a Fancy Footwork.

Whenever possession changes, an attack begins anew or a goal falls, both play piles are discarded.

*Halves.* For the first kick-off both seats show a random card of their draw piles. The higher power
kicks off. After equal powers both show again, and after eight equal pairs chance decides. The shown
cards are shuffled back. A half ends as soon as a seat has drawn the last card of its draw pile, but
a shot is still answered. Then all cards are shuffled, and the seat that did not kick off the first
half kicks off the second. A card that a seat draws as the first half ends goes back unseen.

For what can be known of the opponent's hand, see games/powershot_soccer/play/sampler.pyx.
Source: the rules sheet of PowerShot Soccer. How many copies there are of which power is a
reconstruction, from the sheet's examples and photographs of the cards.
"""

import csv
from pathlib import Path

from libc.string cimport memcpy, memset

from engine.chance cimport Rng, mix, rng_below, rng_shuffle
from engine.events cimport NO_SEAT, TO_PUBLIC, TO_RECORD, log_event, log_private, to_seat
from engine.game cimport ABI, NOBODY, SEATS, SPECTATOR, Action, Cards, Game, State, View, action_at
from games.powershot_soccer.rules.state cimport *

from engine.card_list import check_ranges, copies, read_options
from engine.errors import ActionError, RulesetError
from games.powershot_soccer.rules.words import PHRASES

cdef enum:
    # Hidden places: rows of `hidden`, named in `hidden_places`.
    OPPONENT_HAND = 0
    OPPONENT_PILE

ROLE_NAMES = ("", "PASS", "DRIBBLE", "CROSS", "FANCY_FOOTWORK", "SHOOT", "LONG_RANGE_SHOT",
              "TACKLE", "INTERCEPT", "SAVE", "STAR_PLAYER", "GIVE_UP", "DECLINE")
ROLE_KINDS = {PASS: "possession", DRIBBLE: "possession", CROSS: "possession",
              FANCY_FOOTWORK: "possession", SHOOT: "shot", LONG_RANGE_SHOT: "shot",
              TACKLE: "defence", INTERCEPT: "defence", SAVE: "defence", STAR_PLAYER: "star"}
ROLE_TEXTS = {
    PASS: "Stands unless it is intercepted.",
    DRIBBLE: "Stands unless it is tackled.",
    CROSS: "A Pass; a shot right after it gets +2.",
    FANCY_FOOTWORK: "A Dribble; a shot right after it gets +2.",
    SHOOT: "A shot once 2 possession cards stand; +2 for each one more.",
    LONG_RANGE_SHOT: "A shot once 1 possession card stands; +2 for each one more.",
    TACKLE: "Challenges a Dribble or Fancy Footwork.",
    INTERCEPT: "Challenges a Pass or Cross.",
    SAVE: "Stops a shot of at most 8.",
    STAR_PLAYER: "Played as a Pass, Dribble, Shoot, Tackle, Intercept or Save.",
}
RANGES = {"role": (1, STAR_PLAYER), "power": (1, MAX_POWER), "copies": (1, MAX_COPIES)}

assert sizeof(SoccerState) <= sizeof(State)
assert sizeof(SoccerView) <= sizeof(View)


cdef inline void begin_attack(Common* common, int seat) noexcept nogil:
    # Both play piles are discarded.
    common.phase = ATTACK
    common.possession = seat
    common.standing = 0
    common.attack_start = common.play_count


cdef inline int answer_owed(const Common* common) noexcept nogil:
    # The role that challenges the card that is to be answered; 0 if there is none.
    if common.phase != DEFEND:
        return 0
    return defence_against(common.plays[common.play_count - 1].role)


cdef inline int roles_of(int role, int standing, int defence, uint8_t* roles) noexcept nogil:
    # The roles in which a card of this role can be played, ascending; returns how many.
    cdef bint star = role == STAR_PLAYER
    cdef int n = 0
    if defence:
        if role == defence or star:
            roles[0] = defence
            n = 1
        if role != defence:
            roles[n] = DECLINE
            n += 1
        return n
    if role == PASS or role == CROSS or star:
        roles[n] = PASS
        n += 1
    if role == DRIBBLE or role == FANCY_FOOTWORK or star:
        roles[n] = DRIBBLE
        n += 1
    if ((role == SHOOT or role == LONG_RANGE_SHOT or star)
            and standing >= needed_to_shoot(role)):
        roles[n] = SHOOT
        n += 1
    # Only the star may give up possession although it could attack.
    if n == 0 or star:
        roles[n] = GIVE_UP
        n += 1
    return n


cdef class PowerShotSoccer(Game):
    """PowerShot Soccer under one ruleset: `hand_size` and `cards`."""

    id = "powershot_soccer"
    abi = ABI
    effective_rounds = 50
    unseen_order = True
    temperatures = {"beginner": 1.13, "casual": 1.06, "regular": 1.03, "skilled": 0.95}
    title = "PowerShot Soccer"
    summary = (
        "Home and Away each have a deck of the same cards. They play one card at a time and draw "
        "one at once. More goals in two halves win; equal goals are a draw.\n\n"
        "The seat in possession attacks with Passes and Dribbles; the other answers each with a "
        "card. An Intercept against a Pass, or a Tackle against a Dribble, wins possession if its "
        "power is higher, and begins the attack anew if it is equal; otherwise the card stands. "
        "When two possession cards stand the attacker may shoot, with a Long Range Shot after "
        "one. Each further one gives the shot +2, and so does a Cross or Fancy Footwork played "
        "just before it. Only a Save of the same power or more stops a shot, and none stops a "
        "PowerShot, one above 8.\n\n"
        "The Star Player can be played as almost anything. For the kick-off of the first half each "
        "seat shows a random card of its draw pile, and the higher power kicks off; at equal "
        "powers both show again, and after eight equal pairs chance decides. The other seat kicks "
        "off the second half. A half ends when a seat draws its last card; a shot is still "
        "answered."
    )
    seat_titles = ("Home", "Away")
    phrases = PHRASES
    event_kinds = {
        SHUFFLED: "shuffled: cards*",
        SHUFFLED_HIDDEN: "shuffled_hidden: count",
        DRAWN: "drawn: cards*",
        DRAWN_HIDDEN: "drawn_hidden: count",
        KICK_OFF_SHOWN: "kick_off_shown: card",
        HALF_STARTED: "half_started: half",
        PLAYED: "played: card role",
        EXCHANGE_DECIDED: "exchange_decided: outcome power defence",
        HALF_ENDED: "half_ended: half goals*",
    }
    hidden_places = ("opponent_hand", "opponent_pile")

    def read_ruleset(self, given):
        self.state_bytes = sizeof(SoccerState)
        ruleset = read_options(given, {"hand_size": MAX_HAND, "cards": None}, self.title)
        check_ranges(ruleset, {"hand_size": (1, MAX_HAND)})
        ruleset["cards"] = read_cards(ruleset["cards"] or default_cards())
        self.hand_size = ruleset["hand_size"]
        self.set_cards(ruleset["cards"])
        if self.deck_size <= self.hand_size:
            raise RulesetError(
                "cards", f"must be more than the {self.hand_size} cards of a hand", "TOO_FEW_CARDS")
        return ruleset

    cdef set_cards(self, specs):
        cdef int card, other
        self.types = len(specs)
        self.deck_size = copies(specs)
        for card, spec in enumerate(specs):
            self.roles[card] = spec["role"]
            self.powers[card] = spec["power"]
            self.copies[card] = spec["copies"]
            self.of_role[self.roles[card]] |= <uint64_t> 1 << card
        for card in range(self.types):
            for other in range(self.types):
                if other != card and self.covers(card, other):
                    self.weaker[card] |= <uint64_t> 1 << other

    cdef bint covers(self, int card, int other) noexcept nogil:
        # Whether a card can be played wherever another one can, and is worth as much there.
        cdef int role = self.roles[card], other_role = self.roles[other]
        cdef int power = self.powers[card]
        if role == LONG_RANGE_SHOT and other_role == SHOOT:
            # It needs fewer standing cards, so its total is higher where both can shoot.
            power += BONUS * (NEEDED_TO_SHOOT - NEEDED_FOR_LONG_RANGE)
        return power >= self.powers[other] and (
            role == other_role
            or role == CROSS and other_role == PASS
            or role == FANCY_FOOTWORK and other_role == DRIBBLE
            or role == LONG_RANGE_SHOT and other_role == SHOOT
            or role == STAR_PLAYER
            and other_role in (PASS, DRIBBLE, SHOOT, TACKLE, INTERCEPT, SAVE))

    def cards(self):
        return [
            {"id": str(card), "title": card_title(spec), "kind": ROLE_KINDS[spec["role"]],
             "copies": spec["copies"], "numbers": {"Power": spec["power"]},
             "text": ROLE_TEXTS[spec["role"]]}
            for card, spec in enumerate(self.ruleset["cards"])
        ]

    cdef state_fields(self, const State* state):
        return (<SoccerState*> state)[0]

    cdef fill_state(self, State* state, fields):
        (<SoccerState*> state)[0] = fields

    cdef view_fields(self, const View* view):
        return (<SoccerView*> view)[0]

    cdef fill_view(self, View* view, fields):
        (<SoccerView*> view)[0] = fields

    def read_action(self, action):
        return {"kind": "play_card", "card": action >> ROLE_BITS,
                "role": action & ((1 << ROLE_BITS) - 1)}

    def make_action(self, fields):
        if fields["kind"] != "play_card":
            raise ActionError("kind", "must be play_card")
        if not 0 <= fields["card"] < self.types:
            raise ActionError("card", f"must be 0 to {self.types - 1}")
        if not 0 < fields["role"] < ROLES:
            raise ActionError("role", f"must be 1 to {ROLES - 1}")
        return <Action> fields["card"] << ROLE_BITS | <Action> fields["role"]

    def explain(self, position, int seat, action):
        fields = position.fields
        common = fields["common"]
        card, role = action >> ROLE_BITS, action & ((1 << ROLE_BITS) - 1)
        if card >= self.types:
            return "NO_SUCH_CARD", f"there is no card {card}"
        title = card_title(self.ruleset["cards"][card])
        if not fields["own"][seat]["hand"][card]:
            return "NOT_IN_HAND", f"{title} is not in the hand"
        now = [ROLE_NAMES[legal & ((1 << ROLE_BITS) - 1)] for legal in position.legal(seat)
               if legal >> ROLE_BITS == card]
        rule = f"{title} can be played now only as {' or '.join(now)}"
        if common["phase"] == ATTACK and role == SHOOT and self.roles[card] in (
                SHOOT, LONG_RANGE_SHOT, STAR_PLAYER):
            rule += (f": a shot with it needs {needed_to_shoot(self.roles[card])} standing "
                     f"possession cards, there being {common['standing']}")
        return "WRONG_ROLE", rule

    @property
    def most_legal(self):
        return self.hand_size * MAX_ROLES

    # The rules

    cdef void deal(self, State* state, Rng* rng, EventLog* log) noexcept nogil:
        memset(state, 0, sizeof(State))
        self.begin_half(<SoccerState*> state, 1, rng, log)

    cdef int deciders(self, const State* state) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        return NOBODY if common.phase == OVER else 1 << seat_to_play(common)

    cdef int legal(self, const State* state, int seat, Action* actions) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef uint64_t cards = held(soccer.own[seat].hand)
        cdef int standing = soccer.common.standing
        cdef int defence = answer_owed(&soccer.common)
        cdef uint8_t roles[MAX_ROLES]
        cdef int card, i, n = 0
        while cards:
            card = lowest_one(cards)
            cards &= cards - 1
            for i in range(roles_of(self.roles[card], standing, defence, roles)):
                actions[n] = <Action> card << ROLE_BITS | roles[i]
                n += 1
        return n

    cdef uint64_t legal_among(self, const State* state, int seat, const Action* actions,
                              size_t stride, int count) noexcept nogil:
        # Everybody sees what decides the roles of a card.
        cdef const uint8_t* hand = (<const SoccerState*> state).own[seat].hand
        cdef uint64_t legal = 0
        cdef int i
        for i in range(count):
            legal |= <uint64_t> (hand[action_at(actions, stride, i) >> ROLE_BITS] > 0) << i
        return legal

    cdef Action only_action(self, const State* state, int seat) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef uint8_t roles[MAX_ROLES]
        cdef int card, only = -1
        for card in range(self.types):
            if soccer.own[seat].hand[card]:
                if only >= 0:
                    return 0
                only = card
        if self.roles_now(&soccer.common, only, roles) > 1:
            return 0
        return <Action> only << ROLE_BITS | roles[0]

    cdef int without_dominated(self, const State* state, int seat, Action* actions,
                               int count) noexcept nogil:
        # Two cards may be played with the same effect: thrown away, or as answers with the same
        # outcome. What follows then differs only in which of them is still in hand. If that is a
        # card that `covers` the other, the seat can play on as if it held the other: in the same
        # role, and for an outcome that is as good or better, as more power never is worse and a
        # Cross, say, is a Pass besides. So the card that covers the other is kept.
        #
        # This is proven but for one assumption: that to be in possession, to have more standing
        # cards or a goal more never harms a seat. It can, where each card of a hand is needed and
        # possession forces the seat to play one. Of 1,860,000 pairs of such plays in endings with
        # at most nine cards to draw, solved with open hands of two or three cards, the one that is
        # left out here was the better one in 26 and the worse one in 38,600; of 273,000 pairs with
        # the default deck and hand, in none and in 6,600.
        #
        # The hands of these endings are open. That the other seat sees which card is gone could
        # matter only as a bluff: with the better card gone, it has less to fear.
        cdef const Common* common = &(<const SoccerState*> state).common
        cdef uint64_t played[GIVEN_UP + 1]
        cdef int i, card, effect, kept = 0
        memset(played, 0, sizeof(played))
        for i in range(count):
            effect = self.effect(common, actions[i])
            if effect != OPEN:
                played[effect] |= <uint64_t> 1 << (actions[i] >> ROLE_BITS)
        for i in range(count):
            card = actions[i] >> ROLE_BITS
            effect = self.effect(common, actions[i])
            if effect == OPEN or not played[effect] & self.weaker[card]:
                actions[kept] = actions[i]
                kept += 1
        return kept

    cdef int effect(self, const Common* common, Action action) noexcept nogil:
        # The outcome of an action, or OPEN if the other seat decides it.
        cdef int role = action & ((1 << ROLE_BITS) - 1)
        if common.phase == DEFEND:
            return self.judge(common, action >> ROLE_BITS, role)
        return GIVEN_UP if role == GIVE_UP else OPEN

    cdef void apply(self, State* state, const Action* joint, Rng* rng,
                    EventLog* log) noexcept nogil:
        cdef SoccerState* soccer = <SoccerState*> state
        cdef Common* common = &soccer.common
        cdef int seat = seat_to_play(common)
        cdef uint8_t played[2]
        cdef uint8_t decided[3]
        cdef uint8_t drawn
        cdef uint8_t one = 1
        cdef int reader = to_seat(seat)
        cdef bint answer = common.phase == DEFEND
        played[0] = joint[seat] >> ROLE_BITS
        played[1] = joint[seat] & ((1 << ROLE_BITS) - 1)
        if answer and log != NULL:
            decided[1] = self.attack_power(common, common.play_count - 1)
            decided[2] = 0 if played[1] == DECLINE else self.powers[played[0]]
        soccer.own[seat].hand[played[0]] -= 1
        decided[0] = self.settle(common, played[0], played[1])
        drawn = self.draw_card(soccer, seat)
        log_event(log, TO_PUBLIC | TO_RECORD, PLAYED, seat, played, 2)
        # After the first half all cards are shuffled, so the view never shows the card drawn last,
        # and neither may an event.
        if common.half == 1 and half_is_over(common):
            reader = 0
        log_private(log, reader, seat, DRAWN, &drawn, 1, DRAWN_HIDDEN, &one, 1)
        if answer:
            log_event(log, TO_PUBLIC | TO_RECORD, EXCHANGE_DECIDED, 1 - seat, decided, 3)
        if half_is_over(common):
            self.end_half(soccer, rng, log)

    cdef double outcome(self, const State* state, int seat) noexcept nogil:
        cdef const Common* common = &(<const SoccerState*> state).common
        if common.goals[0] == common.goals[1]:
            return 0.5
        return common.goals[seat] > common.goals[1 - seat]

    cdef void view(self, const State* state, int seat, View* view) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef SoccerView* seen = <SoccerView*> view
        cdef int card
        memset(view, 0, sizeof(View))
        seen.seat = seat
        seen.common = soccer.common
        if seat != SPECTATOR:
            for card in range(self.types):
                seen.hand[card] = soccer.own[seat].hand[card]

    cdef uint64_t observe(self, const State* after, const Action* joint, int seat) noexcept nogil:
        # Both seats see the card and its role. The card drawn is left out, since it shows in the
        # legal actions.
        return mix(joint[0], joint[1])

    cdef void hidden(self, const State* state, int seat, Cards* places) noexcept nogil:
        cdef const SoccerState* soccer = <const SoccerState*> state
        cdef int other = 1 - seat
        cdef int i
        memcpy(places[OPPONENT_HAND], soccer.own[other].hand, self.types)
        for i in range(soccer.common.draw_sizes[other]):
            places[OPPONENT_PILE][soccer.own[other].draw_pile[i]] += 1

    cdef void shuffle_unseen(self, State* state, Rng* rng) noexcept nogil:
        cdef SoccerState* soccer = <SoccerState*> state
        cdef int seat
        for seat in range(SEATS):
            rng_shuffle(rng, soccer.own[seat].draw_pile, soccer.common.draw_sizes[seat])

    # Attack and defence

    cdef int roles_now(self, const Common* common, int card, uint8_t* roles) noexcept nogil:
        return roles_of(self.roles[card], common.standing, answer_owed(common), roles)

    cdef int settle(self, Common* common, int card, int role) noexcept nogil:
        cdef int seat = seat_to_play(common)
        cdef int at = common.play_count
        cdef int outcome = OPEN
        common.draw_sizes[seat] -= 1
        if common.phase == DEFEND:
            at -= 1
            outcome = self.judge(common, card, role)
        elif role == GIVE_UP:
            outcome = GIVEN_UP
        common.plays[common.play_count].seat = seat
        common.plays[common.play_count].card = card
        common.plays[common.play_count].role = role
        common.play_count += 1
        common.plays[at].outcome = outcome
        if outcome == OPEN:
            common.phase = DEFEND
        elif outcome == STANDS:
            common.phase = ATTACK
            common.standing += 1
        elif outcome == REPELLED:
            begin_attack(common, common.possession)
        else:
            common.goals[common.possession] += outcome == GOAL
            begin_attack(common, 1 - common.possession)
        return outcome

    cdef int judge(self, const Common* common, int card, int role) noexcept nogil:
        cdef int at = common.play_count - 1
        cdef bint shot = common.plays[at].role == SHOOT
        cdef int power = self.attack_power(common, at)
        cdef int missed = GOAL if shot else STANDS
        cdef bint power_shot = shot and power > MAX_SAVE
        # No Save counts against a PowerShot, not even one of higher power.
        if role == DECLINE or power_shot or self.powers[card] < power:
            return missed
        return REPELLED if self.powers[card] == power else LOST

    cdef int attack_power(self, const Common* common, int at) noexcept nogil:
        cdef int card = common.plays[at].card
        cdef int power = self.powers[card]
        cdef int before
        if common.plays[at].role == SHOOT:
            power += BONUS * (common.standing - needed_to_shoot(self.roles[card]))
            # The two plays before the shot are the last possession card and its answer.
            before = self.roles[common.plays[at - 2].card]
            if before == CROSS or before == FANCY_FOOTWORK:
                power += BONUS
        return power

    # Halves

    cdef void begin_half(self, SoccerState* soccer, int half, Rng* rng,
                         EventLog* log) noexcept nogil:
        cdef Common* common = &soccer.common
        cdef uint8_t value
        cdef uint8_t hand[MAX_HAND]
        cdef int seat, card, i, n, _copy
        memset(soccer.own, 0, sizeof(soccer.own))
        memset(common.plays, 0, sizeof(common.plays))
        common.half = half
        common.play_count = 0
        for seat in range(SEATS):
            n = 0
            for card in range(self.types):
                for _copy in range(self.copies[card]):
                    soccer.own[seat].draw_pile[n] = card
                    n += 1
            common.draw_sizes[seat] = n
            self.shuffle(soccer, seat, rng, log)
            for i in range(self.hand_size):
                common.draw_sizes[seat] -= 1
                hand[i] = self.draw_card(soccer, seat)
            value = self.hand_size
            log_private(log, to_seat(seat), seat, DRAWN, hand, self.hand_size,
                        DRAWN_HIDDEN, &value, 1)
        if half == 1:
            self.kick_off(soccer, rng, log)
            begin_attack(common, common.first_kick_off)
        else:
            begin_attack(common, 1 - common.first_kick_off)
        value = half
        log_event(log, TO_PUBLIC | TO_RECORD, HALF_STARTED, common.possession, &value, 1)

    cdef void kick_off(self, SoccerState* soccer, Rng* rng, EventLog* log) noexcept nogil:
        cdef Common* common = &soccer.common
        cdef uint8_t* shown
        cdef int seat, lead = 0
        while lead == 0 and common.kick_offs < MAX_KICK_OFFS:
            shown = common.kick_off_cards[common.kick_offs]
            common.kick_offs += 1
            for seat in range(SEATS):
                shown[seat] = soccer.own[seat].draw_pile[rng_below(rng, common.draw_sizes[seat])]
                log_event(log, TO_PUBLIC | TO_RECORD, KICK_OFF_SHOWN, seat, &shown[seat], 1)
            lead = self.powers[shown[0]] - self.powers[shown[1]]
        for seat in range(SEATS):
            self.shuffle(soccer, seat, rng, log)
        common.first_kick_off = rng_below(rng, SEATS) if lead == 0 else lead < 0

    cdef int draw_card(self, SoccerState* soccer, int seat) noexcept nogil:
        # `draw_sizes` has been lowered already.
        cdef uint8_t* top = &soccer.own[seat].draw_pile[soccer.common.draw_sizes[seat]]
        cdef int card = top[0]
        # No byte may be left over from a card that has gone.
        top[0] = 0
        soccer.own[seat].hand[card] += 1
        return card

    cdef void end_half(self, SoccerState* soccer, Rng* rng, EventLog* log) noexcept nogil:
        cdef Common* common = &soccer.common
        cdef uint8_t values[1 + SEATS]
        values[0] = common.half
        values[1] = common.goals[0]
        values[2] = common.goals[1]
        log_event(log, TO_PUBLIC | TO_RECORD, HALF_ENDED, NO_SEAT, values, 1 + SEATS)
        if common.half == 1:
            self.begin_half(soccer, 2, rng, log)
        else:
            common.phase = OVER

    cdef void shuffle(self, SoccerState* soccer, int seat, Rng* rng, EventLog* log) noexcept nogil:
        # The event lists the cards from the top of the pile.
        cdef uint8_t values[MAX_DECK]
        cdef uint8_t n = soccer.common.draw_sizes[seat]
        cdef int i
        rng_shuffle(rng, soccer.own[seat].draw_pile, n)
        if log == NULL:
            return
        for i in range(n):
            values[i] = soccer.own[seat].draw_pile[n - 1 - i]
        log_private(log, 0, seat, SHUFFLED, values, n, SHUFFLED_HIDDEN, &n, 1)


def default_cards():
    """Return the card list of the rules sheet."""
    with open(Path(__file__).parents[1] / "cards.csv", newline="") as file:
        return [{"role": ROLE_NAMES.index(row["role"]), "power": int(row["power"]),
                 "copies": int(row["copies"])} for row in csv.DictReader(file)]


def read_cards(given):
    """Return a card list completed by its defaults; raise RulesetError if it breaks a rule."""
    if len(given) > MAX_TYPES:
        raise RulesetError("cards", f"must be at most {MAX_TYPES}", "TOO_MANY_TYPES")
    cards = []
    for i, spec in enumerate(given):
        card = {"copies": 1, **spec}
        check_ranges(card, RANGES, f"cards[{i}]")
        if any((card["role"], card["power"]) == (one["role"], one["power"]) for one in cards):
            raise RulesetError(
                f"cards[{i}]", "must not be listed twice: say how many copies", "DUPLICATE_CARD")
        cards.append(card)
    if copies(cards) > MAX_DECK:
        raise RulesetError("cards", f"must be a deck of at most {MAX_DECK} cards", "TOO_MANY_CARDS")
    return cards


def card_title(spec):
    """Return the title of a card: its role and its power."""
    return f"{ROLE_NAMES[spec['role']].replace('_', ' ').title()} {spec['power']}"

"""What a view of PowerShot Soccer tells about the opponent's hand.

Everybody sees the plays of the half. An opponent that chooses uniformly among its legal actions
plays each of them with probability 1 / (number of legal actions). That number depends on its hand
only through the Star Players and the cards of several copies: every other card in hand is one
action. So the sampler keeps a belief over the counts of those few cards in the hand, and updates it
play by play, with the draws in between. The belief also counts the cards that were shown at the
kick-off, since they were in the draw pile then. Given the counts, the rest of the hand is any of
the other unseen cards, and the draw pile is in any order.

What was learned of play says more (play/likelihoods.pyx). The belief then takes
all choices to be as likely as each other, and each hand is weighed by the product of the weights of
its cards. A hand with such weights is drawn card by card: the sums, over all sets of the cards that
are left, of the products in each say how likely the next one is in it (S. X. Chen, A. P. Dempster,
J. S. Liu, "Weighted Finite Population Sampling to Maximize Entropy", Biometrika 81(3), 1994).

The second half begins with all cards shuffled, so nothing of the first half matters in it.

A ruleset with many cards of several copies has too many such counts. The cards that do not fit are
then treated as if every copy were an action of its own. The draws are still sound and complete, and
right in proportion except for how often duplicates are held.
"""

from math import comb

from libc.string cimport memcmp, memcpy, memset

from engine.belief cimport Belief
from engine.chance cimport Rng, rng_double, rng_part, rng_shuffle_quickly, rng_weighted
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from games.powershot_soccer.play.features cimport PowerShotSoccerFeatures, context_of
from games.powershot_soccer.play.likelihoods cimport PastChoices, weigh_unseen
from games.powershot_soccer.rules.rules cimport PowerShotSoccer, half_is_over, seat_to_play
from games.powershot_soccer.rules.state cimport (
    ATTACK, MAX_DECK, MAX_HAND, MAX_KICK_OFFS, MAX_PLAYS, MAX_ROLES, MAX_TYPES, OVER, STAR_PLAYER,
    Common, Play, SoccerState, SoccerView,
)

from engine.errors import ViewError

cdef enum:
    COUNT_BITS = 4
    MAX_COUNTED = 16             # Counts of COUNT_BITS that fit a key.
    MAX_HANDS = 5_000            # Combinations of counts; only kick-off cards may need more.
    PLAIN = 255                  # A card that the belief does not count.
    STRIDE = 8                   # Cards that are passed at a time when a hand is dealt.


cdef class PowerShotSoccerSampler(Sampler):
    """Draws the opponent's hand by its posterior, and the order of both draw piles."""

    cdef PowerShotSoccer rules
    cdef int other
    cdef int counted             # How many cards of the opponent the belief counts,
    cdef uint8_t cards[MAX_COUNTED]     # and which.
    cdef uint8_t place[MAX_TYPES]       # The index of a card among them, or PLAIN.
    cdef Belief belief
    cdef uint8_t unseen[SEATS][MAX_TYPES]   # The cards of each deck that are not played this half.
    cdef int plain_unseen        # Those of the opponent that the belief does not count.
    cdef int star                # Any Star Player, since all have the same roles; -1: none.
    cdef double binomial[MAX_DECK + 1][MAX_HAND + 1]
    # The draw pile of the seat, and the unseen cards of the opponent that the belief does not
    # count, both sorted.
    cdef uint8_t own_pile[MAX_DECK]
    cdef uint8_t plain_pile[MAX_DECK]
    cdef int own_size, plain_size
    cdef PowerShotSoccerFeatures learned    # None: the opponent's choices are taken for uniform.
    cdef PastChoices past
    # The sum, over all sets of so many of the plain cards from an index on, of the products of
    # the weights in each.
    cdef double sums[MAX_HAND + 1][MAX_DECK + 1 + STRIDE]

    def __init__(self, view, model=None):
        super().__init__(view, model)
        self.rules = self.game
        if model is not None:
            self.learned = model.foresight
        self.other = 1 - self.seat
        self.check_ranges()
        self.check_kick_offs()
        self.choose_counted()
        self.replay()
        self.check_hand()
        self.lay_piles()
        if self.learned is not None:
            self.weigh_hands()
        if not self.belief.seal():
            raise ViewError("common.plays", "must be what some hand of the opponent could play")

    # Whether the view contradicts itself

    cdef check_ranges(self):
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        if common.half not in (1, 2):
            raise ViewError("common.half", "must be 1 or 2")
        for name, seat in (("possession", common.possession),
                           ("first_kick_off", common.first_kick_off)):
            if seat >= SEATS:
                raise ViewError(f"common.{name}", "must be 0 or 1")
        if common.play_count > MAX_PLAYS:
            raise ViewError("common.plays", f"must be at most {MAX_PLAYS}")

    cdef check_kick_offs(self):
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        cdef int i, seat, card, lead = 0
        if not 1 <= common.kick_offs <= MAX_KICK_OFFS:
            raise ViewError("common.kick_offs", f"must be 1 to {MAX_KICK_OFFS}")
        for i in range(MAX_KICK_OFFS):
            for seat in range(SEATS):
                card = common.kick_off_cards[i][seat]
                if card >= (self.rules.types if i < common.kick_offs else 1):
                    raise ViewError(f"common.kick_off_cards[{i}]", "must be cards of the ruleset")
            if i < common.kick_offs:
                if lead:
                    raise ViewError("common.kick_offs", "must end with the first unequal pair")
                lead = (self.rules.powers[common.kick_off_cards[i][0]]
                        - self.rules.powers[common.kick_off_cards[i][1]])
        if lead == 0 and common.kick_offs < MAX_KICK_OFFS:
            raise ViewError("common.kick_offs", "must end with an unequal pair")
        if lead and common.first_kick_off != (lead < 0):
            raise ViewError("common.first_kick_off", "must be the seat that showed the higher card")

    cdef replay(self):
        # Replays the half by the rules, and updates the belief.
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        cdef const Play* play
        cdef Common replay
        cdef uint8_t roles[MAX_ROLES]
        cdef int i, seat, n
        cdef int most_goals = (self.rules.deck_size - self.rules.hand_size) // 2
        cdef int goals = 0
        memset(&replay, 0, sizeof(Common))
        replay.phase = ATTACK
        replay.half = common.half
        replay.first_kick_off = common.first_kick_off
        replay.possession = common.first_kick_off ^ (common.half == 2)
        for seat in range(SEATS):
            for i in range(MAX_TYPES):
                self.unseen[seat][i] = self.rules.copies[i]
            replay.draw_sizes[seat] = self.rules.deck_size - self.rules.hand_size
        self.start_belief()
        for i in range(common.play_count):
            play = &common.plays[i]
            at = f"common.plays[{i}]"
            if half_is_over(&replay):
                raise ViewError(at, "must not come after the end of the half")
            if play.seat != seat_to_play(&replay):
                raise ViewError(f"{at}.seat", "must be the seat whose turn it is")
            if play.card >= self.rules.types or self.unseen[play.seat][play.card] == 0:
                raise ViewError(f"{at}.card", "must be a card of the deck, not played before")
            n = self.rules.roles_now(&replay, play.card, roles)
            if play.role not in [roles[k] for k in range(n)]:
                raise ViewError(f"{at}.role", "must be one in which the card can be played then")
            if play.seat == self.other:
                if self.learned is not None:
                    self.past.choices[self.past.count].context = context_of(self.learned, &replay)
                    self.past.choices[self.past.count].card = play.card
                    self.past.count += 1
                self.see(&replay, play)
            self.unseen[play.seat][play.card] -= 1
            self.rules.settle(&replay, play.card, play.role)
        if half_is_over(&replay):
            if common.half == 1:
                raise ViewError("common.half", "must be 2: the plays have ended the first half")
            replay.phase = OVER
        for seat in range(SEATS):
            # Each goal takes at least two plays of either seat.
            goals += common.goals[seat] - replay.goals[seat]
            if (common.goals[seat] < replay.goals[seat]
                    or goals > (most_goals if common.half == 2 else 0)):
                raise ViewError("common.goals", "must be what the plays and the first half allow")
        for name, given, due in (
                ("phase", common.phase, replay.phase),
                ("possession", common.possession, replay.possession),
                ("standing", common.standing, replay.standing),
                ("attack_start", common.attack_start, replay.attack_start),
                ("draw_sizes[0]", common.draw_sizes[0], replay.draw_sizes[0]),
                ("draw_sizes[1]", common.draw_sizes[1], replay.draw_sizes[1])):
            if given != due:
                raise ViewError(f"common.{name}", f"must be {due} by the plays")
        if memcmp(common.plays, replay.plays, sizeof(replay.plays)):
            raise ViewError("common.plays", "must have the outcomes that the cards decide")

    cdef check_hand(self):
        cdef const SoccerView* seen = <const SoccerView*> &self.view
        cdef int card, held = 0
        for card in range(MAX_TYPES):
            held += seen.hand[card]
            if seen.hand[card] > self.unseen[self.seat][card]:
                raise ViewError("hand", "must hold no card more often than it is unplayed")
        if held != self.rules.hand_size:
            raise ViewError("hand", f"must be {self.rules.hand_size} cards")
        if seen.common.half == 1 and not self.kick_off_cards_were_drawn():
            raise ViewError("hand", "must hold no card that was in the draw pile all the time")

    cdef bint kick_off_cards_were_drawn(self):
        # A card shown at the kick-off lay in the draw pile. If all its copies have left the pile,
        # its seat has drawn one, after one of its plays and before it needed that copy.
        cdef const SoccerView* seen = <const SoccerView*> &self.view
        cdef const Common* common = &seen.common
        cdef uint8_t left[MAX_TYPES]
        cdef uint8_t shown[MAX_TYPES]
        cdef int i, card, draws = 0, due = 0
        memset(shown, 0, sizeof(shown))
        for i in range(common.kick_offs):
            shown[common.kick_off_cards[i][self.seat]] = 1
        for card in range(MAX_TYPES):
            left[card] = self.rules.copies[card]
        for i in range(common.play_count):
            if common.plays[i].seat == self.seat:
                card = common.plays[i].card
                left[card] -= 1
                due += shown[card] and left[card] == 0
                if due > draws:
                    return False
                draws += 1
        for card in range(self.rules.types):
            due += shown[card] and left[card] > 0 and seen.hand[card] == left[card]
        return due <= draws

    # The belief

    cdef choose_counted(self):
        # Kick-off cards come first, since without them a world would not be sound.
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        cdef PowerShotSoccer rules = self.rules
        cdef int i
        shown = [common.kick_off_cards[i][self.other] for i in range(common.kick_offs)]
        shown = sorted(set(shown)) if common.half == 1 else []
        stars = [card for card in range(rules.types) if rules.roles[card] == STAR_PLAYER]
        several = sorted([card for card in range(rules.types) if rules.copies[card] > 1],
                         key=lambda card: -rules.copies[card])
        self.star = stars[0] if stars else -1
        chosen = []
        sizes = [1] + [0] * rules.hand_size      # Combinations of counts, by their sum.
        for card in dict.fromkeys(shown + stars + several):
            larger = [sum(sizes[max(0, n - rules.copies[card]):n + 1]) for n in range(len(sizes))]
            if len(chosen) < MAX_COUNTED and (card in shown or sum(larger) <= MAX_HANDS):
                chosen.append(card)
                sizes = larger
        memset(self.place, PLAIN, sizeof(self.place))
        self.counted = len(chosen)
        self.plain_unseen = rules.deck_size
        for i, card in enumerate(chosen):
            self.cards[i] = card
            self.place[card] = i
            self.plain_unseen -= rules.copies[card]

    cdef start_belief(self):
        for n in range(MAX_DECK + 1):
            for k in range(MAX_HAND + 1):
                self.binomial[n][k] = comb(n, k)
        self.belief = Belief()
        self.add_hands(0, self.rules.hand_size, 0, 1.0)
        self.belief.normalize()

    cdef void add_hands(self, int i, int left, uint64_t key, double weight) noexcept nogil:
        # Adds every first hand, weighed by the chance that its draw pile shows the kick-off cards.
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        cdef int card, copies, n, k
        cdef double likelihood
        if i == self.counted:
            self.belief.add(key, weight * self.binomial[self.plain_unseen][left])
            return
        card = self.cards[i]
        copies = self.rules.copies[card]
        for n in range(min(copies, left) + 1):
            likelihood = self.binomial[copies][n]
            if common.half == 1:
                for k in range(common.kick_offs):
                    if common.kick_off_cards[k][self.other] == card:
                        likelihood *= <double> (copies - n) / copies
            if likelihood > 0:
                self.add_hands(i + 1, left - n, key | <uint64_t> n << (COUNT_BITS * i),
                               weight * likelihood)

    cdef see(self, const Common* before, const Play* play):
        # Bayes' rule for each hand: the opponent has played this card, and has drawn one.
        cdef Belief old = self.belief
        cdef uint8_t roles[MAX_ROLES]
        cdef int star_roles = 0
        cdef size_t slot
        if self.star >= 0:
            star_roles = self.rules.roles_now(before, self.star, roles)
        self.belief = Belief()
        with nogil:
            for slot in range(old.room):
                if old.weights[slot] > 0:
                    self.play_and_draw(old.keys[slot], old.weights[slot], play.card, star_roles,
                                       before.draw_sizes[self.other])
        self.plain_unseen -= self.place[play.card] == PLAIN
        self.belief.normalize()

    cdef void play_and_draw(self, uint64_t key, double weight, int played, int star_roles,
                            int draw_size) noexcept nogil:
        cdef const uint8_t* unseen = self.unseen[self.other]
        cdef int plain = self.rules.hand_size
        cdef int choices = 0
        cdef int plain_unseen = self.plain_unseen
        cdef int i, n, card
        for i in range(self.counted):
            n = count_in(key, i)
            plain -= n
            if n:
                choices += star_roles if self.rules.roles[self.cards[i]] == STAR_PLAYER else 1
        # What was learned says more than that.
        if self.learned is None:
            weight /= choices + plain
        i = self.place[played]
        if i == PLAIN:
            weight *= <double> plain * unseen[played] / plain_unseen
            plain -= 1
            plain_unseen -= 1
        elif count_in(key, i):
            key -= <uint64_t> 1 << (COUNT_BITS * i)
        else:
            return
        weight /= draw_size
        self.belief.add(key, weight * (plain_unseen - plain))
        for i in range(self.counted):
            card = self.cards[i]
            n = unseen[card] - (card == played) - count_in(key, i)
            self.belief.add(key + (<uint64_t> 1 << (COUNT_BITS * i)), weight * n)

    cdef weigh_hands(self):
        # Weighs each hand by what was learned: the product of the weights of its cards.
        cdef Belief old = self.belief
        cdef const Common* common = &(<const SoccerView*> &self.view).common
        cdef double weights[MAX_TYPES]
        cdef bint drawn[MAX_TYPES]
        cdef double weight
        cdef size_t slot
        cdef int i, k, n, _copy, card, plain, size = self.plain_size
        for i in range(MAX_TYPES):
            drawn[i] = False
        for i in range(common.kick_offs if common.half == 1 else 0):
            card = common.kick_off_cards[i][self.other]
            drawn[card] = self.rules.copies[card] == 1
        weigh_unseen(self.learned, &self.past, self.unseen[self.other], drawn,
                     self.rules.hand_size, weights)
        for i in range(size + 1):
            self.sums[0][i] = 1
        for k in range(1, MAX_HAND + 1):
            self.sums[k][size] = 0
            for i in range(size - 1, -1, -1):
                self.sums[k][i] = (self.sums[k][i + 1]
                                   + weights[self.plain_pile[i]] * self.sums[k - 1][i + 1])
        self.belief = Belief()
        for slot in range(old.room):
            if old.weights[slot] > 0:
                weight = old.weights[slot]
                plain = self.rules.hand_size
                for i in range(self.counted):
                    n = count_in(old.keys[slot], i)
                    plain -= n
                    for _copy in range(n):
                        weight *= weights[self.cards[i]]
                self.belief.add(old.keys[slot],
                                weight * self.sums[plain][0] / self.binomial[size][plain])

    cdef lay_piles(self):
        # What all worlds have in common.
        cdef const SoccerView* seen = <const SoccerView*> &self.view
        cdef int card
        for card in range(self.rules.types):
            self.own_size = add_copies(self.own_pile, self.own_size, card,
                                       self.unseen[self.seat][card] - seen.hand[card])
            if self.place[card] == PLAIN:
                self.plain_size = add_copies(self.plain_pile, self.plain_size, card,
                                             self.unseen[self.other][card])

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef const SoccerView* seen = <const SoccerView*> &self.view
        cdef SoccerState* soccer = <SoccerState*> state
        cdef uint64_t key = self.belief.draw(rng)
        cdef uint8_t* pile = soccer.own[self.other].draw_pile
        cdef uint8_t* hand = soccer.own[self.other].hand
        cdef int card, i, _i, n, size, plain = self.rules.hand_size
        memset(state, 0, self.rules.state_bytes)
        # The plays that are still to come stay 0.
        memcpy(&soccer.common, &seen.common,
               sizeof(Common) - (MAX_PLAYS - seen.common.play_count) * sizeof(Play))
        memcpy(soccer.own[self.seat].hand, seen.hand, self.rules.types)
        memcpy(soccer.own[self.seat].draw_pile, self.own_pile, self.own_size)
        memcpy(pile, self.plain_pile, self.plain_size)
        for i in range(self.counted):
            n = count_in(key, i)
            hand[self.cards[i]] = n
            plain -= n
        # The rest of the hand is any of the plain cards; the others are the draw pile.
        size = self.plain_size
        if self.learned is not None:
            size = self.deal_hand(hand, pile, plain, rng)
        else:
            rng_part(rng, pile, size, plain)
            for _i in range(plain):
                size -= 1
                hand[pile[size]] += 1
                pile[size] = 0
        for i in range(self.counted):
            card = self.cards[i]
            size = add_copies(pile, size, card, self.unseen[self.other][card] - hand[card])
        rng_shuffle_quickly(rng, pile, size)
        rng_shuffle_quickly(rng, soccer.own[self.seat].draw_pile, self.own_size)

    cdef inline int deal_hand(self, uint8_t* hand, uint8_t* pile, int plain,
                              Rng* rng) noexcept nogil:
        # Moves `plain` of the plain cards from the pile to the hand, by their weights: each next
        # one is drawn from those behind the last. Returns how many are left. Their order means
        # nothing.
        cdef uint8_t picked[MAX_HAND]
        cdef const double* sums
        cdef double at
        cdef double script[2]
        cdef int j, passed, i = 0, picks = 0, size = self.plain_size
        while picks < plain:
            sums = self.sums[plain - picks]
            if rng.script == NULL:
                at = rng_double(rng) * sums[i]
                while True:
                    # Without a branch for each card, which would often be mispredicted.
                    passed = 0
                    for j in range(STRIDE):
                        passed += sums[i + 1 + j] > at
                    i += passed
                    if passed < STRIDE:
                        break
            else:
                script[0] = sums[i] - sums[i + 1]
                script[1] = sums[i]
                if rng_weighted(rng, script, 2) == 1:
                    i += 1
                    continue
            picked[picks] = i
            picks += 1
            i += 1
        while picks > 0:
            picks -= 1
            size -= 1
            i = picked[picks]
            hand[pile[i]] += 1
            pile[i] = pile[size]
            pile[size] = 0
        return size


cdef inline int add_copies(uint8_t* pile, int size, int card, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        pile[size + i] = card
    return size + n


cdef inline int count_in(uint64_t key, int i) noexcept nogil:
    return (key >> (COUNT_BITS * i)) & ((1 << COUNT_BITS) - 1)

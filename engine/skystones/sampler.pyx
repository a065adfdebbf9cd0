"""What a view of Skystones tells of the hidden cards.

The rounds are replayed from the placements, which everybody saw. Each tells something of the hand
it was played from, and so of the card that was set aside. See engine/skystones/rules.pyx.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below, rng_reject, rng_weighted
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from engine.skystones.rules cimport (
    ANY_ELEMENT, BLOCKED, MAX_CARDS, EDGES, ELEMENTS, FIELD_CARDS, FIRE, MAX_HAND, NONE, OVER,
    PICK, PLACE, MAX_SQUARES, MAX_TOTAL, MAX_TYPES, Common, Placement, Side, SkystonesView, Skystones,
    Stack, SkystonesState, accepts, bits, clear, take_at,
)

from engine.errors import ViewError


cdef struct Play:                # What a seat has shown in one round.
    int placed
    uint8_t cards[MAX_HAND]
    uint8_t open[MAX_HAND][ELEMENTS]    # For each placement, the squares that took each element.
    int barred                   # Elements that no card still in hand can have: the seat passed.
    int needed                   # It places next, so it has a card of one of these; 0: it does not.

cdef struct Kind:                # Cards that are alike for all that the play tells.
    uint8_t element
    uint8_t copies               # 1, or of its only card all that can be in hand beyond the placed.
    uint8_t size                 # How many cards.
    uint8_t cards[MAX_TYPES]

cdef struct Class:               # Kinds that are alike for the picks.
    int total
    int card                     # The only one, if the pile holds several copies; else NONE.
    int size                     # Cards, or copies.
    int first                    # Its kinds.
    int end

cdef struct Absence:             # What it does to the picks that a certain card is set aside.
    int total                    # -1: none is.
    int card                     # Of several copies; else NONE.

cdef struct Hands:
    # All hands that a seat may have had in one round, out of a pile that may still hold the card
    # that was set aside, and how likely each was.
    Play play
    int unplayed                 # Cards of the hand that were not placed, or not yet.
    int unplayed_limit           # What their totals may add up to.
    uint8_t pile[MAX_TYPES]
    uint8_t types_up_to[MAX_TOTAL + 1]  # Cards of the pile by total, cumulated.
    int cheapest[MAX_HAND]      # Totals of the cheapest cards of the pile.
    int base[MAX_HAND]          # Choices at each placement that the placed cards made.
    int kind_count
    Kind kinds[MAX_TYPES]
    uint8_t kind_of[MAX_TYPES]  # NONE: it cannot have been left in hand.
    int class_count
    Class classes[MAX_TYPES]
    int absence_count
    Absence absences[MAX_TYPES]
    uint8_t absence_of[MAX_TYPES + 1]   # By candidate for the card set aside.

    # The hand on its way through the recursion.
    uint8_t class_at[MAX_HAND]  # The classes of the unplayed cards, ascending.
    uint8_t kind_at[MAX_HAND]
    uint8_t of_class[MAX_TYPES]  # How many of each.
    uint8_t of_kind[MAX_TYPES]
    double picked[MAX_TYPES]    # The probability that the hand is picked, by absence.

    # What comes of it.
    bint keep                    # Keep a row for each hand, or just add up by candidate.
    bint too_many
    double likelihood[MAX_TYPES + 1]
    uint64_t* work_left


cdef enum:
    # Hands weighed for past rounds. It is only passed where several cards went unplayed in many
    # rounds of a game with many different cards; what the rest of such rounds tell of the card set
    # aside is then left out, but for what they rule out.
    MAX_WORK = 5_000_000
    # Hands kept where nothing was placed yet. Where there are more, every other hand fits, or so,
    # and it is as well to pick hands until one does.
    MAX_ROWS = 1 << 16


cdef class SkystonesSampler(Sampler):
    """The worlds that fit a view: the card set aside and the opponent's hand by their posterior."""

    cdef Skystones rules
    cdef State base              # All that the view shows; the opponent's pile is all unseen cards.
    cdef int other
    cdef uint8_t start[SEATS][MAX_TYPES]    # The piles at the start of the round that is replayed.
    cdef int candidates          # For the card set aside; NONE is the only one where there is none.
    cdef uint8_t aside[MAX_TYPES + 1]
    cdef double weight[MAX_TYPES + 1]
    cdef int picks               # The opponent's hand is to be picked anew; how many cards.
    cdef Play play               # And must allow this.
    cdef bint from_rows          # Or else it is in the rows of `hands`.
    cdef Hands hands
    cdef size_t rows
    cdef size_t room
    cdef double* cumulated       # By row and absence.
    cdef uint8_t* kinds_of_row
    cdef bint out_of_memory
    cdef uint64_t work_left

    def __dealloc__(self):
        free(self.cumulated)
        free(self.kinds_of_row)

    def __init__(self, view):
        super().__init__(view)
        self.rules = self.game
        self.other = 1 - self.seat
        self.work_left = MAX_WORK
        self.check_ranges()
        self.check_cards()
        self.replay()

    # Whether the view contradicts itself

    cdef check_ranges(self):
        cdef Skystones game = self.rules
        cdef const SkystonesView* seen = <const SkystonesView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Placement* placement
        cdef int laid[BLOCKED + 1]
        cdef int i
        memset(laid, 0, sizeof(laid))
        if common.phase > PLACE:
            raise ViewError("common.phase", "must be pick, place or over")
        if common.round == 0:
            raise ViewError("common.round", "must be 1 or more")
        for name, seat in (("first_starter", common.first_starter), ("starter", common.starter),
                           ("turn", common.turn)):
            if seat > 1:
                raise ViewError(f"common.{name}", "must be 0 or 1")
        if common.phase != PLACE and common.turn != common.starter:
            raise ViewError("common.turn", "must be the starter but in the placing phase")
        for i in range(MAX_SQUARES):
            at = f"common.board[{i}].field"
            if common.board[i].field > BLOCKED or (common.board[i].field and i >= game.squares):
                raise ViewError(at, "must be a special field, on the board")
            laid[common.board[i].field] += 1
            if common.board[i].field and laid[common.board[i].field] > FIELD_CARDS // BLOCKED:
                raise ViewError(at, "must be one of the special fields that there are")
        if MAX_SQUARES - laid[0] != game.special_fields:
            raise ViewError("common.board", f"must have {game.special_fields} special fields")
        if common.placement_count > MAX_CARDS:
            raise ViewError("common.placement_count", f"must be at most {MAX_CARDS}")
        for i in range(MAX_CARDS):
            placement = &common.placements[i]
            at = f"common.placements[{i}]"
            if i >= common.placement_count:
                if placement.round or placement.seat or placement.card or placement.square:
                    raise ViewError(at, "must be zero after the last placement")
            elif placement.seat > 1:
                raise ViewError(f"{at}.seat", "must be 0 or 1")
            elif placement.card >= game.types:
                raise ViewError(f"{at}.card", f"must be 0 to {game.types - 1}")
            elif placement.square >= game.squares:
                raise ViewError(f"{at}.square", f"must be 0 to {game.squares - 1}")

    cdef check_cards(self):
        # Fills `start` with both piles as they were dealt, the other's with the card set aside.
        cdef Skystones game = self.rules
        cdef const SkystonesView* seen = <const SkystonesView*> &self.view
        cdef const Common* common = &seen.common
        cdef Side side
        cdef int dealt[SEATS]
        cdef int card, seat, i, hand = 0, pile = 0
        dealt[self.seat] = dealt[self.other] = 0
        for card in range(MAX_TYPES):
            self.start[self.seat][card] = 0
            hand += seen.hand[card]
            pile += seen.pile[card]
            for name, count in (("hand", seen.hand[card]), ("pile", seen.pile[card])):
                if count > (game.copies[card] if card < game.types else 0):
                    raise ViewError(name, f"must not hold more of card {card} than there are")
            self.start[self.seat][card] = seen.hand[card] + seen.pile[card]
        for i in range(common.placement_count):
            dealt[common.placements[i].seat] += 1
            if common.placements[i].seat == self.seat:
                self.start[self.seat][common.placements[i].card] += 1
        for card in range(game.types):
            if self.start[self.seat][card] > game.copies[card]:
                raise ViewError("pile", f"must not hold more of card {card} than there are")
            self.start[self.other][card] = game.copies[card] - self.start[self.seat][card]
        for name, size, count in (("hand_size", common.sides[self.seat].hand_size, hand),
                                  ("pile_size", common.sides[self.seat].pile_size, pile)):
            if size != count:
                raise ViewError(f"common.sides[{self.seat}].{name}",
                                f"must be {count}, the viewer's own cards")
        for seat in range(SEATS):
            side = common.sides[seat]
            if dealt[seat] + side.hand_size + side.pile_size != game.pile_size:
                raise ViewError(f"common.sides[{seat}].pile_size", "must make, with the hand and "
                                f"what was placed, {game.pile_size} cards in all")
        self.candidates = 0
        for card in range(game.types):
            hand = self.start[self.other][card]
            for i in range(common.placement_count):
                hand -= (common.placements[i].seat == self.other
                         and common.placements[i].card == card)
            if hand < 0:
                raise ViewError("common.placements",
                                f"must not hold more of card {card} than there are")
            if hand and game.deck_size > SEATS * game.pile_size:
                self.aside[self.candidates] = card
                self.weight[self.candidates] = self.start[self.other][card]
                self.candidates += 1
        if game.deck_size == SEATS * game.pile_size:
            self.aside[0] = NONE
            self.weight[0] = 1
            self.candidates = 1

    cdef replay(self):
        # Plays all rounds again from what everybody saw, and learns from each what it tells.
        cdef Skystones game = self.rules
        cdef const Common* common = &(<const SkystonesView*> &self.view).common
        cdef const Placement* placement
        cdef Common shown
        cdef Play plays[SEATS]
        cdef uint8_t chips[SEATS]
        cdef uint8_t taken[EDGES]
        cdef int round, seat, square, field, winner, element, at = 0
        cdef int first = 0
        cdef bint ended
        cdef bint passed[SEATS]
        memset(&shown, 0, sizeof(shown))
        memcpy(shown.board, common.board, sizeof(shown.board))
        clear(shown.board)
        shown.starter = common.first_starter
        for round in range(1, common.round + 1):
            ended = round < common.round or common.phase == OVER
            memset(plays, 0, sizeof(plays))
            passed[0] = passed[1] = False
            seat = shown.starter
            first = at
            while at < common.placement_count and common.placements[at].round == round:
                placement = &common.placements[at]
                square = placement.square
                field = shown.board[square].field
                name = f"common.placements[{at}]"
                if common.phase == PICK and not ended:
                    raise ViewError(f"{name}.round", "must be a round before this one")
                if placement.seat != seat:
                    passed[seat] = True
                    plays[seat].barred |= game.open_elements(&shown)
                seat = placement.seat
                if passed[seat]:
                    raise ViewError(f"{name}.seat", "must not be a seat that has passed before")
                if plays[seat].placed == game.hand_size:
                    raise ViewError(f"{name}.seat", "must still have a card in hand")
                if shown.board[square].card or not accepts(field, game.elements[placement.card]):
                    raise ViewError(f"{name}.square", "must be open to the card")
                for element in range(FIRE, ELEMENTS):
                    plays[seat].open[plays[seat].placed][element] = open_squares(
                        game, &shown, element)
                plays[seat].cards[plays[seat].placed] = placement.card
                plays[seat].placed += 1
                game.put(shown.board, seat, placement.card, square, taken)
                seat = 1 - seat
                at += 1
            if ended:
                if at == first and not (round == common.round and common.phase == OVER):
                    raise ViewError("common.placements", f"must not leave out round {round}")
                for seat in range(SEATS):
                    plays[seat].barred |= game.open_elements(&shown)
                self.judge(game, &plays[self.seat])
                self.learn(&plays[self.other])
                winner = game.winner(&shown, chips)
                if winner != NONE:
                    shown.sides[winner].points += 1
                clear(shown.board)
                if round < common.round:
                    shown.starter = 1 - (shown.starter if winner == NONE else winner)
            elif common.phase == PLACE and seat != common.turn:
                passed[seat] = True
                plays[seat].barred |= game.open_elements(&shown)
        if at < common.placement_count:
            raise ViewError(f"common.placements[{at}].round", "must ascend to the view's round")
        if common.starter != shown.starter:
            raise ViewError("common.starter", f"must be {shown.starter} by the rounds before")
        if common.phase == PLACE and passed[common.turn]:
            raise ViewError("common.turn", "must not be a seat that could not place before")
        for seat in range(SEATS):
            if common.sides[seat].points != shown.sides[seat].points:
                raise ViewError(f"common.sides[{seat}].points",
                                f"must be {shown.sides[seat].points} by the rounds")
        for square in range(MAX_SQUARES):
            if (common.board[square].card != shown.board[square].card
                    or common.board[square].owner != shown.board[square].owner):
                raise ViewError(f"common.board[{square}]", "must be as the placements have left it")
        if common.phase == PLACE:
            plays[common.turn].needed = game.open_elements(&shown)
        self.conclude(game, plays, at == first)

    cdef judge(self, Skystones game, const Play* play):
        # A past round of the viewer's own, whose hand the view does not show.
        cdef uint8_t left[MAX_TYPES]
        if not possible(game, play, self.start[self.seat], NONE, left):
            raise ViewError("common.placements", "must be what the viewer's own hands allowed")
        memcpy(self.start[self.seat], left, MAX_TYPES)

    cdef learn(self, const Play* play):
        # A past round of the opponent: what it tells of the card set aside.
        cdef Skystones game = self.rules
        cdef uint8_t left[MAX_TYPES]
        cdef double most = 0
        cdef int i
        for i in range(self.candidates):
            if not possible(game, play, self.start[self.other], self.aside[i], left):
                self.weight[i] = 0
        if self.aside[0] != NONE:
            prepare(game, self, &self.hands, play, self.start[self.other])
            with nogil:
                choose_classes(game, self, &self.hands, 0, 0, self.hands.unplayed_limit)
            for i in range(self.candidates):
                if not self.hands.too_many:
                    self.weight[i] *= self.hands.likelihood[i]
                most = max(most, self.weight[i])
            for i in range(self.candidates):
                self.weight[i] /= most if most > 0 else 1
        memcpy(self.start[self.other], left, MAX_TYPES)

    cdef conclude(self, Skystones game, const Play* plays, bint nothing_placed):
        # The round that is not over, or how the match ended.
        cdef const SkystonesView* seen = <const SkystonesView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Play* play = &plays[self.other]
        cdef SkystonesState* stones = <SkystonesState*> &self.base
        cdef int expected[SEATS]
        cdef int card, seat, i, total = 0, held = 0
        cdef bint own = game.can_form_hand(self.start[self.seat], NONE)
        for seat in range(SEATS):
            expected[seat] = 0
            if common.phase == PICK:
                expected[seat] = common.sides[0].hand_size
            elif common.phase == PLACE:
                expected[seat] = game.hand_size - plays[seat].placed
            if common.sides[seat].hand_size != expected[seat]:
                raise ViewError(f"common.sides[{seat}].hand_size",
                                f"must be {expected[seat]} by the round")
        if common.phase == PICK and common.sides[0].hand_size >= game.hand_size:
            raise ViewError("common.sides[0].hand_size", "must not be full in the picking phase")
        for card in range(game.types):
            total += seen.hand[card] * game.totals[card]
            if seen.hand[card]:
                held |= 1 << game.elements[card]
        for i in range(plays[self.seat].placed):
            total += game.totals[plays[self.seat].cards[i]]
        if common.phase == PICK:
            total += game.cheapest(seen.pile, NONE, game.hand_size - common.sides[0].hand_size, 0)
        if common.phase != OVER and total > game.hand_limit:
            raise ViewError("hand", f"must keep within {game.hand_limit}")
        if held & plays[self.seat].barred:
            raise ViewError("hand", "must hold no card that could have been placed")
        if plays[self.seat].needed and not held & plays[self.seat].needed:
            raise ViewError("hand", "must hold a card that can be placed now")

        for i in range(self.candidates):
            if common.phase != OVER:
                self.weight[i] *= game.can_form_hand(self.start[self.other], self.aside[i])
            elif own and not nothing_placed:
                self.weight[i] *= not game.can_form_hand(self.start[self.other], self.aside[i])
        self.picks = common.sides[self.other].hand_size
        self.play = play[0]
        self.from_rows = common.phase == PLACE and (play.placed or tells(game, play))
        if self.from_rows:
            prepare(game, self, &self.hands, play, self.start[self.other])
            self.hands.keep = True
            with nogil:
                choose_classes(game, self, &self.hands, 0, 0, self.hands.unplayed_limit)
                self.cumulate()
            if self.out_of_memory:
                raise MemoryError
            self.from_rows = not self.hands.too_many
        total = 0
        for i in range(self.candidates):
            total += self.weight[i] > 0
        if total == 0 or (self.from_rows and self.rows == 0):
            raise ViewError("common.placements", "must be what some cards of the opponent allowed")

        stones.common = common[0]
        memcpy(stones.hands[self.seat], seen.hand, MAX_TYPES)
        memcpy(stones.piles[self.seat], seen.pile, MAX_TYPES)
        memcpy(stones.piles[self.other], self.start[self.other], MAX_TYPES)
        for i in range(play.placed):
            if common.phase == PLACE:
                stones.piles[self.other][play.cards[i]] -= 1

    # The rows: one for each kind of hand

    cdef void add_row(self, const Hands* hands, const double* weights) noexcept nogil:
        cdef size_t room, i
        cdef void* memory
        if self.rows == self.room:
            room = 2 * self.room if self.room else 256
            memory = realloc(self.cumulated, room * hands.absence_count * sizeof(double))
            if memory != NULL:
                self.cumulated = <double*> memory
                memory = realloc(self.kinds_of_row, room * MAX_HAND)
            if memory == NULL:
                self.out_of_memory = True
                return
            self.kinds_of_row = <uint8_t*> memory
            self.room = room
        for i in range(hands.absence_count):
            self.cumulated[self.rows * hands.absence_count + i] = weights[i]
        memcpy(self.kinds_of_row + self.rows * MAX_HAND, hands.kind_at, MAX_HAND)
        self.rows += 1

    cdef void cumulate(self) noexcept nogil:
        cdef size_t i
        for i in range(1, self.rows * self.hands.absence_count):
            self.cumulated[i] += self.cumulated[i - 1]

    # Drawing

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef SkystonesState* stones = <SkystonesState*> state
        state[0] = self.base
        if self.from_rows:
            self.draw_row(stones, rng)
            return
        while not self.draw_picks(stones, rng) and not rng_reject(rng):
            state[0] = self.base

    cdef bint draw_picks(self, SkystonesState* stones, Rng* rng) noexcept nogil:
        # Picks the opponent's hand as he does. False: it could not have played as he did.
        cdef uint8_t* pile = stones.piles[self.other]
        cdef Stack stack
        cdef int i, card, total = 0, held = 0
        self.set_aside(stones, self.draw_aside(NULL, 0, rng))
        self.rules.stack_up(pile, &stack)
        for i in range(self.picks):
            card = rng_below(rng, self.rules.pickable(&stack, i, total))
            total += self.rules.totals[stack.cards[card]]
            held |= 1 << self.rules.elements[stack.cards[card]]
            stones.hands[self.other][stack.cards[card]] += 1
            pile[stack.cards[card]] -= 1
            take_at(&stack, card)
        return not held & self.play.barred and (not self.play.needed or held & self.play.needed)

    cdef void set_aside(self, SkystonesState* stones, int card) noexcept nogil:
        if card != NONE:
            stones.aside = card + 1
            stones.piles[self.other][card] -= 1

    cdef int draw_aside(self, const uint8_t* row, int absence, Rng* rng) noexcept nogil:
        # The card set aside: any, or one of a certain absence that leaves the hand of a row.
        cdef double sums[MAX_TYPES + 1]
        cdef double chance, sum = 0
        cdef int i
        for i in range(self.candidates):
            chance = self.weight[i]
            if row != NULL:
                chance *= (left_over(&self.hands, self.aside[i], row)
                           if self.hands.absence_of[i] == absence else 0)
            sum += chance
            sums[i] = sum
        return self.aside[rng_weighted(rng, sums, self.candidates)]

    cdef void draw_row(self, SkystonesState* stones, Rng* rng) noexcept nogil:
        cdef const Kind* kind
        cdef const uint8_t* row
        cdef uint8_t* hand = stones.hands[self.other]
        cdef uint8_t free_cards[MAX_TYPES]
        cdef size_t at = rng_weighted(rng, self.cumulated, self.rows * self.hands.absence_count)
        cdef int i, j, n, card, aside
        row = self.kinds_of_row + at // self.hands.absence_count * MAX_HAND
        aside = self.draw_aside(row, at % self.hands.absence_count, rng)
        self.set_aside(stones, aside)
        for i in range(self.hands.unplayed):
            kind = &self.hands.kinds[row[i]]
            n = 0
            for j in range(kind.size):
                card = kind.cards[j]
                if kind.copies > 1 or kind.size == 1 or not (hand[card] or card == aside):
                    free_cards[n] = card
                    n += 1
            card = free_cards[rng_below(rng, n)]
            hand[card] += 1
            stones.piles[self.other][card] -= 1


cdef int open_squares(Skystones game, const Common* common, int element) noexcept nogil:
    cdef int square, n = 0
    for square in range(game.squares):
        n += not common.board[square].card and accepts(common.board[square].field, element)
    return n


cdef bint tells(Skystones game, const Play* play) noexcept nogil:
    # Whether that a seat could place, or could not, tells anything of its cards.
    return play.barred or (play.needed and play.needed != ANY_ELEMENT)


cdef bint possible(Skystones game, const Play* play, const uint8_t* pile, int aside,
                   uint8_t* left) noexcept nogil:
    # Whether some hand out of a pile, without the card set aside, could be played so; what is left
    # of the pile, that card included.
    cdef int i, total = 0
    memcpy(left, pile, MAX_TYPES)
    for i in range(play.placed):
        if left[play.cards[i]] == 0:
            return False
        left[play.cards[i]] -= 1
        total += game.totals[play.cards[i]]
    return total + game.cheapest(left, aside, game.hand_size - play.placed,
                                 play.barred) <= game.hand_limit


# The probability of a hand. Cards that are alike are weighed together: for the picks, single cards
# of one total; for the placements, of one element, or of elements that no square told apart.

cdef void prepare(Skystones game, SkystonesSampler sampler, Hands* hands, const Play* play,
                  const uint8_t* pile):
    cdef uint8_t alike[ELEMENTS]
    cdef int i, j, card, n = 0
    memset(hands, 0, sizeof(Hands))
    hands.play = play[0]
    hands.unplayed = game.hand_size - play.placed
    hands.unplayed_limit = game.hand_limit
    hands.work_left = &sampler.work_left
    for i in range(play.placed):
        hands.unplayed_limit -= game.totals[play.cards[i]]
        for j in range(i, play.placed):
            if not shown_later(play, j + 1, play.cards[j]):
                hands.base[i] += play.open[i][game.elements[play.cards[j]]]
    memcpy(hands.pile, pile, MAX_TYPES)
    for i in range(game.types):
        card = game.by_total[i]
        hands.types_up_to[game.totals[card]] += pile[card] > 0
        for _j in range(pile[card]):
            if n < game.hand_size:
                hands.cheapest[n] = game.totals[card]
                n += 1
    for i in range(MAX_TOTAL):
        hands.types_up_to[i + 1] += hands.types_up_to[i]
    for i in range(FIRE, ELEMENTS):
        alike[i] = i
        for j in range(i - 1, FIRE - 1, -1):
            if look_alike(play, i, j):
                alike[i] = j
    sort_out(game, hands, alike)
    for i in range(sampler.candidates):
        hands.absence_of[i] = absence(game, hands, sampler.aside[i])


cdef bint shown_later(const Play* play, int first, int card) noexcept nogil:
    cdef int i
    for i in range(first, play.placed):
        if play.cards[i] == card:
            return True
    return False


cdef bint look_alike(const Play* play, int element, int other) noexcept nogil:
    cdef int i
    for i in range(play.placed):
        if play.open[i][element] != play.open[i][other]:
            return False
    return ((play.barred >> element ^ play.barred >> other) & 1 == 0
            and (play.needed >> element ^ play.needed >> other) & 1 == 0)


cdef void sort_out(Skystones game, Hands* hands, const uint8_t* alike) noexcept nogil:
    # The cards that can be in hand unplayed, as kinds and classes, by ascending total.
    cdef uint8_t left[MAX_TYPES]
    cdef Class* single
    cdef int i, j, end, card, element
    memcpy(left, hands.pile, MAX_TYPES)
    memset(hands.kind_of, NONE, MAX_TYPES)
    for i in range(hands.play.placed):
        left[hands.play.cards[i]] -= 1
    i = 0
    while i < game.types:
        end = i
        while end < game.types and game.totals[game.by_total[end]] == game.totals[game.by_total[i]]:
            end += 1
        single = &hands.classes[hands.class_count]
        single.total = game.totals[game.by_total[i]]
        single.card = NONE
        single.first = hands.kind_count
        for element in range(FIRE, ELEMENTS):
            if alike[element] == element and not hands.play.barred & 1 << element:
                for j in range(i, end):
                    card = game.by_total[j]
                    if (left[card] and hands.pile[card] == 1
                            and alike[game.elements[card]] == element):
                        add_card(hands, card, element, 1)
                        single.size += 1
                hands.kind_count += hands.kinds[hands.kind_count].size > 0
        single.end = hands.kind_count
        hands.class_count += single.size > 0
        for j in range(i, end):
            card = game.by_total[j]
            if (left[card] and hands.pile[card] > 1
                    and not hands.play.barred & 1 << game.elements[card]):
                single = &hands.classes[hands.class_count]
                single.total = game.totals[card]
                single.card = card
                single.size = left[card]
                single.first = hands.kind_count
                single.end = hands.kind_count + 1
                add_card(hands, card, game.elements[card], left[card])
                hands.class_count += 1
                hands.kind_count += 1
        i = end


cdef void add_card(Hands* hands, int card, int element, int copies) noexcept nogil:
    cdef Kind* kind = &hands.kinds[hands.kind_count]
    kind.element = element
    kind.copies = copies
    kind.cards[kind.size] = card
    kind.size += 1
    hands.kind_of[card] = hands.kind_count


cdef int absence(Skystones game, Hands* hands, int card) noexcept nogil:
    # The absence of a card, which is listed once.
    cdef int total = -1 if card == NONE else game.totals[card]
    cdef int several = card if card != NONE and hands.pile[card] > 1 else NONE
    cdef int i
    for i in range(hands.absence_count):
        if hands.absences[i].total == total and hands.absences[i].card == several:
            return i
    hands.absences[hands.absence_count].total = total
    hands.absences[hands.absence_count].card = several
    hands.absence_count += 1
    return hands.absence_count - 1


cdef void choose_classes(Skystones game, SkystonesSampler sampler, Hands* hands, int first, int n,
                         int limit) noexcept nogil:
    # Completes the hand, of which n unplayed cards are chosen, in every way.
    cdef int i
    if hands.too_many:
        return
    if n == hands.unplayed:
        weigh_picks(game, hands)
        choose_kinds(sampler, hands, 0)
        return
    for i in range(first, hands.class_count):
        if hands.classes[i].total * (hands.unplayed - n) > limit:
            return
        if hands.of_class[i] < hands.classes[i].size:
            hands.class_at[n] = i
            hands.of_class[i] += 1
            choose_classes(game, sampler, hands, i, n + 1, limit - hands.classes[i].total)
            hands.of_class[i] -= 1


cdef void choose_kinds(SkystonesSampler sampler, Hands* hands, int n) noexcept nogil:
    cdef const Class* of = &hands.classes[hands.class_at[n]] if n < hands.unplayed else NULL
    cdef int i, first
    if n == hands.unplayed:
        weigh(sampler, hands)
        return
    first = of.first
    if n > 0 and hands.class_at[n - 1] == hands.class_at[n]:
        first = hands.kind_at[n - 1]
    for i in range(first, of.end):
        if hands.of_kind[i] < hands.kinds[i].size * hands.kinds[i].copies:
            hands.kind_at[n] = i
            hands.of_kind[i] += 1
            choose_kinds(sampler, hands, n + 1)
            hands.of_kind[i] -= 1


cdef void weigh_picks(Skystones game, Hands* hands) noexcept nogil:
    # The probability to pick this hand, for each absence: the sum over all orders of picking it of
    # the products of 1 / (number of cards that could be picked).
    cdef int totals[MAX_HAND]
    cdef int cards[MAX_HAND]    # Of those with several copies; else NONE.
    cdef int groups[MAX_HAND]   # The places of the same card, as a set.
    cdef int room[1 << MAX_HAND]
    cdef int room_now[1 << MAX_HAND]
    cdef const int* rooms
    cdef double orders[1 << MAX_HAND]
    cdef double share, repeats = 1
    cdef int i, j, g, n = 0, copies, some, all_of, legal, spent_count
    cdef int spent[MAX_HAND]    # Sets of places that leave no copy in the pile.
    cdef int spent_totals[MAX_HAND]
    cdef const Absence* absent
    for i in range(game.hand_size):
        if i < hands.play.placed:
            n = hands.play.cards[i]
            totals[i] = game.totals[n]
            cards[i] = n if hands.pile[n] > 1 else NONE
        else:
            n = hands.class_at[i - hands.play.placed]
            totals[i] = hands.classes[n].total
            cards[i] = hands.classes[n].card
        j = i
        while j > 0 and totals[j - 1] > totals[j]:
            totals[j - 1], totals[j] = totals[j], totals[j - 1]
            cards[j - 1], cards[j] = cards[j], cards[j - 1]
            j -= 1
    n = game.hand_size
    all_of = (1 << n) - 1
    for i in range(n):
        groups[i] = 1 << i
        copies = 1
        for j in range(n):
            if i != j and cards[i] != NONE and cards[i] == cards[j]:
                groups[i] |= 1 << j
                copies += j < i
        repeats *= copies
    leave_room(game, hands, totals, -1, room)
    for g in range(hands.absence_count):
        absent = &hands.absences[g]
        rooms = room
        if 0 <= absent.total <= hands.cheapest[n - 1]:
            leave_room(game, hands, totals, absent.total, room_now)
            rooms = room_now
        spent_count = 0
        for i in range(n):
            copies = 1
            if cards[i] != NONE:
                copies = hands.pile[cards[i]] - (cards[i] == absent.card)
            if groups[i] >> i == 1 and bits(groups[i]) == copies:
                spent[spent_count] = groups[i]
                spent_totals[spent_count] = totals[i]
                spent_count += 1
        memset(orders, 0, sizeof(orders))
        orders[0] = 1
        for some in range(all_of):
            legal = hands.types_up_to[max(0, min(rooms[some], MAX_TOTAL))]
            if absent.card == NONE and 0 <= absent.total <= rooms[some]:
                legal -= 1
            for i in range(spent_count):
                legal -= spent[i] & some == spent[i] and spent_totals[i] <= rooms[some]
            share = orders[some] / max(legal, 1)
            for i in range(n):
                if not some & 1 << i:
                    orders[some | 1 << i] += share
        hands.picked[g] = orders[all_of] / repeats
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> (8 * hands.absence_count))


cdef void leave_room(Skystones game, const Hands* hands, const int* totals, int absent,
                     int* room) noexcept nogil:
    # For each part of the hand that may have been picked: the most that the next card's total can
    # be. The totals ascend, and so do those of the cheapest cards.
    cdef int some, i, j, others, missing
    for some in range((1 << game.hand_size) - 1):
        room[some] = game.hand_limit
        others = game.hand_size - 1 - bits(some)
        for i in range(game.hand_size):
            if some & 1 << i:
                room[some] -= totals[i]
        missing = absent
        i = j = 0
        while others > 0:
            while i < game.hand_size and not some & 1 << i:
                i += 1
            if i < game.hand_size and totals[i] == hands.cheapest[j]:
                i += 1                   # In hand already.
            elif missing == hands.cheapest[j]:
                missing = -1
            else:
                room[some] -= hands.cheapest[j]
                others -= 1
            j += 1


cdef void weigh(SkystonesSampler sampler, Hands* hands) noexcept nogil:
    # A hand down to its kinds: how likely was it to play as it did?
    cdef const Play* play = &hands.play
    cdef const Kind* kind
    cdef double rows[MAX_TYPES]
    cdef double likely, chance = 1
    cdef int i, j, choices, run, n = hands.unplayed
    cdef bint needed = play.needed != 0, any = False
    hands.work_left[0] -= min(hands.work_left[0], <uint64_t> sampler.candidates)
    if hands.work_left[0] == 0 and not hands.keep:
        hands.too_many = True
    for i in range(n):
        run = 1
        while i >= run and hands.kind_at[i - run] == hands.kind_at[i]:
            run += 1
        kind = &hands.kinds[hands.kind_at[i]]
        if kind.copies == 1:
            chance *= <double> (kind.size - run + 1) / run       # So many ways to choose them.
        if play.needed & 1 << kind.element:
            needed = False
    if needed:
        return
    for i in range(play.placed):
        choices = hands.base[i]
        for j in range(n):
            kind = &hands.kinds[hands.kind_at[j]]
            if hands.pile[kind.cards[0]] == 1 or not (
                    (j > 0 and hands.kind_at[j - 1] == hands.kind_at[j])
                    or shown_later(play, i, kind.cards[0])):
                choices += play.open[i][kind.element]
        chance /= choices
    memset(rows, 0, hands.absence_count * sizeof(double))
    for i in range(sampler.candidates):
        j = hands.absence_of[i]
        likely = chance * hands.picked[j] * left_over(hands, sampler.aside[i], hands.kind_at)
        hands.likelihood[i] += likely
        rows[j] += likely * sampler.weight[i]
        any = any or rows[j] > 0
    if hands.keep and any:
        if play.placed == 0 and sampler.rows == MAX_ROWS:
            hands.too_many = True
            return
        sampler.add_row(hands, rows)


cdef double left_over(const Hands* hands, int aside, const uint8_t* row) noexcept nogil:
    # The share of the hands of a row that leave the card set aside where it is.
    cdef const Kind* kind
    cdef int i, taken = 0
    if aside == NONE or hands.kind_of[aside] == NONE:
        return 1
    for i in range(hands.unplayed):
        taken += row[i] == hands.kind_of[aside]
    kind = &hands.kinds[hands.kind_of[aside]]
    if hands.pile[aside] == 1:
        return <double> (kind.size - taken) / kind.size
    return taken < kind.copies

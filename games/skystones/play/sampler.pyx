"""What a view of Skystones tells about the hidden cards.

The sampler has the exact distribution of the card set aside and of the opponent's hand, for an
opponent that chooses uniformly among its legal actions or, in the round that is not over, as was
learned. It replays the rounds from the placements,
which everybody saw. Each round tells something about the hand that it was played from
(play/likelihoods.pyx), and so about the card set aside. Past rounds tell nothing else about
the hand of this round, because their unplayed cards went back to the pile.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from engine.chance cimport Rng, rng_below, rng_reject, rng_weighted
from engine.features cimport UNIFORM
from engine.game cimport SEATS, State
from engine.integers cimport uint64_t, uint8_t
from engine.sampler cimport Sampler
from games.skystones.play.features cimport SkystonesFeatures
from games.skystones.play.likelihoods cimport (
    Candidates, Hands, Kind, Likelihoods, Play, Rows, cheapest, could_play, cumulate, left_over,
    tells, weigh_hands,
)
from games.skystones.rules.board cimport (
    clear_board, lay_field, open_elements, open_to, put, set_up_board, winner,
)
from games.skystones.rules.lanes cimport LANE_ONES, count_lanes
from games.skystones.rules.rules cimport Skystones
from games.skystones.rules.stack cimport (
    draw_card, lowest_bit, pick_card, pickable, put_in, stack_up, start_picks, take_out,
)
from games.skystones.rules.state cimport (
    BLOCKED, ELEMENTS, FIELD_CARDS, FIRE, MAX_CARDS, MAX_HAND, MAX_SQUARES, MAX_TYPES, NONE, OVER,
    PICK, PLACE, Board, Common, Picks, Placement, Side, SkystonesState, SkystonesView, Square,
    Stack,
)

from engine.errors import ViewError


cdef enum:
    # The work that past rounds may cost, about one unit for each hand and candidate. Only many
    # rounds with several unplayed cards, in a game of many different cards, need more. What the
    # rest of such rounds tell about the card set aside is then left out, except for what they rule
    # out.
    MAX_WORK = 5_000_000


cdef class SkystonesSampler(Sampler):
    """Draws the card set aside and the opponent's hand by their posterior."""

    cdef Skystones rules
    cdef State base              # What the view shows; all unseen cards are in the opponent's pile.
    cdef int other
    cdef uint8_t start[SEATS][MAX_TYPES]    # The piles at the start of the replayed round.
    cdef Candidates aside
    cdef double aside_sums[MAX_TYPES + 1]       # The running sums of its weights.
    cdef Play play               # What the opponent has shown in this round.
    cdef bint from_rows          # Whether the opponent's hand is drawn from `rows`,
    cdef Hands hands
    cdef Rows rows
    cdef int picks               # or by so many picks, until the hand allows `play`.
    cdef Picks before_picks[MAX_TYPES + 1]      # By candidate.
    cdef uint64_t work_left
    cdef SkystonesFeatures learned      # None: the opponent's choices are taken for uniform.
    cdef Likelihoods likelihoods
    cdef const double* pick_likelihoods     # In this round; NULL: uniform.

    def __dealloc__(self):
        free(self.rows.sums)
        free(self.rows.kinds)

    def __init__(self, view, model=None):
        super().__init__(view, model)
        self.rules = self.game
        if model is not None:
            self.learned = model.foresight
        self.other = 1 - self.seat
        self.work_left = MAX_WORK
        for card in range(MAX_TYPES):
            self.likelihoods.picks[card] = 1
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
            raise ViewError("common.turn", "must be the starter, except in the placing phase")
        for i in range(MAX_SQUARES):
            at = f"common.board[{i}].field"
            if seen.board[i].field > BLOCKED or (seen.board[i].field and i >= game.squares):
                raise ViewError(at, "must be a special field, on the board")
            laid[seen.board[i].field] += 1
            if seen.board[i].field and laid[seen.board[i].field] > FIELD_CARDS // BLOCKED:
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
        # Fills `start` with both piles as dealt; the card set aside counts as the other's.
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
        self.aside.count = 0
        for card in range(game.types):
            hand = self.start[self.other][card]
            for i in range(common.placement_count):
                hand -= (common.placements[i].seat == self.other
                         and common.placements[i].card == card)
            if hand < 0:
                raise ViewError("common.placements",
                                f"must not hold more of card {card} than there are")
            if hand and game.deck_size > SEATS * game.pile_size:
                self.aside.cards[self.aside.count] = card
                self.aside.weights[self.aside.count] = self.start[self.other][card]
                self.aside.count += 1
        if game.deck_size == SEATS * game.pile_size:
            self.aside.cards[0] = NONE
            self.aside.weights[0] = 1
            self.aside.count = 1

    cdef replay(self):
        # Replays all rounds from what everybody saw, and learns what each tells.
        cdef Skystones game = self.rules
        cdef const SkystonesView* seen = <const SkystonesView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Placement* placement
        cdef SkystonesState* stones = <SkystonesState*> &self.base
        cdef Board* board = &stones.board
        cdef Square shown[MAX_SQUARES]
        cdef Play plays[SEATS]
        cdef int points[SEATS]
        cdef int round, seat, lane, square, won_by, element, at = 0
        cdef int first = 0
        cdef int starter = common.first_starter
        cdef bint ended
        cdef bint passed[SEATS]
        points[0] = points[1] = 0
        set_up_board(game, board)
        for square in range(game.squares):
            if seen.board[square].field:
                lay_field(board, game.lanes[square], seen.board[square].field)
        for round in range(1, common.round + 1):
            ended = round < common.round or common.phase == OVER
            memset(plays, 0, sizeof(plays))
            passed[0] = passed[1] = False
            seat = starter
            first = at
            while at < common.placement_count and common.placements[at].round == round:
                placement = &common.placements[at]
                lane = game.lanes[placement.square]
                name = f"common.placements[{at}]"
                if common.phase == PICK and not ended:
                    raise ViewError(f"{name}.round", "must be a round before this one")
                if placement.seat != seat:
                    passed[seat] = True
                    plays[seat].barred |= open_elements(board)
                seat = placement.seat
                if passed[seat]:
                    raise ViewError(f"{name}.seat", "must not be a seat that has passed before")
                if plays[seat].placed == game.hand_size:
                    raise ViewError(f"{name}.seat", "must still have a card in hand")
                if not open_to(board, game.elements[placement.card]) >> lane & 1:
                    raise ViewError(f"{name}.square", "must be open to the card")
                for element in range(FIRE, ELEMENTS):
                    plays[seat].open[plays[seat].placed][element] = count_lanes(
                        open_to(board, element))
                if self.learned is not None and seat == self.other and not ended:
                    self.weigh_options(board, placement, plays[seat].placed)
                plays[seat].cards[plays[seat].placed] = placement.card
                plays[seat].placed += 1
                put(game, board, seat, placement.card, lane)
                seat = 1 - seat
                at += 1
            if ended:
                if at == first and not (round == common.round and common.phase == OVER):
                    raise ViewError("common.placements", f"must not leave out round {round}")
                for seat in range(SEATS):
                    plays[seat].barred |= open_elements(board)
                self.judge(game, &plays[self.seat])
                self.learn(&plays[self.other])
                won_by = winner(board)
                if won_by != NONE:
                    points[won_by] += 1
                clear_board(board)
                if round < common.round:
                    starter = 1 - (starter if won_by == NONE else won_by)
            elif common.phase == PLACE and seat != common.turn:
                passed[seat] = True
                plays[seat].barred |= open_elements(board)
        if at < common.placement_count:
            raise ViewError(f"common.placements[{at}].round", "must ascend to the view's round")
        if common.starter != starter:
            raise ViewError("common.starter", f"must be {starter} by the rounds before")
        if common.phase == PLACE and passed[common.turn]:
            raise ViewError("common.turn", "must not be a seat that could not place before")
        for seat in range(SEATS):
            if common.sides[seat].points != points[seat]:
                raise ViewError(f"common.sides[{seat}].points",
                                f"must be {points[seat]} by the rounds")
        stones.common = common[0]
        memset(shown, 0, sizeof(shown))
        game.show_board(stones, shown)
        for square in range(MAX_SQUARES):
            if (seen.board[square].card != shown[square].card
                    or seen.board[square].owner != shown[square].owner):
                raise ViewError(f"common.board[{square}]", "must be as the placements have left it")
        if common.phase == PLACE:
            plays[common.turn].needed = open_elements(board)
        self.conclude(game, plays, at == first)

    cdef weigh_options(self, const Board* board, const Placement* made, int placed):
        # Fills in how likely a placement of the opponent was, and those of all its other cards.
        cdef double* options = self.likelihoods.options[placed]
        cdef uint64_t open
        cdef int card
        self.likelihoods.placed[placed] = self.learned.placement(
            board, self.other, made.card, self.rules.lanes[made.square])
        memset(options, 0, sizeof(self.likelihoods.options[placed]))
        for card in range(self.rules.types):
            open = open_to(board, self.rules.elements[card]) & LANE_ONES
            while self.start[self.other][card] and open:
                options[card] += self.learned.placement(board, self.other, card, lowest_bit(open))
                open &= open - 1

    cdef judge(self, Skystones game, const Play* play):
        # Checks a past round of the viewer itself, whose hand the view does not show.
        cdef uint8_t left[MAX_TYPES]
        if not could_play(game, play, self.start[self.seat], NONE, left):
            raise ViewError("common.placements", "must be what the viewer's own hands allowed")
        memcpy(self.start[self.seat], left, MAX_TYPES)

    cdef learn(self, const Play* play):
        # Learns from a past round of the opponent which card may be the one set aside.
        cdef Skystones game = self.rules
        cdef uint8_t left[MAX_TYPES]
        cdef double most = 0
        cdef int i
        for i in range(self.aside.count):
            if not could_play(game, play, self.start[self.other], self.aside.cards[i], left):
                self.aside.weights[i] = 0
        if self.aside.cards[0] != NONE:
            with nogil:
                weigh_hands(game, &self.hands, play, self.start[self.other], &self.aside,
                            &self.likelihoods, NULL, &self.work_left)
            for i in range(self.aside.count):
                if not self.hands.too_many:
                    self.aside.weights[i] *= self.hands.likelihood[i]
                most = max(most, self.aside.weights[i])
            for i in range(self.aside.count):
                self.aside.weights[i] /= most if most > 0 else 1
        memcpy(self.start[self.other], left, MAX_TYPES)

    cdef conclude(self, Skystones game, const Play* plays, bint nothing_placed):
        # Learns from the round that is not over, or from the end of the match.
        cdef const SkystonesView* seen = <const SkystonesView*> &self.view
        cdef const Common* common = &seen.common
        cdef const Play* play = &plays[self.other]
        cdef SkystonesState* stones = <SkystonesState*> &self.base
        cdef uint8_t pile[MAX_TYPES]
        cdef int expected[SEATS]
        cdef int card, seat, i, total = 0, held = 0
        cdef bint own = can_form_hand(game, self.start[self.seat], NONE)
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
            total += cheapest(game, seen.pile, NONE,
                              game.hand_size - common.sides[0].hand_size, 0)
        if common.phase != OVER and total > game.hand_limit:
            raise ViewError("hand", f"must keep within {game.hand_limit}")
        if held & plays[self.seat].barred:
            raise ViewError("hand", "must hold no card that could have been placed")
        if plays[self.seat].needed and not held & plays[self.seat].needed:
            raise ViewError("hand", "must hold a card that can be placed now")

        for i in range(self.aside.count):
            if common.phase != OVER:
                self.aside.weights[i] *= can_form_hand(game, self.start[self.other],
                                                       self.aside.cards[i])
            # The match ended because the opponent cannot form a hand.
            elif own and not nothing_placed:
                self.aside.weights[i] *= not can_form_hand(game, self.start[self.other],
                                                           self.aside.cards[i])
        self.picks = common.sides[self.other].hand_size
        if self.learned is not None and common.phase != OVER:
            self.pick_likelihoods = self.learned.picks_of(common, self.other)
            memcpy(self.likelihoods.picks, self.pick_likelihoods, sizeof(self.likelihoods.picks))
            self.likelihoods.uniform = UNIFORM
            self.likelihoods.known = True
        self.play = play[0]
        self.from_rows = common.phase == PLACE and (play.placed or tells(play))
        if self.from_rows:
            with nogil:
                weigh_hands(game, &self.hands, play, self.start[self.other], &self.aside,
                            &self.likelihoods, &self.rows, &self.work_left)
                cumulate(&self.hands, &self.rows)
            if self.rows.out_of_memory:
                raise MemoryError
            self.from_rows = not self.hands.too_many
        total = 0
        for i in range(self.aside.count):
            total += self.aside.weights[i] > 0
        if total == 0 or (self.from_rows and self.rows.count == 0):
            raise ViewError("common.placements", "must be what some cards of the opponent allowed")

        stack_up(seen.hand, &stones.hands[self.seat])
        stack_up(seen.pile, &stones.piles[self.seat])
        memcpy(pile, self.start[self.other], MAX_TYPES)
        for i in range(play.placed):
            if common.phase == PLACE:
                pile[play.cards[i]] -= 1
        if common.phase == PICK:
            start_picks(game, &stones.piles[self.seat], &stones.hands[self.seat],
                        common.sides[self.seat].hand_size, &stones.picks[self.seat])
        for i in range(self.aside.count):
            stack_up(pile, &stones.piles[self.other])
            if self.aside.cards[i] != NONE:
                take_out(&stones.piles[self.other], self.aside.cards[i])
            start_picks(game, &stones.piles[self.other], &stones.hands[self.other], 0,
                        &self.before_picks[i])
            self.aside_sums[i] = self.aside.weights[i] + (self.aside_sums[i - 1] if i else 0)
        stack_up(pile, &stones.piles[self.other])

    # Drawing

    cdef void draw(self, State* state, Rng* rng) noexcept nogil:
        cdef SkystonesState* stones = <SkystonesState*> state
        memcpy(state, &self.base, sizeof(SkystonesState))
        if self.from_rows:
            self.draw_row(stones, rng)
            return
        while not self.draw_picks(stones, rng) and not rng_reject(rng):
            memcpy(state, &self.base, sizeof(SkystonesState))

    cdef bint draw_picks(self, SkystonesState* stones, Rng* rng) noexcept nogil:
        # Picks the opponent's hand. False: the opponent cannot have played it as it did.
        cdef Stack* pile = &stones.piles[self.other]
        cdef Stack* hand = &stones.hands[self.other]
        cdef int drawn = rng_weighted(rng, self.aside_sums, self.aside.count)
        cdef Picks picks = self.before_picks[drawn]
        cdef int element, _pick, held = 0
        self.set_aside(stones, self.aside.cards[drawn])
        for _pick in range(self.picks):
            pick_card(self.rules, pile, hand, &picks, draw_card(
                self.rules, pickable(self.rules, pile, &picks), self.pick_likelihoods, rng))
        if stones.common.phase == PICK:
            stones.picks[self.other] = picks
        for element in range(FIRE, ELEMENTS):
            if hand.types & self.rules.of_element[element]:
                held |= 1 << element
        return self.picks == 0 or (
            not held & self.play.barred and (not self.play.needed or held & self.play.needed))

    cdef void set_aside(self, SkystonesState* stones, int card) noexcept nogil:
        if card != NONE:
            stones.aside = card + 1
            take_out(&stones.piles[self.other], card)

    cdef int draw_aside(self, const uint8_t* row, int absence, Rng* rng) noexcept nogil:
        # The card set aside: a candidate of this absence that leaves the hand of a row.
        cdef double sums[MAX_TYPES + 1]
        cdef double sum = 0
        cdef int i
        for i in range(self.aside.count):
            if self.hands.absence_of[i] == absence:
                sum += self.aside.weights[i] * left_over(&self.hands, self.aside.cards[i], row)
            sums[i] = sum
        return self.aside.cards[rng_weighted(rng, sums, self.aside.count)]

    cdef void draw_row(self, SkystonesState* stones, Rng* rng) noexcept nogil:
        cdef const Kind* kind
        cdef const uint8_t* row
        cdef Stack* hand = &stones.hands[self.other]
        cdef uint8_t free_cards[MAX_TYPES]
        cdef size_t at = rng_weighted(rng, self.rows.sums,
                                      self.rows.count * self.hands.absence_count)
        cdef int i, j, n, card, aside
        row = self.rows.kinds + at // self.hands.absence_count * MAX_HAND
        aside = self.draw_aside(row, at % self.hands.absence_count, rng)
        self.set_aside(stones, aside)
        for i in range(self.hands.unplayed):
            kind = &self.hands.kinds[row[i]]
            n = 0
            for j in range(kind.size):
                card = kind.cards[j]
                if kind.copies > 1 or kind.size == 1 or not (hand.copies[card] or card == aside):
                    free_cards[n] = card
                    n += 1
            card = free_cards[rng_below(rng, n)]
            put_in(hand, card)
            take_out(&stones.piles[self.other], card)


cdef bint can_form_hand(Skystones game, const uint8_t* pile, int missing) noexcept nogil:
    # From a pile without one card, `missing` (NONE: with all of them).
    return cheapest(game, pile, missing, game.hand_size, 0) <= game.hand_limit

/* A plain search of the last rounds of Skystones, to compare the speed of the real one with.

   Information-set Monte Carlo tree search on one thread, for one game and from one kind of
   position: a seat is about to put the first card on an empty board without special fields, and
   each card is there once. Each iteration draws the opponent's hand, descends by UCB1 over the
   placements that this hand allows, adds one child and plays at random to the end of the match.
   Everybody sees every placement, so both seats can share one tree. It ends with the round.

   __init__.py compiles it, writes the position and reads the result. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SQUARES = 9, EDGES = 4, HAND = 5, TYPES = 64, NOBODY = 2 };

/* One standard deviation of the scores where half of the matches are won. */
static const float EXPLORATION = 0.5f;

/* The cards of each seat when the round began, by total. */
typedef struct {
    uint8_t cards[2][TYPES];
    int count[2];
} Piles;

/* The position. The pile of the opponent still holds the card that was set aside. */
static int hand_limit, seat, lead, set_aside;
static uint8_t edges[TYPES][EDGES], totals[TYPES];
static uint8_t own_hand[HAND];
static Piles known;

static struct { uint8_t square, edge; } beside[SQUARES][EDGES];
static int beside_count[SQUARES];

typedef struct {
    uint64_t placed;                      /* The cards on the board or out, as a set. */
    uint64_t hand[2];
    uint8_t hands[2][HAND], hand_size[2];
    uint8_t open[SQUARES], open_count;    /* In any order. */
    uint8_t card[SQUARES], owner[SQUARES];
    int8_t chips;                         /* Of seat 0, less those of seat 1. */
    uint8_t turn;
} State;

typedef struct {
    float total;                          /* Of the scores, for the seat that decides. */
    uint32_t visits, availability;
    uint32_t node;                        /* After the action; 0: none yet. */
    uint8_t card, square;
} Child;

typedef struct {
    uint64_t tried[SQUARES];              /* The cards, by square. */
    uint32_t first, count, room;          /* Its children. */
} Node;

static Node *nodes;
static Child *children;
static uint32_t node_count = 1, child_count;
static float *sqrt_log, *inverse, *inverse_root;

/* Chance: xoroshiro128+ (Blackman and Vigna, 2018). */

static uint64_t chance[2];

static inline uint64_t next(void) {
    uint64_t a = chance[0], b = chance[1], result = a + b;
    b ^= a;
    chance[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
    chance[1] = b << 37 | b >> 27;
    return result;
}

static inline uint32_t below(uint32_t n) {
    return (next() >> 32) * n >> 32;
}

/* The rules. */

static inline void put(State *state, int card, int i) {
    int square = state->open[i], turn = state->turn;
    state->open[i] = state->open[--state->open_count];
    state->placed |= 1ull << card;
    state->card[square] = card;
    state->owner[square] = turn;
    int won = 1;
    for (int j = 0; j < beside_count[square]; j++) {
        int other = beside[square][j].square, edge = beside[square][j].edge;
        if (state->owner[other] == 1 - turn
                && edges[card][edge] > edges[state->card[other]][edge ^ 2]) {
            state->owner[other] = turn;
            won += 2;
        }
    }
    state->chips += turn ? -won : won;
    if (state->hand_size[1 - turn])
        state->turn = 1 - turn;
}

static inline void take_from_hand(State *state, int turn, int i) {
    state->hand[turn] ^= 1ull << state->hands[turn][i];
    state->hands[turn][i] = state->hands[turn][--state->hand_size[turn]];
}

static int can_form_hand(const Piles *piles, int who, uint64_t placed) {
    int sum = 0, n = 0;
    for (int i = 0; i < piles->count[who]; i++) {
        int card = piles->cards[who][i];
        if (placed >> card & 1)
            continue;
        sum += totals[card];
        if (++n == HAND)
            return sum <= hand_limit;
    }
    return 0;
}

/* Picks a hand from the cards of a seat that are not out. */
static void pick(const Piles *piles, uint64_t out, State *state, int who) {
    uint8_t left[TYPES];
    int n = 0, total = 0;
    for (int i = 0; i < piles->count[who]; i++) {
        left[n] = piles->cards[who][i];
        n += ~out >> left[n] & 1;
    }
    state->hand[who] = 0;
    for (int picked = 0; picked < HAND; picked++) {
        int most = hand_limit - total, legal = n;
        for (int i = 0; i < HAND - 1 - picked; i++)
            most -= totals[left[i]];
        while (totals[left[legal - 1]] > most)
            legal--;
        int i = below(legal), card = left[i];
        memmove(left + i, left + i + 1, --n - i);
        state->hands[who][picked] = card;
        state->hand[who] |= 1ull << card;
        total += totals[card];
    }
    state->hand_size[who] = HAND;
}

static void clear(State *state) {
    for (int i = 0; i < SQUARES; i++) {
        state->open[i] = i;
        state->owner[i] = NOBODY;
    }
    state->open_count = SQUARES;
    state->chips = 0;
}

/* Plays at random to the end of the match: the score of seat 0. */
static float playout(State *state, const Piles *piles) {
    int points = seat ? -lead : lead, starter = seat;
    for (;;) {
        while (state->open_count && state->hand_size[0] + state->hand_size[1]) {
            int turn = state->turn, i = below(state->hand_size[turn]);
            int card = state->hands[turn][i];
            take_from_hand(state, turn, i);
            put(state, card, below(state->open_count));
        }
        points += (state->chips > 0) - (state->chips < 0);
        starter = state->chips ? state->chips > 0 : 1 - starter;
        if (!can_form_hand(piles, 0, state->placed) || !can_form_hand(piles, 1, state->placed))
            return 0.5f * (1 + (points > 0) - (points < 0));
        for (int who = 0; who < 2; who++)
            pick(piles, state->placed, state, who);
        clear(state);
        state->turn = starter;
    }
}

/* The search. */

static void draw_world(State *state, Piles *piles) {
    int other = 1 - seat;
    *piles = known;
    if (set_aside) {
        int i = below(piles->count[other]--);
        memmove(piles->cards[other] + i, piles->cards[other] + i + 1, piles->count[other] - i);
    }
    memset(state, 0, sizeof *state);
    clear(state);
    memcpy(state->hands[seat], own_hand, HAND);
    state->hand_size[seat] = HAND;
    for (int i = 0; i < HAND; i++)
        state->hand[seat] |= 1ull << own_hand[i];
    pick(piles, 0, state, other);
    state->turn = seat;
}

static Child *add_child(Node *node, int card, int square) {
    if (node->count == node->room) {
        uint32_t room = node->room ? 2 * node->room : 4;
        memcpy(children + child_count, children + node->first, node->count * sizeof(Child));
        node->first = child_count;
        node->room = room;
        child_count += room;
    }
    Child *child = &children[node->first + node->count++];
    *child = (Child) {.card = card, .square = square};
    node->tried[square] |= 1ull << card;
    return child;
}

/* A random placement that has not been tried, as an index of the open squares; its card goes to
   `card`. There are `untried`. */
static int find_untried(const Node *node, const State *state, int untried, int *card) {
    uint64_t hand = state->hand[state->turn];
    int n = below(untried);
    for (int i = 0;; i++) {
        uint64_t left = hand & ~node->tried[state->open[i]];
        int count = __builtin_popcountll(left);
        if (n < count) {
            while (n--)
                left &= left - 1;
            *card = __builtin_ctzll(left);
            return i;
        }
        n -= count;
    }
}

static void iterate(void) {
    struct { uint32_t child; int turn; } path[SQUARES];
    State state;
    Piles piles;
    int length = 0, expanded = 0;
    uint32_t at = 1;
    draw_world(&state, &piles);
    while (!expanded && state.open_count) {
        Node *node = &nodes[at];
        uint64_t hand = state.hand[state.turn];
        int available = 0, turn = state.turn, card, i = 0;
        uint32_t best = 0;
        float most = -1;
        for (uint32_t c = node->first; c < node->first + node->count; c++) {
            Child *child = &children[c];
            if (!(hand >> child->card & 1))
                continue;
            available++;
            child->availability++;
            float value = child->total * inverse[child->visits] + EXPLORATION
                          * sqrt_log[child->availability] * inverse_root[child->visits];
            if (value > most) {
                most = value;
                best = c;
            }
        }
        int untried = state.hand_size[turn] * state.open_count - available;
        if (untried) {
            i = find_untried(node, &state, untried, &card);
            Child *child = add_child(node, card, state.open[i]);
            child->availability = 1;
            best = child - children;
            expanded = 1;
        } else {
            card = children[best].card;
            while (state.open[i] != children[best].square)
                i++;
            if (!children[best].node)
                children[best].node = ++node_count;
            at = children[best].node;
        }
        int place = 0;
        while (state.hands[turn][place] != card)
            place++;
        take_from_hand(&state, turn, place);
        put(&state, card, i);
        path[length].child = best;
        path[length++].turn = turn;
    }
    float score = playout(&state, &piles);
    while (length--) {
        Child *child = &children[path[length].child];
        child->visits++;
        child->total += path[length].turn ? 1 - score : score;
    }
}

static int read_number(void) {
    int n;
    if (scanf("%d", &n) != 1)
        exit(2);
    return n;
}

static int read_cards(uint8_t *cards) {
    int count = read_number();
    for (int i = 0; i < count; i++)
        cards[i] = read_number();
    return count;
}

static int by_total(const void *a, const void *b) {
    int x = *(const uint8_t *) a, y = *(const uint8_t *) b;
    return totals[x] == totals[y] ? x - y : totals[x] - totals[y];
}

int main(void) {
    int iterations = read_number();
    chance[0] = read_number();
    chance[1] = 0x9E3779B97F4A7C15;
    hand_limit = read_number();
    int types = read_number();
    for (int card = 0; card < types; card++)
        for (int edge = 0; edge < EDGES; edge++)
            totals[card] += edges[card][edge] = read_number();
    seat = read_number();
    lead = read_number();
    set_aside = read_number();
    read_cards(own_hand);
    for (int i = 0; i < 2; i++) {
        int who = i ? 1 - seat : seat;
        known.count[who] = read_cards(known.cards[who]);
        qsort(known.cards[who], known.count[who], 1, by_total);
    }
    for (int square = 0; square < SQUARES; square++) {
        int there[EDGES] = {square >= 3, square % 3 < 2, square < 6, square % 3 > 0};
        int step[EDGES] = {-3, 1, 3, -1};
        for (int edge = 0; edge < EDGES; edge++)
            if (there[edge]) {
                beside[square][beside_count[square]].square = square + step[edge];
                beside[square][beside_count[square]++].edge = edge;
            }
    }
    clock_t start = clock();
    /* Each iteration adds a child, and a run that grows leaves at most as many behind. */
    nodes = calloc(iterations + 2, sizeof *nodes);
    children = malloc((8ull * iterations + 64) * sizeof *children);
    sqrt_log = malloc((iterations + 2) * sizeof *sqrt_log);
    inverse = malloc((iterations + 2) * sizeof *inverse);
    inverse_root = malloc((iterations + 2) * sizeof *inverse_root);
    if (!nodes || !children || !sqrt_log || !inverse || !inverse_root)
        return 3;
    for (int n = 1; n < iterations + 2; n++) {
        sqrt_log[n] = sqrtf(logf(n));
        inverse[n] = 1.0f / n;
        inverse_root[n] = 1 / sqrtf(n);
    }
    for (int i = 0; i < iterations; i++)
        iterate();
    printf("%.9f\n", (double) (clock() - start) / CLOCKS_PER_SEC);
    for (uint32_t c = nodes[1].first; c < nodes[1].first + nodes[1].count; c++)
        printf("%d %d %u %.6f\n", children[c].card, children[c].square, children[c].visits,
               children[c].total / children[c].visits);
    return 0;
}

"""Local best response: what an opponent that knows how a player plays gains, at least, in matches.

A best response to a whole game cannot be computed. The *exploiter* is an opponent that comes nearer
to one than most: it can ask the player what it would do in any view. It plays pairs of matches
against the player, with the same deal and the seats exchanged. What it scores above half is a lower
bound of what a best response gains, whatever the exploiter leaves out, because it sees no more than
its seat does.

    V. Lisý, M. Bowling, "Equilibrium Approximation Quality of Current No-Limit Poker Bots", AAAI
    2017 Workshop on Computer Poker and Imperfect Information Games: local best response.

*Belief.* The exploiter keeps worlds with weights: a particle filter. The sampler draws them at the
deal. At each step, the weight of a world is multiplied by how likely the player is to do in it what
the exploiter saw, and the world goes on to what the exploiter sees then. An answer of a search is
one sample of how it plays, so a share of each likelihood, TREMBLE, is that of a uniform choice.
What chance shows in a step counts as equally likely in all worlds where it is possible, since a
seat knows most cards of the pile that it draws from. As soon as the effective number of worlds is
less than half, they are resampled so that each that counts is there twice at most, and the sampler
draws all others anew.

    A. Kong, J. S. Liu, W. H. Wong, "Sequential Imputations and Bayesian Missing Data Problems",
    Journal of the American Statistical Association 89, 1994: the effective number.

*Decision.* A search, OWN times as long as the player's, scores all actions as if the player went on
as well as it can. Few worlds would make it too sure of the hidden cards, so it searches the worlds
of the belief only in proportion to how many of them count, and else FRESH ones of the sampler
(T. Hesterberg, "Weighted Average Importance Sampling and Defensive Mixture Distributions",
Technometrics 37(2), 1995). For the CANDIDATES best, a local look-ahead goes through RESPONSES
worlds of the belief: the action, then the player's decision as it answers, then playouts. The
exploiter plays the action with the best mean of both scores. In poker, Lisý and Bowling instead let
both players check or call from there on; other games have no such way to the end.
"""

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ai.last_look import SHARE
from ai.results import Parameters, Standing
from ai.search import Search
from engine import games
from engine.game import Game, SeatView
from engine.match import Match
from engine.model import learned
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler, WeightedWorlds
from lab import elo, particles
from lab.exploit import Answer, by_search
from lab.workers import in_order

OWN = 4
FRESH = 256
CANDIDATES = 3
RESPONSES = 8
PLAYOUTS = 64
TREMBLE = 0.1
MOST_DRAWS = 4000  # Of chance, for a step of a world that is to fit what was seen.


def by_uniform(view: SeatView, iterations: int, seed: int) -> Answer:
    """Every action alike."""
    legal = Sampler.of(view).sample(seed).legal(view.seat)
    return dict.fromkeys(legal, 1 / len(legal))


PLAYERS: dict[str, Callable[[SeatView, int, int], Answer]] = {
    "croupier": by_search,
    "uniform": by_uniform,
}


class Task(NamedTuple):
    """One pair of matches; `iterations` are those of the player, and `worlds` is how many."""

    game_id: str
    ruleset: Mapping[str, Any]
    player: str
    iterations: int
    worlds: int
    seed: int
    pair: int

    def chance(self, *what: object) -> int:
        """A number of 64 bits that depends on the game, the seed, the pair and `what`."""
        text = repr((self.game_id, self.seed, self.pair, *what))
        digest = hashlib.shake_256(f"croupier/local-best-response/v1\0{text}".encode()).digest(8)
        return int.from_bytes(digest, "big")


class Pair(NamedTuple):
    """A pair that was played."""

    # Of the exploiter: from seat 0, and from seat 1.
    scores: tuple[float, float]
    # The effective number of worlds after each decision of the player.
    effective: tuple[float, ...]
    # How many views the exploiter has asked the player about.
    asked: int


class Result(NamedTuple):
    """What the exploiter gains in a match, in hundredths of it, as a 95 % interval over pairs."""

    points: elo.Interval
    matches: int
    # The mean of Pair.effective.
    effective: float
    # The views in a match that the exploiter asked about.
    asked: float


class Asked:
    """A player that is asked in the views of one match; a view has one answer."""

    def __init__(self, task: Task, who: str) -> None:
        self._task = task
        self._who = who
        self._answers: dict[SeatView, Answer] = {}

    def answer(self, view: SeatView, legal: Sequence[int]) -> Answer:
        """The probabilities of the legal actions; a missing one has 0."""
        if len(legal) == 1:
            return {legal[0]: 1.0}
        if view not in self._answers:
            seed = self._task.chance(self._who, bytes(view))
            answer = PLAYERS[self._task.player](view, self._task.iterations, seed)
            self._answers[view] = answer
        return self._answers[view]

    def __len__(self) -> int:
        return len(self._answers)


class Exploiter:
    """The exploiter in one match. It gets what its seat sees, and nothing else."""

    def __init__(self, task: Task, game: Game, view: SeatView) -> None:
        """`view` is that of the deal."""
        self.effective: list[float] = []
        self.player = Asked(task, "exploiter")
        self._task = task
        self._game = game
        self._seat = view.seat
        self._model = learned(game)
        self._policy = PlayoutPolicy.of(game, self._model)
        self._step = 0
        self._trust = 1.0  # The effective number of worlds, as a share of all.
        self._worlds: list[Position] = []
        self._weights: list[float] = []
        self._draw_missing(view)

    def choose(self, view: SeatView, legal: Sequence[int]) -> int:
        """Chooses one of the legal actions."""
        if len(legal) == 1:
            return legal[0]
        search = Search(
            view,
            seed=self._chance("search"),
            sampler=self._with_fresh(view),
            parameters=Parameters(from_deal=False, last_look=SHARE),
        )
        search.run(iterations=OWN * self._task.iterations)
        scores = {
            each.action: each.expected_score
            for each in search.result().actions
            if each.standing is not Standing.UNEXAMINED
        }
        best = sorted(scores, key=lambda action: (-scores[action], action))[:CANDIDATES]
        ahead = self._look_ahead(WeightedWorlds(view, self._worlds, self._weights), best)
        return max(best, key=lambda action: scores[action] + ahead[action])

    def observe(self, own: int, key: int, view: SeatView) -> None:
        """Takes note of a step: its own action (0: none), `Position.observe`, and the view after.

        Not of the last step, after which nobody decides.
        """
        self._step += 1
        decided = False
        for number, world in enumerate(self._worlds):
            legal = world.legal(1 - self._seat)
            decided |= len(legal) > 1
            if self._weights[number]:
                after, likelihood = self._after(world, legal, own, key, view, number)
                self._worlds[number] = after
                self._weights[number] *= likelihood
        total = math.fsum(self._weights)
        if total > 0:
            self._weights = [weight / total for weight in self._weights]
        squares = math.fsum(weight * weight for weight in self._weights)
        effective = 1 / squares if total > 0 else 0.0
        self._trust = effective / self._task.worlds
        if decided:
            self.effective.append(effective)
        if 2 * effective < self._task.worlds:
            self._resample(math.ceil(2 * effective))
            self._draw_missing(view)

    def _chance(self, *what: object) -> int:
        return self._task.chance(self._seat, self._step, *what)

    def _answer(self, world: Position) -> Answer:
        # Of the player; empty where it owes no decision.
        other = 1 - self._seat
        legal = world.legal(other)
        return self.player.answer(world.view(other), legal) if legal else {}

    # Belief

    def _after(
        self,
        world: Position,
        legal: Sequence[int],
        own: int,
        key: int,
        view: SeatView,
        number: int,
    ) -> tuple[Position, float]:
        # What follows in a world, and how likely that is; 0 if nothing that fits does.
        answer = self._answer(world)
        seed = self._chance("after", number)
        fits = dict(
            particles.after(world, self._seat, own, legal or (0,), key, view, MOST_DRAWS, seed)
        )
        if not fits:
            return world, 0.0
        likelihoods = dict.fromkeys(fits, 1.0)
        if legal:
            least = TREMBLE / len(legal)
            likelihoods = {
                action: (1 - TREMBLE) * answer.get(action, 0.0) + least for action in fits
            }
        chosen = _draw(likelihoods, self._chance("which", number))
        return fits[chosen], math.fsum(likelihoods.values())

    def _resample(self, kept: int) -> None:
        # Systematic resampling, whose numbers of copies differ least from the weights.
        sums = list(itertools.accumulate(self._weights))
        start = (self._chance("resample") >> 11) / 2**53
        marks = ((number + start) / kept * sums[-1] for number in range(kept))
        places = (next(place for place, sum_ in enumerate(sums) if sum_ > mark) for mark in marks)
        self._worlds = [self._worlds[place] for place in places]

    def _draw_missing(self, view: SeatView) -> None:
        sampler = Sampler.of(view, self._model)
        for number in range(len(self._worlds), self._task.worlds):
            self._worlds.append(sampler.sample(self._chance("missing", number)))
        self._weights = [1 / len(self._worlds)] * len(self._worlds)

    def _with_fresh(self, view: SeatView) -> WeightedWorlds:
        sampler = Sampler.of(view, self._model)
        fresh = [sampler.sample(self._chance("fresh", number)) for number in range(FRESH)]
        weights = [self._trust * weight for weight in self._weights]
        weights += [(1 - self._trust) / FRESH] * FRESH
        return WeightedWorlds(view, self._worlds + fresh, weights, self._model)

    # Look-ahead

    def _look_ahead(self, worlds: Sampler, actions: Sequence[int]) -> dict[int, float]:
        # The mean score of each action. All have the same worlds and the same chance.
        totals = dict.fromkeys(actions, 0.0)
        for number in range(RESPONSES):
            chance = self._chance("ahead", number)
            world = worlds.sample(chance)
            answer = self._answer(world)
            joint = {1 - self._seat: _draw(answer, chance)} if answer else {}
            for action in actions:
                after = world.copy()
                after.apply({**joint, self._seat: action}, chance)
                totals[action] += self._score(after, chance) / RESPONSES
        return totals

    def _score(self, world: Position, chance: int) -> float:
        # The mean score if the player decides as it answers, and then the playout policy for both.
        answer = self._answer(world) or {0: 1.0}
        joint = {}
        if world.legal(self._seat) and 0 not in answer:
            joint[self._seat] = self._policy.action(world, self._seat, chance)
        total = 0.0
        for action, share in answer.items():
            if share > 0:
                after = world.copy()
                if action:
                    after.apply({**joint, 1 - self._seat: action}, chance)
                first, _ = self._policy.playouts(after, PLAYOUTS, chance)
                total += share * (1 - first if self._seat else first)
        return total


def _draw(shares: Answer, chance: int) -> int:
    # An action in proportion to its share.
    at = chance / 2**64 * sum(shares.values())
    action = 0
    for action, share in sorted(shares.items()):  # noqa: B007
        at -= share
        if at < 0:
            break
    return action


def play_pair(task: Task) -> Pair:
    """Plays a pair of matches."""
    game = games()[task.game_id](task.ruleset)
    secret = hashlib.sha256(repr(task.chance("deal")).encode()).digest()
    scores = []
    effective: list[float] = []
    asked = 0
    for seat in (0, 1):
        match = Match(game, secret)
        exploiter = play(task, match, seat)
        assert match.scores is not None
        scores.append(match.scores[seat])
        effective += exploiter.effective
        asked += len(exploiter.player)
    return Pair((scores[0], scores[1]), tuple(effective), asked)


def play(task: Task, match: Match, seat: int) -> Exploiter:
    """Plays a match to its end with the exploiter in this seat, and returns it."""
    exploiter = Exploiter(task, match.game, match.view(seat))
    player = Asked(task, "player")
    while not match.over:
        joint = {}
        for each in match.deciders:
            view, legal = match.view(each), match.legal(each)
            if each == seat:
                joint[each] = exploiter.choose(view, legal)
            else:
                chance = task.chance("choice", each, match.version)
                joint[each] = _draw(player.answer(view, legal), chance)
        for each, action in joint.items():
            match.apply(each, action)
        if not match.over:
            key = match.position.observe((joint.get(0, 0), joint.get(1, 0)), seat)
            exploiter.observe(joint.get(seat, 0), key, match.view(seat))
    return exploiter


def run(
    tasks: Sequence[Task],
    workers: int | None = 1,
    on_pair: Callable[[], object] = lambda: None,
) -> Result:
    """Plays pairs, at least one."""
    outcomes: Counter[float] = Counter()
    effective: list[float] = []
    asked = 0
    with in_order(play_pair, tasks, workers) as played:
        for pair in played:
            outcomes[sum(pair.scores) / 2] += 1
            effective += pair.effective
            asked += pair.asked
            on_pair()
    matches = 2 * len(tasks)
    return Result(
        elo.points(outcomes),
        matches,
        math.fsum(effective) / max(1, len(effective)),
        asked / matches,
    )

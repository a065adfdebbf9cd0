"""Options of searches: threads, chosen by the operator, and strengths, by callers."""

import os
from typing import NamedTuple

import wire
from ai.results import Parameters
from ai.strengths import PERSONS_SHARPNESS, STRENGTHS, Strength
from croupier.v1 import game_pb2
from croupier.v1.match_pb2 import BotStrength
from engine.model import learned
from service.observability.metrics import Metrics
from service.searching.memory import LEFT_TO_BOTS
from service.searching.pool import Quotas, SearchPool
from service.searching.tasks import Kind

MAX_ALL_HINTS_WAITING = 512
MIN_HINTS_RUNNING = 4  # Of one caller, if the server is not told how many.


def read_models() -> None:
    """Reads the models of all games. Raises PackageError if one is broken, with its file."""
    wire.of_each("its model cannot be used", lambda game: learned(game()))


BOT_STRENGTHS: dict[int, Strength] = {
    BotStrength.BOT_STRENGTH_RANDOM: STRENGTHS["random"],
    BotStrength.BOT_STRENGTH_BEGINNER: STRENGTHS["beginner"],
    BotStrength.BOT_STRENGTH_CASUAL: STRENGTHS["casual"],
    BotStrength.BOT_STRENGTH_REGULAR: STRENGTHS["regular"],
    BotStrength.BOT_STRENGTH_SKILLED: STRENGTHS["skilled"],
    BotStrength.BOT_STRENGTH_EXPERT: STRENGTHS["expert"],
}
# Of a hint that is asked for by a strength, as `hint.proto` says. Those of the bots may change with
# their play.
HINT_ITERATIONS: dict[int, int] = {
    BotStrength.BOT_STRENGTH_BEGINNER: 200,
    BotStrength.BOT_STRENGTH_CASUAL: 400,
    BotStrength.BOT_STRENGTH_REGULAR: 1_000,
    BotStrength.BOT_STRENGTH_SKILLED: 3_000,
    BotStrength.BOT_STRENGTH_EXPERT: 10_000,
}


class SearchOptions(NamedTuple):
    """The limits of searches."""

    threads: int = 0  # Of each pool; 0: as many as there are processors.
    max_seconds: float = 60.0  # Of a hint.
    running: int = 0  # Hints of one caller; 0: twice the threads, at least 4.
    waiting: int = 64  # Hints of one caller.
    rules_seconds: float = 2.0  # After which code of a package is interrupted.
    memory: int = 0  # Bytes, of all searches of the server; 0: by what the machine has.

    @property
    def number_of_threads(self) -> int:
        """The threads of each pool."""
        return self.threads or os.cpu_count() or 1


def open_pools(options: SearchOptions, metrics: Metrics) -> dict[Kind, SearchPool]:
    """The pools by kind."""
    threads = options.number_of_threads
    quotas = Quotas(
        running=options.running or max(MIN_HINTS_RUNNING, 2 * threads),
        waiting=options.waiting,
        all_waiting=max(MAX_ALL_HINTS_WAITING, options.waiting),
    )
    # A bot thinks as long about a single or a proven action as about others: otherwise its time
    # would tell what it holds.
    bots_search = Parameters(single_action=0, proven=0)
    return {
        Kind.HINT: SearchPool(
            Kind.HINT, threads, metrics, quotas, options.max_seconds, leaves=LEFT_TO_BOTS
        ),
        Kind.BOT: SearchPool(Kind.BOT, threads, metrics, parameters=bots_search),
    }


def name_opponent(view: game_pb2.View, bot: int) -> None:
    """Writes into a seat's view that a bot of a strength has the other seat, or a person (0)."""
    del view.players[:]
    strength = BOT_STRENGTHS.get(bot)  # One of a newer server is not known.
    if strength is not None:
        players = (game_pb2.Player(), game_pb2.Player())
        players[1 - view.seat].bot.strength = strength.name.upper()
        view.players.extend(players)


def opponent_sharpness(view: game_pb2.View) -> float:
    """How sharply the choices of the other seat follow from what it holds (`Model.against`)."""
    others = [player for seat, player in enumerate(view.players) if seat != view.seat]
    strength = STRENGTHS.get(others[0].bot.strength.lower()) if others else None
    return PERSONS_SHARPNESS if strength is None else strength.sharpness

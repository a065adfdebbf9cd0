"""Draws Champion Chess: the sides next to each other, the player's hand with its points below."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from croupier import enums
from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import champion_chess_pb2 as chess

TURNS_SHOWN = 4
CATEGORIES = ("movement", "attack", "defend")
PHASES = enums.words(chess.ChampionChessPhase.DESCRIPTOR)


class Drawing(drawing.Drawing):
    """Draws Champion Chess."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        numbers = game.cards[0].numbers if game.cards else ()
        self.labels = [number.title.lower() for number in numbers] or list(CATEGORIES)
        self.names = self.enum_titles(chess.ChampionChessCard.DESCRIPTOR)

    def scene(self, view: game_pb2.View) -> Hashable:
        return view.champion_chess.challenge, bool(view.deciders)

    def title(self, view: game_pb2.View) -> Text:
        state = view.champion_chess
        title = Text(f"Challenge {state.challenge}", style="bold")
        if phase := PHASES.get(state.phase):
            title.append(f", {phase} phase", style="not bold")
        return title

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.champion_chess
        parts: list[RenderableType] = [self._sides(state), Text()]
        if any(side.champion for side in state.sides):
            parts += [self._champions(view), Text()]
        if state.hand:
            parts.append(self._hand(view))
        return Group(*parts)

    def views(self, view: game_pb2.View, width: int) -> Iterable[RenderableType]:
        yield self.view(view)
        # Without the list of each pile, then without what neither has seen.
        state = view.champion_chess
        rest: list[RenderableType] = []
        if any(side.champion for side in state.sides):
            rest.append(self._champions(view))
        if state.hand:
            rest.append(self._hand(view))
        yield Group(self._counts(state, unseen=True), *rest)
        yield Group(self._counts(state, unseen=False), *rest)

    def happened(self, what: Any) -> Text | None:
        kind = what.WhichOneof("event")
        done = getattr(what, kind)
        match kind:
            case "drawn":
                cards = self.listed(done.cards) or drawing.number_of_cards(done.count)
                return self.line(what.seat, f"draws {cards}", "dim")
            case "shuffled":
                which = "the reserve into a new" if done.from_reserve else "the"
                text = f"shuffles {which} battle deck ({done.count} cards)"
                return self.line(what.seat, text, "dim")
            case "mulligan":
                text = f"shows a hand without a noble: {self.listed(done.cards)}"
                return self.line(what.seat, text)
            case "champion_revealed":
                line = self.line(what.seat, "plays ")
                line.append(self.names[done.champion], style="bold default")
                by = ", for whom the King is exchanged" if done.castled else ""
                return line.append(by, style="default")
            case "aid_revealed":
                return self.line(what.seat, f"aids with {self.listed(done.cards) or 'nothing'}")
            case "challenge_decided":
                points = [f"{getattr(done, key):>2}" for key in CATEGORIES]
                totals = map(" ".join, zip(self.labels, points, strict=True))
                line = self.line(
                    what.seat, f"{self.names[done.champion]:<7}{'   '.join(totals)}   "
                )
                if done.won:
                    return line.append("wins", style="bold green")
                return line.append("is captured", style="red")
            case "discarded":
                text = f"discards {self.listed(done.cards) or 'nothing'}"
                return self.line(what.seat, text, "dim")
        return None

    def question(self, view: game_pb2.View) -> str:
        state = view.champion_chess
        if state.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION:
            return "Choose your champion:"
        if state.phase == chess.CHAMPION_CHESS_PHASE_AID:
            champion = self.names[state.sides[self.seat].champion]
            return (
                f"Choose aid for your {champion}: any number of cards, one of each but for Pawns."
            )
        return "Choose what to discard to your reserve: any cards of your hand."

    def action(self, action: game_pb2.MatchAction) -> str:
        what = action.champion_chess
        match what.WhichOneof("action"):
            case "play_champion":
                noble = self.names[what.play_champion.noble]
                castle = what.play_champion.castle
                return self.say("castle the {} for a Rook").format(noble) if castle else noble
            case "play_aid":
                done, cards = "aid", what.play_aid.cards
            case _:
                done, cards = "discard", what.discard_to_reserve.cards
        if not cards:
            return self.say(f"{done} nothing")
        return self.say(f"{done} {{}}").format(self.listed(cards))

    def menu(self, view: game_pb2.View) -> RenderableType:
        if not self.numbers_are_cards(view):
            return super().menu(view)
        return Text(
            'Type numbers or names of cards ("1 3", "pawn sword"), "none" or "all";'
            f' "list" shows all {len(view.legal_actions)} choices.',
            style="dim",
        )

    def numbers_are_cards(self, view: game_pb2.View) -> bool:
        return view.champion_chess.phase != chess.CHAMPION_CHESS_PHASE_CHAMPION

    def read_cards(self, view: game_pb2.View, words: Sequence[str]) -> list[int]:
        choices = [_cards(action) for action in view.legal_actions]
        if words == ["none"]:
            wanted: Sequence[int] = []
        elif words == ["all"]:
            wanted = max(choices, key=len)
        else:
            wanted = self.cards_in_hand(view.champion_chess.hand, words)
        found = [n for n, cards in enumerate(choices) if Counter(cards) == Counter(wanted)]
        if not found:
            raise drawing.Unclear(f"{self.listed(sorted(wanted))}: not allowed now.")
        return found

    def _sides(self, state: chess.ChampionChessView) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        rows = {
            "hand": self._hands(state),
            "deck": [drawing.number_of_cards(side.deck_size) for side in sides],
            "not seen": self._unseen(state),
            "reserve": [self._pile(side.reserve) for side in sides],
            "defeated": [self._pile(side.defeated) for side in sides],
        }
        turns = ["\n".join(map(self._turn, side.memory.turns[-TURNS_SHOWN:])) for side in sides]
        return self.side_by_side(rows | {"turns": turns} if any(turns) else rows)

    def _counts(self, state: chess.ChampionChessView, *, unseen: bool) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        piles = [
            f"deck {side.deck_size}, reserve {len(side.reserve)}, defeated {len(side.defeated)}"
            for side in sides
        ]
        rows = {"hand": self._hands(state), "piles": piles}
        if unseen:
            rows["not seen"] = self._unseen(state)
        last = ["".join(map(self._turn, side.memory.turns[-1:])) for side in sides]
        return self.side_by_side(rows | {"last turn": last} if any(last) else rows)

    def _hands(self, state: chess.ChampionChessView) -> list[str]:
        hands = [drawing.number_of_cards(state.sides[seat].hand_size) for seat in self.order]
        if state.castling_used:
            hands[0] += ", castling used up"
        if known := state.sides[self.order[1]].known_hand:
            hands[1] += f", surely {self.listed(known)}"
        return hands

    def _unseen(self, state: chess.ChampionChessView) -> list[str]:
        own, other = (Counter(state.sides[seat].unseen) for seat in self.order)
        own -= Counter(state.hand)
        return [self.listed(sorted(cards.elements())) or "-" for cards in (own, other)]

    def _pile(self, cards: Sequence[int]) -> str:
        return f"{len(cards)}: {self.listed(cards)}" if cards else "-"

    def _turn(self, turn: chess.ChampionChessTurn) -> str:
        if not turn.champion:
            return f"mulligan: {self.listed(turn.discards)}"
        played = f"{self.names[turn.champion]}{' (castled)' if turn.castled else ''}"
        if turn.aid:
            played += f" + {self.listed(turn.aid)}"
        discards = f"; discarded {self.listed(turn.discards)}" if turn.discards else ""
        return f"{played}: {'won' if turn.won else 'lost'}{discards}"

    def _champions(self, view: game_pb2.View) -> RenderableType:
        points = self._points(view)
        table = drawing.table("champions", "", *self.labels, right=self.labels)
        table.columns[0].min_width = 9
        for seat in self.order:
            side = view.champion_chess.sides[seat]
            name = self.names[side.champion] + (" (castled)" if side.castled else "")
            numbers = (str(n) for n in points[side.champion])
            table.add_row(self.seat_name(seat), Text(name, style="bold"), *numbers)
        return table

    def _hand(self, view: game_pb2.View) -> RenderableType:
        # Cards have numbers where they are chosen by number; in the champion phase actions have.
        hand = view.champion_chess.hand
        points = self._points(view)
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
        table.add_column(style="dim", min_width=9)
        for _ in hand:
            table.add_column(justify="center", min_width=6)
        if view.legal_actions and self.numbers_are_cards(view):
            table.add_row("", *(Text(str(n + 1), style="bold yellow") for n in range(len(hand))))
        table.add_row("your hand", *(Text(self.names[card], style="bold") for card in hand))
        for place, label in enumerate(self.labels):
            numbers = (points[card][place] for card in hand)
            table.add_row(label, *(str(n) if n else Text("·", style="dim") for n in numbers))
        return table

    def _points(self, view: game_pb2.View) -> dict[int, tuple[int, int, int]]:
        specs = view.ruleset.champion_chess.cards or self.game.default_ruleset.champion_chess.cards
        points = dict.fromkeys(self.names, (0, 0, 0))
        return points | {spec.card: (spec.movement, spec.attack, spec.defend) for spec in specs}


def _cards(action: game_pb2.MatchAction) -> Sequence[int]:
    what = action.champion_chess
    if what.WhichOneof("action") == "play_aid":
        return what.play_aid.cards
    return what.discard_to_reserve.cards

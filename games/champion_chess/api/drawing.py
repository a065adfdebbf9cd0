"""Draws Champion Chess: the sides next to each other, the player's hand with its points below."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

from rich.console import Group, RenderableType
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

    STYLES: ClassVar = {"drawn": "dim", "shuffled": "dim", "discarded": "dim"}

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        numbers = game.cards[0].numbers if game.cards else ()
        self.labels = [number.title for number in numbers] or list(CATEGORIES)
        self.names = self.enum_titles(chess.ChampionChessCard.DESCRIPTOR)

    def scene(self, view: game_pb2.View) -> Hashable:
        return view.champion_chess.challenge, bool(view.deciders)

    def title(self, view: game_pb2.View) -> Text:
        state = view.champion_chess
        title = Text(self.table("challenge", challenge=state.challenge), style="bold")
        if phase := PHASES.get(state.phase):
            said = self.table("phase", phase=self.words.word(f"value.phase.{phase}"))
            title.append(f", {said}", style="not bold")
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
        line = super().happened(what)
        if line is not None and what.HasField("challenge_decided"):
            line.stylize("green" if what.challenge_decided.won else "red")
        return line

    def question(self, view: game_pb2.View) -> str:
        state = view.champion_chess
        if state.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION:
            return self.table("champion")
        if state.phase == chess.CHAMPION_CHESS_PHASE_AID:
            champion = self.names[state.sides[self.seat].champion]
            return self.table("aid", champion=champion)
        return self.table("discard")

    def menu(self, view: game_pb2.View) -> RenderableType:
        if not self.numbers_are_cards(view):
            return super().menu(view)
        given = {
            "numbers": self.example(view),
            "example": " ".join(
                self.names[card] for card in _cards(view.legal_actions[-1])
            ).lower(),
            "choices": len(view.legal_actions),
        }
        return Text(self.table("how_to_choose", **given), style="dim")

    def example(self, view: game_pb2.View) -> str:
        if not self.numbers_are_cards(view):
            return super().example(view)
        return self.numbers_in_hand(view.champion_chess.hand, _cards(view.legal_actions[-1]))

    def numbers_are_cards(self, view: game_pb2.View) -> bool:
        return (
            not self.lists_actions
            and view.champion_chess.phase != chess.CHAMPION_CHESS_PHASE_CHAMPION
        )

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
            raise drawing.Unclear(self.table("not_allowed", cards=self.listed(sorted(wanted))))
        return found

    def _sides(self, state: chess.ChampionChessView) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        rows = {
            self.table("hand"): self._hands(state),
            self.table("deck"): [self.words.count(side.deck_size) for side in sides],
            self.table("unseen"): self._unseen(state),
            self.table("reserve"): [self._pile(side.reserve) for side in sides],
            self.table("defeated"): [self._pile(side.defeated) for side in sides],
        }
        turns = ["\n".join(map(self._turn, side.memory.turns[-TURNS_SHOWN:])) for side in sides]
        return self.side_by_side(rows | {self.table("turns"): turns} if any(turns) else rows)

    def _counts(self, state: chess.ChampionChessView, *, unseen: bool) -> RenderableType:
        sides = [state.sides[seat] for seat in self.order]
        piles = [
            self.table(
                "in_piles",
                deck=side.deck_size,
                reserve=len(side.reserve),
                defeated=len(side.defeated),
            )
            for side in sides
        ]
        rows = {self.table("hand"): self._hands(state), self.table("piles"): piles}
        if unseen:
            rows[self.table("unseen")] = self._unseen(state)
        last = ["".join(map(self._turn, side.memory.turns[-1:])) for side in sides]
        return self.side_by_side(rows | {self.table("last_turn"): last} if any(last) else rows)

    def _hands(self, state: chess.ChampionChessView) -> list[str]:
        hands = [self.words.count(state.sides[seat].hand_size) for seat in self.order]
        if state.castling_used:
            hands[0] += self.table("castling_used")
        if known := state.sides[self.order[1]].known_hand:
            hands[1] += self.table("known_hand", cards=self.listed(known))
        return hands

    def _unseen(self, state: chess.ChampionChessView) -> list[str]:
        own, other = (Counter(state.sides[seat].unseen) for seat in self.order)
        own -= Counter(state.hand)
        return [self.listed(sorted(cards.elements())) or "-" for cards in (own, other)]

    def _pile(self, cards: Sequence[int]) -> str:
        return f"{len(cards)}: {self.listed(cards)}" if cards else "-"

    def _turn(self, turn: chess.ChampionChessTurn) -> str:
        if not turn.champion:
            return self.table("mulligan", cards=self.listed(turn.discards))
        played = self.names[turn.champion] + self._castled(turn.castled)
        if turn.aid:
            played += f" + {self.listed(turn.aid)}"
        end = self.table("won" if turn.won else "lost")
        if turn.discards:
            end += self.table("discarded", cards=self.listed(turn.discards))
        return f"{played}: {end}"

    def _castled(self, castled: bool) -> str:
        return f" ({self.table('castled')})" if castled else ""

    def _champions(self, view: game_pb2.View) -> RenderableType:
        points = self._points(view)
        table = drawing.table(self.table("champions"), "", *self.labels, right=self.labels)
        table.columns[0].min_width = 9
        for seat in self.order:
            side = view.champion_chess.sides[seat]
            name = self.names[side.champion] + self._castled(side.castled)
            numbers = (str(n) for n in points[side.champion])
            table.add_row(self.seat_name(seat), Text(name, style="bold"), *numbers)
        return table

    def _hand(self, view: game_pb2.View) -> RenderableType:
        # Cards have numbers where they are chosen by number; in the champion phase actions have.
        hand = view.champion_chess.hand
        points = self._points(view)
        table = drawing.table()
        table.show_header = False
        table.add_column(style="dim", min_width=9, no_wrap=True)
        for _ in hand:
            table.add_column(justify="center", min_width=6, no_wrap=True)
        if view.legal_actions and self.numbers_are_cards(view):
            table.add_row("", *(Text(str(n + 1), style="bold yellow") for n in range(len(hand))))
        table.add_row(
            self.table("your_hand"), *(Text(self.names[card], style="bold") for card in hand)
        )
        for place, label in enumerate(self.labels):
            numbers = (points[card][place] for card in hand)
            table.add_row(label, *(str(n) if n else Text("·", style="dim") for n in numbers))
        # A row for each card, where the screen is too narrow for them side by side.
        table.otherwise = down = drawing.table("", self.table("your_hand"), *self.labels)
        for n, card in enumerate(hand, 1):
            figures = (str(number or "·") for number in points[card])
            number = "" if self.lists_actions else f"{n:>2}"
            down.add_row(Text(number, "bold yellow"), Text(self.names[card], "bold"), *figures)
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

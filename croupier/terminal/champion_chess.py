"""How Champion Chess is drawn: the sides next to each other, the own hand with its points below."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import champion_chess_pb2 as chess

TURNS_SHOWN = 4
CATEGORIES = ("move", "attack", "defend")
_PHASES = {
    chess.CHAMPION_CHESS_PHASE_CHAMPION: "champion phase",
    chess.CHAMPION_CHESS_PHASE_AID: "aid phase",
    chess.CHAMPION_CHESS_PHASE_END: "end phase",
}


class Drawing(drawing.Drawing):
    """Draws Champion Chess."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.order = (seat, 1 - seat)
        self.width = max(len(self.seat_title(s)) for s in self.order)
        numbers = game.cards[0].numbers if game.cards else ()
        self.labels = [number.title.lower() for number in numbers] or list(CATEGORIES)
        self.names = {
            value: self._enum(chess.ChampionChessCard.DESCRIPTOR, value)
            for value in chess.ChampionChessCard.values()
        }

    def scene(self, view: game_pb2.View) -> Hashable:
        return view.champion_chess.challenge, bool(view.deciders)

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.champion_chess
        title = Text(f"Challenge {state.challenge}", style="bold")
        if phase := _PHASES.get(state.phase):
            title.append(f", {phase}", style="not bold")
        parts: list[RenderableType] = [title, self._sides(state), Text()]
        if any(side.champion for side in state.sides):
            parts += [self._champions(view), Text()]
        if state.hand:
            parts.append(self._hand(view))
        return Group(*parts)

    def event(self, event: game_pb2.Event) -> Text | None:
        if event.WhichOneof("event") != "champion_chess":
            return None
        what = event.champion_chess
        line = self.seat_name(what.seat, width=self.width + 2)
        match what.WhichOneof("event"):
            case "drawn":
                drawn = what.drawn
                cards = self._list(drawn.cards) or _number(drawn.count)
                return line.append(f"draws {cards}", style="dim")
            case "shuffled":
                deck = (
                    "the reserve into a new battle deck"
                    if what.shuffled.from_reserve
                    else "the battle deck"
                )
                return line.append(f"shuffles {deck} ({what.shuffled.count} cards)", style="dim")
            case "mulligan":
                return line.append(
                    f"shows a hand without a noble: {self._list(what.mulligan.cards)}",
                    style="default",
                )
            case "champion_revealed":
                by = ", for whom the King is exchanged" if what.champion_revealed.castled else ""
                name = self.names[what.champion_revealed.champion]
                return (
                    line.append("plays ", style="default")
                    .append(name, style="bold default")
                    .append(by, style="default")
                )
            case "aid_revealed":
                return line.append(
                    f"aids with {self._list(what.aid_revealed.cards) or 'nothing'}", style="default"
                )
            case "challenge_decided":
                result = what.challenge_decided
                points = (
                    f"{label} {getattr(result, key):>2}"
                    for label, key in zip(self.labels, CATEGORIES, strict=True)
                )
                line.append(
                    f"{self.names[result.champion]:<7}{'   '.join(points)}   ", style="default"
                )
                if result.won:
                    return line.append("wins", style="bold green")
                return line.append("is captured", style="red")
            case "discarded":
                return line.append(
                    f"discards {self._list(what.discarded.cards) or 'nothing'}", style="dim"
                )
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

    def action(self, action: game_pb2.Action) -> str:
        what = action.champion_chess
        match what.WhichOneof("action"):
            case "play_champion":
                noble = self.names[what.play_champion.noble]
                return f"castle the {noble} for a Rook" if what.play_champion.castle else noble
            case "play_aid":
                return f"aid {self._list(what.play_aid.cards) or 'nothing'}"
            case _:
                return f"discard {self._list(what.discard_to_reserve.cards) or 'nothing'}"

    def menu(self, view: game_pb2.View) -> RenderableType:
        if view.champion_chess.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION:
            return super().menu(view)
        return Text(
            'Type numbers or names of cards ("1 3", "pawn sword"), "none" or "all";'
            f' "list" shows all {len(view.legal_actions)} choices.',
            style="dim",
        )

    def numbered(
        self, view: game_pb2.View, places: Sequence[int], mark: str = ""
    ) -> RenderableType:
        # Where a bare number is a card, an action's number is written with its mark.
        in_champion_phase = view.champion_chess.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION
        return super().numbered(view, places, "" if in_champion_phase else "#")

    def read(self, view: game_pb2.View, typed: str) -> list[int]:
        if typed.startswith("#") or (
            view.champion_chess.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION
        ):
            return super().read(view, typed)
        wanted = Counter(self._named(view, typed))
        found = [
            place
            for place, action in enumerate(view.legal_actions)
            if Counter(_cards(action)) == wanted
        ]
        if not found:
            raise drawing.Unclear(f"{self._list(sorted(wanted.elements()))}: not allowed now.")
        return found

    def _named(self, view: game_pb2.View, typed: str) -> list[int]:
        # The cards of the hand that are meant by numbers, or by the beginnings of their names.
        hand = list(view.champion_chess.hand)
        words = typed.lower().replace(",", " ").replace("+", " ").split()
        if words == ["none"]:
            return []
        if words == ["all"]:
            return max((list(_cards(action)) for action in view.legal_actions), key=len)
        cards: list[int] = []
        places: set[int] = set()
        for word in words:
            if word.isdigit():
                if int(word) - 1 not in range(len(hand)) or int(word) in places:
                    raise drawing.Unclear(f"{word}: number your cards 1 to {len(hand)}, each once.")
                places.add(int(word))
                cards.append(hand[int(word) - 1])
                continue
            meant = [c for c in dict.fromkeys(hand) if self.names[c].lower().startswith(word)]
            if len(meant) != 1:
                which = " or ".join(self.names[card] for card in meant) or "not in your hand"
                raise drawing.Unclear(f"{word}: {which}?" if meant else f"{word}: {which}.")
            cards.append(meant[0])
        return cards

    def _sides(self, state: chess.ChampionChessView) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), expand=True, show_edge=False)
        table.add_column(no_wrap=True, style="dim", min_width=9)
        for seat in self.order:
            table.add_column(self.player(seat), ratio=1)
        rows: dict[str, list[str]] = {}
        for seat in self.order:
            side = state.sides[seat]
            own = seat == self.seat
            hand = _number(side.hand_size)
            if side.known_hand and not own:
                hand += f", surely {self._list(side.known_hand)}"
            unseen = Counter(side.unseen)
            if own and state.castling_used:
                hand += ", castling used up"
            if own:
                unseen -= Counter(state.hand)
            hidden = self._list(sorted(unseen.elements())) or "-"
            rows.setdefault("hand", []).append(hand)
            rows.setdefault("deck", []).append(_number(side.deck_size))
            rows.setdefault("not seen", []).append(hidden)
            for name, pile in (("reserve", side.reserve), ("defeated", side.defeated)):
                rows.setdefault(name, []).append(
                    f"{len(pile)}: {self._list(pile)}" if pile else "-"
                )
            rows.setdefault("turns", []).append(self._turns(side.memory.turns))
        for name, cells in rows.items():
            if name != "turns" or any(cells):
                table.add_row(name, *cells)
        return table

    def _turns(self, turns: Sequence[chess.ChampionChessTurn]) -> str:
        return "\n".join(self._turn(turn) for turn in list(turns)[-TURNS_SHOWN:])

    def _turn(self, turn: chess.ChampionChessTurn) -> str:
        if not turn.champion:
            return f"mulligan: {self._list(turn.discards)}"
        played = f"{self.names[turn.champion]}{' (castled)' if turn.castled else ''}"
        if turn.aid:
            played += f" + {self._list(turn.aid)}"
        discards = f"; discarded {self._list(turn.discards)}" if turn.discards else ""
        return f"{played}: {'won' if turn.won else 'lost'}{discards}"

    def _champions(self, view: game_pb2.View) -> Table:
        points = self._points(view)
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim")
        table.add_column("champions", min_width=9)
        table.add_column("")
        for label in self.labels:
            table.add_column(label, justify="right")
        for seat in self.order:
            side = view.champion_chess.sides[seat]
            name = self.names[side.champion] + (" (castled)" if side.castled else "")
            numbers = (str(n) for n in points[side.champion])
            table.add_row(self.seat_name(seat), Text(name, style="bold"), *numbers)
        return table

    def _hand(self, view: game_pb2.View) -> Table:
        # Numbered where cards are chosen by number; in the champion phase actions are.
        hand = view.champion_chess.hand
        in_champion_phase = view.champion_chess.phase == chess.CHAMPION_CHESS_PHASE_CHAMPION
        by_card = bool(view.legal_actions) and not in_champion_phase
        points = self._points(view)
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False)
        table.add_column(style="dim", min_width=9)
        for _ in hand:
            table.add_column(justify="center", min_width=6)
        if by_card:
            table.add_row("", *(Text(str(n + 1), style="bold yellow") for n in range(len(hand))))
        table.add_row("your hand", *(Text(self.names[card], style="bold") for card in hand))
        for place, label in enumerate(self.labels):
            numbers = (points[card][place] for card in hand)
            table.add_row(label, *(str(n) if n else Text("·", style="dim") for n in numbers))
        return table

    def _points(self, view: game_pb2.View) -> dict[int, tuple[int, int, int]]:
        specs = view.ruleset.champion_chess.cards or self.game.default_ruleset.champion_chess.cards
        points = dict.fromkeys(self.names, (0, 0, 0))
        return points | {spec.card: (spec.move, spec.attack, spec.defend) for spec in specs}

    def _list(self, cards: Iterable[int]) -> str:
        return drawing.counted(self.names[card] for card in cards)


def _number(cards: int) -> str:
    return "1 card" if cards == 1 else f"{cards} cards"


def _cards(action: game_pb2.Action) -> Sequence[int]:
    what = action.champion_chess
    if what.WhichOneof("action") == "play_aid":
        return what.play_aid.cards
    return what.discard_to_reserve.cards

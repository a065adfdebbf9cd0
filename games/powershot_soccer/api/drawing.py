"""Draws PowerShot Soccer: the score, the attack card by card, and the hand by role."""

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from croupier import enums
from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import powershot_soccer_pb2 as soccer

POWERSHOT = 9
FIGURES = ("goals", "hand", "draw_pile", "discards")
PLAYS_SHOWN = 3  # Of a long attack, on a low screen.
DEFENCES = {
    soccer.POWER_SHOT_SOCCER_ROLE_PASS: soccer.POWER_SHOT_SOCCER_ROLE_INTERCEPT,
    soccer.POWER_SHOT_SOCCER_ROLE_DRIBBLE: soccer.POWER_SHOT_SOCCER_ROLE_TACKLE,
    soccer.POWER_SHOT_SOCCER_ROLE_SHOOT: soccer.POWER_SHOT_SOCCER_ROLE_SAVE,
}
FEWEST_STANDING = {
    soccer.POWER_SHOT_SOCCER_ROLE_SHOOT: 2,
    soccer.POWER_SHOT_SOCCER_ROLE_LONG_RANGE_SHOT: 1,
    soccer.POWER_SHOT_SOCCER_ROLE_STAR_PLAYER: 2,
}
OUTCOME_STYLES = {
    soccer.POWER_SHOT_SOCCER_OUTCOME_STANDS: "green",
    soccer.POWER_SHOT_SOCCER_OUTCOME_REPELLED: "yellow",
    soccer.POWER_SHOT_SOCCER_OUTCOME_LOST: "red",
    soccer.POWER_SHOT_SOCCER_OUTCOME_GOAL: "bold green",
}
OUTCOMES = enums.words(soccer.PowerShotSoccerOutcome.DESCRIPTOR)
ROLES = enums.words(soccer.PowerShotSoccerRole.DESCRIPTOR)


class Drawing(drawing.Drawing):
    """Draws PowerShot Soccer."""

    STYLES: ClassVar = {"drawn": "dim", "kick_off_shown": "dim", "half_started": "bold"}
    UNTOLD = ("shuffled",)

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = list(game.default_ruleset.powershot_soccer.cards)
        # A card of a list of the match's own is called and does as its role.
        self.kinds = dict(zip((spec.role for spec in self.specs), game.cards, strict=False))

    def scene(self, view: game_pb2.View) -> Hashable:
        # Drawn once for each attack.
        return view.powershot_soccer.half, view.powershot_soccer.attack_start

    def title(self, view: game_pb2.View) -> Text:
        state = view.powershot_soccer
        title = Text(self.table("half", half=state.half), style="bold").append(": ")
        title.append_text(self.seat_name(0)).append(f" {state.sides[0].goals}")
        title.append(f" - {state.sides[1].goals} ").append_text(self.seat_name(1))
        if state.phase:
            title.append("; ", style="not bold").append_text(self.seat_name(state.possession))
            attacks = self.table("attacks", standing=state.standing)
            title.append(f" {attacks}", style="not bold")
        return title

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.powershot_soccer
        parts = self._played(state)
        if state.hand:
            parts += [Text(self.table("your_hand"), style="dim"), self._by_role(state.hand)]
        if state.unseen:
            parts += [
                Text(self.table("unseen"), style="dim"),
                self._by_role(state.unseen, "dim"),
            ]
        return Group(*parts)

    def views(self, view: game_pb2.View, width: int) -> Iterable[RenderableType]:
        yield self.view(view)
        # The menu shows the hand too. A long attack begins above the screen.
        yield Group(*self._played(view.powershot_soccer))
        yield Group(*self._played(view.powershot_soccer, PLAYS_SHOWN))

    def _played(
        self, state: soccer.PowerShotSoccerView, most: int | None = None
    ) -> list[RenderableType]:
        parts: list[RenderableType] = [self._sides(state)]
        attack = self._attack(state.plays[state.attack_start :])
        if attack:
            table = drawing.Rows.grid(padding=(0, 3, 0, 0))
            for row in attack[-most:] if most else attack:
                table.add_row(*row)
            shown = "attack" if not most or len(attack) <= most else "attack_end"
            parts += [Text(self.table(shown), style="dim"), Padding(table, (0, 0, 0, 2))]
        return parts

    def happened(self, what: Any) -> Text | None:
        # That a seat draws a card after each that it plays is told to that seat alone.
        if what.HasField("drawn") and len(what.drawn.cards) != 1:
            return None
        line = super().happened(what)
        if line is not None and what.HasField("exchange_decided"):
            line.stylize(OUTCOME_STYLES.get(what.exchange_decided.outcome, ""))
        return line

    def question(self, view: game_pb2.View) -> str:
        state = view.powershot_soccer
        if state.phase != soccer.POWER_SHOT_SOCCER_PHASE_DEFEND:
            return self.table("play")
        played = state.plays[-1]
        power = self._power(state, played)
        if played.role == soccer.POWER_SHOT_SOCCER_ROLE_SHOOT and power >= POWERSHOT:
            return self.table("powershot", power=power)
        play, defence = self._play(played), self._role(DEFENCES[played.role])
        return self.table("answer", play=play, power=power, defence=defence)

    # The parts of a view.

    def _sides(self, state: soccer.PowerShotSoccerView) -> RenderableType:
        figures = [self.table(each) for each in FIGURES]
        table = drawing.table("", *figures, right=figures)
        for seat in self.order:
            side = state.sides[seat]
            counts = (side.goals, side.hand_size, side.draw_pile_size, len(side.discard_pile))
            table.add_row(self.player(seat), *map(str, counts))
        return table

    def _attack(self, plays: Iterable[soccer.PowerShotSoccerPlay]) -> list[list[Text]]:
        # A row for each card of the attacker, with the answer to it and its outcome.
        rows: list[list[Text]] = []
        for play in plays:
            line = self.seat_name(play.seat).append(f" {self._play(play)}", style="default")
            if rows and len(rows[-1]) == 2:
                rows[-1].append(line)
            else:
                word = OUTCOMES.get(play.outcome)
                told = self.words.word(f"value.outcome.{word}") if word else ""
                rows.append([line, Text(told, style=OUTCOME_STYLES.get(play.outcome, ""))])
        unanswered = [Text(self.table("not_answered"), style="dim")]
        return [[attacker, *(answer or unanswered), outcome] for attacker, outcome, *answer in rows]

    def _by_role(self, cards: Iterable[int], style: str = "default") -> RenderableType:
        # Lists the powers of the cards by role, in the order of the ruleset.
        powers: dict[soccer.PowerShotSoccerRole, list[str]] = {}
        for card in cards:
            spec = self.specs[card]
            powers.setdefault(spec.role, []).append(str(spec.power))
        table = drawing.Rows.grid(padding=(0, 2, 0, 0))
        items = [(self._role(role), " ".join(listed)) for role, listed in powers.items()]
        half = (len(items) + 1) // 2
        for row in range(half):
            cells = [cell for item in items[row::half] for cell in item]
            table.add_row(
                *(Text(cell, style="dim" if n % 2 == 0 else style) for n, cell in enumerate(cells))
            )
        return Padding(table, (0, 0, 0, 2))

    def _power(self, state: soccer.PowerShotSoccerView, played: soccer.PowerShotSoccerPlay) -> int:
        spec = self.specs[played.card]
        power = spec.power
        if played.role == soccer.POWER_SHOT_SOCCER_ROLE_SHOOT:
            power += 2 * (state.standing - FEWEST_STANDING[spec.role])
            before = self.specs[state.plays[-3].card].role
            power += 2 * (
                before
                in (
                    soccer.POWER_SHOT_SOCCER_ROLE_CROSS,
                    soccer.POWER_SHOT_SOCCER_ROLE_FANCY_FOOTWORK,
                )
            )
        return power

    def _play(self, played: soccer.PowerShotSoccerPlay) -> str:
        action = soccer.PowerShotSoccerAction()
        action.play_card.card, action.play_card.role = played.card, played.role
        return self.words.sentence("action", action)

    def read_ruleset(self, view: game_pb2.View) -> None:
        specs = list(view.ruleset.powershot_soccer.cards)
        if not specs or specs == self.specs:
            return
        self.specs = specs
        for place, spec in enumerate(specs):
            title = f"{self._role(spec.role)} {spec.power}"
            kind = self.kinds[spec.role].kind
            card = catalog_pb2.Card(id=str(place), title=title, kind=kind)
            self.words.cards[card.id] = card

    def _role(self, role: soccer.PowerShotSoccerRole) -> str:
        return self.words.word(f"value.role.{ROLES[role]}")

"""Draws PowerShot Soccer: the score, the attack card by card, and the hand by role."""

from collections.abc import Hashable, Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from croupier import enums
from croupier.terminal import drawing
from croupier.v1 import catalog_pb2, game_pb2
from croupier.v1 import powershot_soccer_pb2 as soccer

HALVES = ("", "First half", "Second half")
POWERSHOT = 9
FIGURES = ("goals", "hand", "draw pile", "discards")
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
PLAYED_AS = {  # The role in which a card is played, where it is not the role of the card.
    soccer.POWER_SHOT_SOCCER_ROLE_CROSS: soccer.POWER_SHOT_SOCCER_ROLE_PASS,
    soccer.POWER_SHOT_SOCCER_ROLE_FANCY_FOOTWORK: soccer.POWER_SHOT_SOCCER_ROLE_DRIBBLE,
    soccer.POWER_SHOT_SOCCER_ROLE_LONG_RANGE_SHOT: soccer.POWER_SHOT_SOCCER_ROLE_SHOOT,
}
MANNERS = {
    soccer.POWER_SHOT_SOCCER_ROLE_GIVE_UP: "{}, giving up",
    soccer.POWER_SHOT_SOCCER_ROLE_DECLINE: "{}, declining",
}
OUTCOMES = {
    soccer.POWER_SHOT_SOCCER_OUTCOME_STANDS: ("stands", "green"),
    soccer.POWER_SHOT_SOCCER_OUTCOME_REPELLED: ("is repelled: a new attack", "yellow"),
    soccer.POWER_SHOT_SOCCER_OUTCOME_LOST: ("is stopped: possession is lost", "red"),
    soccer.POWER_SHOT_SOCCER_OUTCOME_GOAL: ("GOAL!", "bold green"),
}


class Drawing(drawing.Drawing):
    """Draws PowerShot Soccer."""

    def __init__(self, game: catalog_pb2.Game, seat: int, opponent: str) -> None:
        super().__init__(game, seat, opponent)
        self.specs = list(game.default_ruleset.powershot_soccer.cards)
        self.role_titles = {  # The title of a card consists of its role and its power.
            spec.role: card.title.removesuffix(f" {spec.power}")
            for spec, card in zip(self.specs, game.cards, strict=False)
        }

    def scene(self, view: game_pb2.View) -> Hashable:
        # Drawn once for each attack.
        return view.powershot_soccer.half, view.powershot_soccer.attack_start

    def title(self, view: game_pb2.View) -> Text:
        state = view.powershot_soccer
        title = Text(f"{HALVES[state.half]}: ", style="bold")
        title.append_text(self.seat_name(0)).append(f" {state.sides[0].goals}")
        title.append(f" - {state.sides[1].goals} ").append_text(self.seat_name(1))
        if state.phase:
            stand = "1 card stands" if state.standing == 1 else f"{state.standing} cards stand"
            title.append("; ", style="not bold").append_text(self.seat_name(state.possession))
            title.append(f" attacks, {stand}", style="not bold")
        return title

    def view(self, view: game_pb2.View) -> RenderableType:
        state = view.powershot_soccer
        parts = self._played(state)
        if state.hand:
            parts += [Text("your hand", style="dim"), self._by_role(state.hand)]
        if state.unseen:
            parts += [
                Text("not seen of the other deck, in hand or draw pile", style="dim"),
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
            table = Table.grid(padding=(0, 3, 0, 0))
            for row in attack[-most:] if most else attack:
                table.add_row(*row)
            shown = "this attack" if not most or len(attack) <= most else "the end of this attack"
            parts += [Text(shown, style="dim"), Padding(table, (0, 0, 0, 2))]
        return parts

    def happened(self, what: Any) -> Text | None:
        kind = what.WhichOneof("event")
        done = getattr(what, kind)
        match kind:
            case "drawn" if len(done.cards) == 1:
                return self.line(done.seat, f"draws {self._title(done.cards[0])}", "dim")
            case "kick_off_shown":
                text = f"shows {self._title(done.card)} for the kick-off"
                return self.line(done.seat, text, "dim")
            case "half_started":
                line = Text(f"{HALVES[done.half]}: ", style="bold")
                line.append_text(self.seat_name(done.kick_off))
                return line.append(" kicks off", style="not bold")
            case "played":
                return self.line(done.seat, self._play(done.card, done.role))
            case "exchange_decided":
                return self._decided(done)
            case "half_ended":
                goals = "-".join(map(str, done.goals))
                return Text(f"{HALVES[done.half]} over: {goals}", style="bold")
        return None

    def question(self, view: game_pb2.View) -> str:
        state = view.powershot_soccer
        if state.phase != soccer.POWER_SHOT_SOCCER_PHASE_DEFEND:
            return "Play a card to attack:"
        played = state.plays[-1]
        power = self._power(state, played)
        if played.role == soccer.POWER_SHOT_SOCCER_ROLE_SHOOT and power >= POWERSHOT:
            return f"A PowerShot of {power}, which nothing stops. Play a card:"
        defence = self._role(DEFENCES[played.role])
        what = f"{self._play(played.card, played.role)}, of {power}"
        return f"Answer {what}: a higher {defence} wins possession, an equal one stops it:"

    def action(self, action: game_pb2.MatchAction) -> str:
        played = action.powershot_soccer.play_card
        return self._play(played.card, played.role)

    # The parts of a view.

    def _sides(self, state: soccer.PowerShotSoccerView) -> RenderableType:
        table = drawing.table("", *FIGURES, right=FIGURES)
        for seat in self.order:
            side = state.sides[seat]
            figures = (side.goals, side.hand_size, side.draw_pile_size, len(side.discard_pile))
            table.add_row(self.player(seat), *map(str, figures))
        return table

    def _attack(self, plays: Iterable[soccer.PowerShotSoccerPlay]) -> list[list[Text]]:
        # A row for each card of the attacker, with the answer to it and its outcome.
        rows: list[list[Text]] = []
        for play in plays:
            line = self.line(play.seat, self._play(play.card, play.role))
            if rows and len(rows[-1]) == 2:
                rows[-1].append(line)
            else:
                rows.append([line, Text(*OUTCOMES.get(play.outcome, ("", "")))])
        unanswered = [Text("not answered", style="dim")]
        return [[attacker, *(answer or unanswered), outcome] for attacker, outcome, *answer in rows]

    def _by_role(self, cards: Iterable[int], style: str = "default") -> RenderableType:
        # Lists the powers of the cards by role, in the order of the ruleset.
        powers: dict[soccer.PowerShotSoccerRole, list[str]] = {}
        for card in cards:
            spec = self.specs[card]
            powers.setdefault(spec.role, []).append(str(spec.power))
        table = Table.grid(padding=(0, 2, 0, 0))
        items = [(self._role(role), " ".join(listed)) for role, listed in powers.items()]
        half = (len(items) + 1) // 2
        for row in range(half):
            cells = [cell for item in items[row::half] for cell in item]
            table.add_row(
                *(Text(cell, style="dim" if n % 2 == 0 else style) for n, cell in enumerate(cells))
            )
        return Padding(table, (0, 0, 0, 2))

    def _decided(self, decided: soccer.PowerShotSoccerEvent.ExchangeDecided) -> Text:
        text, style = OUTCOMES[decided.outcome]
        power = f"{decided.power}"
        if decided.outcome == soccer.POWER_SHOT_SOCCER_OUTCOME_GOAL and decided.power >= POWERSHOT:
            power = f"PowerShot of {power}"
        line = self.line(decided.seat, f"{power} against {decided.defence or 'nothing'}: ", "dim")
        return line.append(text, style=f"not dim {style}")

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

    def _play(self, card: int, role: soccer.PowerShotSoccerRole) -> str:
        title = self._title(card)
        if role in MANNERS:
            return self.say(MANNERS[role]).format(title)
        printed = self.specs[card].role if card < len(self.specs) else role
        if role == PLAYED_AS.get(printed, printed):
            return title
        return self.say("{} as {}").format(title, self._role(role))

    def read_ruleset(self, view: game_pb2.View) -> None:
        self.specs = list(view.ruleset.powershot_soccer.cards) or self.specs

    def _title(self, card: int) -> str:
        if card >= len(self.specs):
            return f"card {card}"
        return f"{self._role(self.specs[card].role)} {self.specs[card].power}"

    def _role(self, role: soccer.PowerShotSoccerRole) -> str:
        if title := self.role_titles.get(role):
            return title
        return enums.words(soccer.PowerShotSoccerRole.DESCRIPTOR)[role].replace("_", " ").title()

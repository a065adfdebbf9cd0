"""What is said in Skystones, in English; see `Game.phrases` in the API."""

_ELEMENTS = ("Fire", "Earth", "Electro", "Water", "Air")
# A column and a row, as on the page of the game.
SQUARES = {n: f"{'abc'[n % 3]}{n // 3 + 1}" for n in range(9)}

PHRASES = {
    "action.pick_card": "Pick {card}",
    "action.place_card": "{card} to {square}",
    "event.dealt": "A card was set aside",
    "event.dealt.seat": "{seat} got {count} cards",
    "event.field_laid": "A special field on {square}: {field}",
    "event.round_started": "{starter} got the first turn of round {round}",
    "event.picked": "{seat} picked {card}",
    "event.placed": "{seat} placed {card} on {square}[ and took {taken}]",
    "event.passed": "{seat} could not place a card and passed",
    "event.round_ended": "The round was tied, {chips.0} to {chips.1} chips",
    "event.round_ended.winner=0": "{winner} won the round, {chips.0} to {chips.1} chips",
    "event.round_ended.winner=1": "{winner} won the round, {chips.1} to {chips.0} chips",
    "value.field.blocked": "blocked",
    **{f"value.field.{name.lower()}": f"only {name}" for name in _ELEMENTS},
    **{f"value.{field}.{n}": name for field in ("square", "taken") for n, name in SQUARES.items()},
    "aspect.chips": "your chips at the end of the round",
    "aspect.round_won": "you win the round",
    "aspect.card_taken": "this card is taken",
    # Of the drawings
    "table.round": "Round {round}",
    "table.picking": "hands are picked",
    "table.placing": "placing",
    "table.starts": "starts",
    "table.side": "rounds won {points}, pile {pile}",
    "table.points": "rounds won {points}",
    "table.chips": "chips {chips}",
    "table.cards": "hand {hand}, pile {pile}",
    "table.unseen": "not seen: {count} cards",
    "table.fields": "fields",
    "table.in_hand": "in hand",
    "table.your_hand": "your hand",
    "table.card": "card",
    "table.element": "element",
    "table.edges": "N E S W  =",
    "table.pick": "Pick card {card} of {size} for your hand; {used} of {limit} points are used:",
    "table.place": "Place a card: by the number in the table, or its name and square:",
    "table.place_listed": "Place a card.",
}

## The board of Skystones: cards are dragged from the hand to a square, and captures turn over.
class_name DemoSkystones
extends DemoBoard

const _GAP := 10.0

## How cards are drawn.
var face: DemoSkystonesCard

var _tile := 124.0
var _squares: Array[DemoSquare] = []
var _grid := Control.new()
var _head := DemoStyle.label("", 18, DemoStyle.QUIET)
var _theirs := HBoxContainer.new()
var _picking := HFlowContainer.new()  # The pile, while hands are picked.
var _middle := CenterContainer.new()
var _board: Array = []  # As it is drawn: after a round, that of its end.


func _build() -> void:
	_head.horizontal_alignment = HORIZONTAL_ALIGNMENT_CENTER
	_theirs.alignment = BoxContainer.ALIGNMENT_CENTER
	_theirs.add_theme_constant_override("separation", -22)
	_middle.add_child(_grid)
	_picking.alignment = FlowContainer.ALIGNMENT_CENTER
	var column := DemoStyle.stack([_theirs, _head, DemoStyle.grow(_picking), DemoStyle.grow(_middle)], false, 6)
	column.set_anchors_preset(PRESET_FULL_RECT)
	add_child(column)
	face = DemoSkystonesCard.new(words)


func show_view(view: Dictionary, events: Array) -> void:
	var game: Dictionary = view.get("skystones", {})
	var board: Array = game.get("board", [])
	var wide := roundi(sqrt(board.size()))
	if _squares.size() != board.size():
		_lay(wide)
	_view = game
	var placements := events.map(func(event: Dictionary) -> Dictionary:
		return event.get("skystones", {}).get("placed", {}))
	placements = placements.filter(func(placed: Dictionary) -> bool: return not placed.is_empty())
	var is_bare := board.all(func(square: Dictionary) -> bool: return not square.has("card"))
	# The board of a round that is over stays until it has been seen.
	var stays := is_bare and not placements.is_empty() or (is_bare and view.has("result"))
	if stays:
		_board = _board.duplicate(true)
		for placed: Dictionary in placements:
			var square: Dictionary = _board[placed.get("square", 0)]
			square.card = placed.get("card", 0)
			for at: int in [placed.get("square", 0)] + placed.get("taken", []):
				_board[at].owner = placed.get("seat", 0)
	else:
		_board = board
	var chips := [0, 0]
	for at: int in _board.size():
		if _board[at].has("owner"):
			chips[_board[at].owner] += 1
		_squares[at].show_square(_board[at])
	var picks: bool = game.get("phase", "") == "SKYSTONES_PHASE_PICK" and not view.has("result")
	if picks and stays:
		await get_tree().create_timer(1.8).timeout
		if game != _view:
			return
	_show_picking(game if picks else {})
	var other: Dictionary = game.get("sides", [{}, {}])[1 - me]
	DemoStyle.clear(_theirs)
	for at: int in int(other.get("handSize", 0)):
		_theirs.add_child(DemoCard.make(words, "", 0.5))
	_theirs.custom_minimum_size.y = DemoCard.SIZE.y * 0.5
	_head.text = words.word("table.round", {"round": game.get("round", 1)})
	if not picks:
		_head.text += "    " + words.word("table.chips", {"chips": "%d : %d" % [chips[me], chips[1 - me]]})
	for placed: Dictionary in placements:
		_show_placed(placed)


## While hands are picked, the pile lies where the board will be.
func _show_picking(game: Dictionary) -> void:
	DemoStyle.clear(_picking)
	_cards.clear()
	_picking.visible = not game.is_empty()
	_middle.visible = game.is_empty()
	for id: String in words.cards_of("pile", game.get("pile", [])):
		var card := DemoCard.make(words, id, 0.66 if DemoStyle.is_narrow(self) else 0.86)
		card.painter = face.paint
		card.chosen.connect(func(chosen: String) -> void: card_chosen.emit(chosen))
		_cards.append(card)
		_picking.add_child(card)
	if game:
		mark(_marks[0], _marks[1], _marks[2])


func _lay(wide: int) -> void:
	for each: DemoSquare in _squares:
		each.queue_free()
	_squares.clear()
	_tile = 112.0 if DemoStyle.is_narrow(self) else 124.0
	_grid.custom_minimum_size = Vector2.ONE * (wide * (_tile + _GAP) - _GAP)
	for at: int in wide * wide:
		var square := DemoSquare.new()
		square.board = self
		square.at = at
		square.size = Vector2.ONE * _tile
		square.position = Vector2(at % wide, at / wide) * (_tile + _GAP)
		_grid.add_child(square)
		_squares.append(square)


## A card comes from where its side sits, and what it has captured turns over in its colour.
func _show_placed(placed: Dictionary) -> void:
	var square := _squares[placed.get("square", 0)]
	if placed.get("seat", 0) != me:
		square.arrive(Vector2(0, -300))
	var wait := 0.4
	for taken: int in placed.get("taken", []):
		_squares[taken].turn_over(wait)
		wait += 0.12


func mark(offered: Array, picked: Array, advised: Array) -> void:
	for each: DemoSquare in _squares:
		each.mark(picked, advised)
	super.mark(offered, picked, advised)


## The action that places a card on a square, if it is legal now.
func placing(card: String, square: int) -> Dictionary:
	for action: Dictionary in legal:
		var place: Dictionary = action.get("skystones", {}).get("placeCard", {"square": -1})
		if place.get("square", 0) == square and str(place.get("card", 0)) == card:
			return action
	return {}


## The squares whose cards a placement would take.
func would_take(card: String, square: int) -> Array[int]:
	var found: Array[int] = []
	var board: Array = _view.get("board", [])
	var wide := roundi(sqrt(board.size()))
	var edges := face.edges_of(card)
	var steps: Array[Vector2i] = [Vector2i.UP, Vector2i.RIGHT, Vector2i.DOWN, Vector2i.LEFT]
	for edge: int in 4:
		var place := Vector2i(square % wide, square / wide) + steps[edge]
		if not Rect2i(0, 0, wide, wide).has_point(place):
			continue
		var beside: Dictionary = board[place.y * wide + place.x]
		if beside.has("card") and beside.get("owner", 0) != me \
				and face.edges_of(str(beside.card))[(edge + 2) % 4] < edges[edge]:
			found.append(place.y * wide + place.x)
	return found


## Shows what a placement would take.
func preview(squares: Array[int]) -> void:
	for each: DemoSquare in _squares:
		each.threatened = each.at in squares


func dress(card: DemoCard) -> void:
	card.painter = face.paint
	card.carries = {"card": card.card}

## The board of any game, drawn from the fields of its view: the other side above, ours below.
class_name DemoBoard
extends Control

## A card on the board was clicked.
signal card_chosen(card: String)
## A decision was made on the board itself.
signal decided(action: Dictionary)

var words: CroupierWords
var me := 0
## What is legal now.
var legal: Array = []
## The card of the hand that is chosen; empty for none.
var held := ""

var _rows: VBoxContainer
var _cards: Array[DemoCard] = []
var _view := {}
var _marks: Array = [[], [], []]
var _zoom := 0.72


func _ready() -> void:
	_build()


func _build() -> void:
	_rows = DemoStyle.stack([], false, 14) as VBoxContainer
	_rows.alignment = BoxContainer.ALIGNMENT_CENTER
	var scroll := ScrollContainer.new()
	scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	scroll.set_anchors_preset(PRESET_FULL_RECT)
	scroll.add_child(DemoStyle.grow(_rows))
	add_child(scroll)
	# Where not all of it can be seen at once, it is smaller from then on.
	_rows.resized.connect(func() -> void:
		if _rows.size.y > size.y + 1 and _zoom > 0.5:
			_zoom = 0.5
			_lay_out.call_deferred())


## Shows a view; [param events] are those since the one before.
func show_view(view: Dictionary, events: Array) -> void:
	_view = view
	_lay_out()
	_tell(events)


func _lay_out() -> void:
	var layout := DemoLayout.of(words, _view, me)
	_cards.clear()
	DemoStyle.clear(_rows)
	for items: Array in [layout.sides[1 - me], layout.middle, layout.sides[me]]:
		_row(items)
	mark(_marks[0], _marks[1], _marks[2])


## Marks the cards that can be chosen, those that are, and those that a hint advises; not those that
## are meant in the hand.
func mark(offered: Array, picked: Array, advised: Array) -> void:
	_marks = [offered, picked, advised]
	for each: DemoCard in _cards:
		each.offered = each.card in offered
		each.picked = each.card in picked
		each.advised = each.card in advised


## Prepares a card of the hand.
func dress(_card: DemoCard) -> void:
	pass


func _row(items: Array) -> void:
	var big := HFlowContainer.new()
	big.alignment = FlowContainer.ALIGNMENT_CENTER
	big.add_theme_constant_override("h_separation", 22)
	var small := HFlowContainer.new()
	small.alignment = FlowContainer.ALIGNMENT_CENTER
	small.add_theme_constant_override("h_separation", 18)
	for item: Dictionary in items:
		if item.has("cards"):
			big.add_child(_heap(item))
		elif item.has("count"):
			if item.count > 0:
				big.add_child(_pile(item))
		elif item.has("text"):
			var label := DemoStyle.label(item.label, 14, DemoStyle.QUIET)
			small.add_child(DemoStyle.stack([label, DemoStyle.label(item.text, 15)], true, 6))
	for row: Control in [big, small]:
		if row.get_child_count():
			_rows.add_child(row)
		else:
			row.free()


func _heap(item: Dictionary) -> Control:
	# Many cards lie over each other, so that they take no more room than six, or than there is.
	var wide := DemoCard.SIZE.x * _zoom
	var row := HBoxContainer.new()
	var room := minf(5 * (wide + 6), size.x - wide - 12)
	var step := minf(wide + 6, room / maxf(1, item.cards.size() - 1))
	row.add_theme_constant_override("separation", floori(step - wide))
	var notes: Array = item.get("notes", [])
	for at: int in item.cards.size():
		var card := DemoCard.make(words, item.cards[at], _zoom)
		card.chosen.connect(func(id: String) -> void: card_chosen.emit(id))
		_cards.append(card)
		if at < notes.size() and notes[at]:
			card.tooltip_text += "\n" + notes[at]
		row.add_child(card)
	var more: int = item.get("more", 0)
	var title: String = item.label + (" (and %d more)" % more if more else "")
	if notes and notes[-1]:
		title += ": " + notes[-1]
	return DemoStyle.stack([DemoStyle.label(title, 13, DemoStyle.QUIET), row], false, 4)


func _pile(item: Dictionary) -> Control:
	# Few cards lie side by side, as in a hand; many are a pile with its number.
	var fan := Control.new()
	var shown: int = mini(item.count, 8)
	for at: int in shown:
		var back := DemoCard.make(words, "", 0.7 * _zoom)
		back.position.x = at * 14
		fan.add_child(back)
	fan.custom_minimum_size = DemoCard.SIZE * 0.7 * _zoom + Vector2(14 * (shown - 1), 0)
	var label: String = item.label.trim_suffix(" Size").trim_suffix(" Count")
	var title: String = "%s %d" % [label, item.count] if label else words.word("word.cards", {"count": item.count})
	return DemoStyle.stack([DemoStyle.label(title.strip_edges(), 13, DemoStyle.QUIET), fan], false, 4)


## Shows what the other side did: its card comes from above, stays for a moment, and goes.
func _tell(events: Array) -> void:
	var at := 0
	for event: Dictionary in events:
		var inner := words.inner_of(event)
		var kind := words.kind_of(inner)
		var what: Dictionary = inner.get(kind, {}) if kind else {}
		var whose: int = what.get("seat", inner.get("seat", 0))
		if whose == me:
			continue
		var named: Array[String] = []
		for source: Dictionary in [inner, what]:
			for key: String in source:
				named.append_array(words.cards_of(key.to_snake_case(), source[key]))
		for id: String in named.slice(0, 3):
			_fly(DemoCard.make(words, id, 1.15), at)
			at += 1


func _fly(card: DemoCard, at: int) -> void:
	card.mouse_filter = MOUSE_FILTER_IGNORE
	card.z_index = 10
	add_child(card)
	var place := (size - card.size) / 2.0 + Vector2(70 * at, 0)
	card.position = Vector2(place.x, -card.size.y)
	card.rotation = -0.08
	card.modulate.a = 0.0
	var tween := create_tween()
	tween.tween_interval(0.12 * at)
	tween.tween_property(card, "modulate:a", 1.0, 0.1)
	tween.parallel().tween_property(card, "position", place, 0.35).set_trans(Tween.TRANS_CUBIC).set_ease(Tween.EASE_OUT)
	tween.parallel().tween_property(card, "rotation", 0.0, 0.35)
	tween.tween_interval(0.6)
	tween.tween_property(card, "modulate:a", 0.0, 0.25)
	tween.tween_callback(card.queue_free)

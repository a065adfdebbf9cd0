## Where the fields of a view of any game go: into the hand, to a side, or between the two.
class_name DemoLayout
extends RefCounted

const _LAST := 12  # Of a long list, as many entries are drawn.

## Groups of the reader's own cards, each with a "title" and "cards".
var hand: Array[Dictionary] = []
## What belongs to each seat: items with a "label" and "cards", a "count" of hidden cards, or a "text".
var sides: Array = [[], []]
## What belongs to both.
var middle: Array[Dictionary] = []
## The score of each seat in words; empty if the game tells none.
var scores: Array[String] = ["", ""]

var _words: CroupierWords
var _hand := RegEx.create_from_string("^(hand|own_hand|your_hand|hand_cards|own_cards|cards)$")
var _sides := RegEx.create_from_string("^(sides|seats|players)$")
var _held := RegEx.create_from_string("^(hand_sizes?|hand_counts?|cards_in_hand|opponent_hand_size|opponent_hand_count)$")
var _score := RegEx.create_from_string("^(scores?|points|tricks|tricks_won|won|goals|chips|total)$")
var _stack := RegEx.create_from_string("(^|_)(deck|stock|pile|talon)(_size|_count|_left)?$")
var _unseen := RegEx.create_from_string("^(unseen.*|.*history|.*memory|@type|placements)$")


## Sorts the fields of the game's part of a view.
static func of(words: CroupierWords, view: Dictionary, me: int) -> DemoLayout:
	var made := DemoLayout.new()
	made._words = words
	var state := words.inner_of(view)
	if state != view:
		made._take(state, "", -1, me)
	return made


func _take(part: Dictionary, path: String, seat: int, me: int) -> void:
	for key: String in part:
		var field := key.to_snake_case()
		var value: Variant = part[key]
		var label := _words.label("view", path + field)
		if label.is_empty() or _unseen.search(field):
			continue
		var pair: bool = value is Array and value.size() == 2 and seat < 0
		if pair and value[0] is Dictionary and _sides.search(field):
			for side: int in 2:
				_take(value[side], field + ".", side, me)
			continue
		if pair and value[0] is not Dictionary and not _words.cards_of(field, value):
			for side: int in 2:
				if _score.search(field):
					scores[side] = _words.text_of(field, value[side])
				elif _held.search(field):
					sides[side].append({"label": "", "count": int(value[side])} if side != me else {})
				else:
					sides[side].append({"label": label, "text": _words.text_of(field, value[side])})
			continue
		var cards := _words.cards_of(field, value)
		if cards and _hand.search(field) and (seat < 0 or seat == me) and value is Array:
			hand.append({"title": label, "cards": cards})
			continue
		if _score.search(field) and seat >= 0 and value is int:
			scores[seat] = str(value)
			continue
		var whose := seat
		if field.begins_with("opponent_") and me >= 0:
			whose = 1 - me
		elif (field.begins_with("own_") or field.begins_with("your_")) and me >= 0:
			whose = me
		for item: Dictionary in _items(field, value, label, path):
			if whose < 0:
				middle.append(item)
			elif not (_held.search(field) and whose == me):
				sides[whose].append(item)


func _items(field: String, value: Variant, label: String, path: String) -> Array[Dictionary]:
	if "{" in label:
		return []  # A sentence about the fields around it.
	var cards := _words.cards_of(field, value)
	if cards:
		return [{"label": label, "cards": cards.slice(-_LAST), "more": maxi(0, cards.size() - _LAST)}]
	if value is bool:
		return [{"label": "", "text": label}]
	if value is int and (_held.search(field) or _stack.search(field)):
		return [{"label": label, "count": value}]
	if value is String and value != value.to_upper() and _words.text_of(field, value) == value.replace("_", " "):
		return []  # Bytes, which say nothing to a player.
	if value is Dictionary:
		return _inside([value], field, label, path)
	if value is Array and value and value[0] is Dictionary:
		return _inside(value.slice(-_LAST), field, label, path)
	return [{"label": label, "text": _words.text_of(field, value)}]


# Parts, each drawn as its cards with what else is said of it as a note, or as a line of text.
func _inside(parts: Array, field: String, label: String, path: String) -> Array[Dictionary]:
	var cards: Array[String] = []
	var notes: Array[String] = []
	var lines: Array[String] = []
	for part: Dictionary in parts:
		var said: Array[String] = []
		var own: Array[String] = []
		for key: String in part:
			var name := key.to_snake_case()
			if part[key] is Dictionary or _words.label("view", "%s%s.%s" % [path, field, name]).is_empty():
				continue
			var named := _words.cards_of(name, part[key])
			if named:
				own.append_array(named)
			elif part[key] is Array and part[key] and part[key][0] is Dictionary:
				for inner: Dictionary in part[key]:
					for inside: String in inner:
						own.append_array(_words.cards_of(inside.to_snake_case(), inner[inside]))
			elif part[key] is bool:
				said.append(_words.label("view", name).to_lower())
			else:
				var text := _words.text_of(name, part[key])
				var plain: bool = part[key] is String or text != str(part[key])
				if text not in said:
					said.append(text if plain else "%s %s" % [name.replace("_", " "), text])
		cards.append_array(own)
		for at: int in own.size():
			notes.append(", ".join(said) if at == own.size() - 1 else "")
		if said and not own:
			lines.append(", ".join(said))
	var items: Array[Dictionary] = []
	if cards:
		items.append({"label": label, "cards": cards.slice(-_LAST), "notes": notes.slice(-_LAST)})
	if lines:
		items.append({"label": label, "text": "; ".join(lines)})
	return items

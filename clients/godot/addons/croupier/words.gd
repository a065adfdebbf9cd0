## Says what happens in a match in the words of its game, by the phrases of the catalog.
##
## Made of the "game" of [method CroupierClient.get_game], in the language of that call. The reference of
## [code]Game.phrases[/code] says what a phrase is. JSON leaves out what is 0, so a field that is missing
## counts as 0 where a phrase needs it.
class_name CroupierWords
extends RefCounted

const _LISTS := "(^|_)(cards|hand|trick|pile|deck|stock|discards|unseen|exposed|plays)$"
const _SEATS := "^(seat|.+_seat|winner|leader|dealer|starter|kick_off)$"
# Fields of events that are not set for what is hidden, where the phrases do not show it.
const _HIDDEN := ["picked.card"]

## The game, as the catalog describes it.
var game: Dictionary
## The cards by their ids.
var cards := {}
## The reader's own seat; -1 for none.
var me := -1
## How the reader calls each seat within a sentence; by default by its title.
var names: Array = []

var _variants := {}  # By name: arrays of conditions and a phrase, the most particular first.
var _ids: Array = []  # Of cards, the longest first.
var _braces := RegEx.create_from_string("\\{([^{}]*)\\}")
var _parts := RegEx.create_from_string("\\[([^\\[\\]]*)\\]")
var _list_name := RegEx.create_from_string(_LISTS)
var _seat_name := RegEx.create_from_string(_SEATS)


func _init(game_: Dictionary) -> void:
	game = game_
	for card: Dictionary in game.get("cards", []):
		cards[card.id] = card
	_ids = cards.keys()
	_ids.sort_custom(func(a: String, b: String) -> bool: return a.length() > b.length())
	var all: Array = game.get("phrases", {}).keys()
	all.sort_custom(func(a: String, b: String) -> bool:
		var more := a.count(".") - b.count(".")
		return more > 0 or (more == 0 and a > b))
	for each: String in all:
		var parts := each.split(".")
		var list: Array = _variants.get_or_add(".".join(parts.slice(0, 2)), [])
		list.append([parts.slice(2), game.phrases[each]])


## A phrase with given values; the last part of its name if it is not there.
func word(phrase_name: String, given := {}) -> String:
	var fields := {}
	for key: String in given:
		fields[key] = [{"text": str(given[key]), "keys": [str(given[key])], "says": true}]
	var phrase: Variant = _variant(phrase_name, fields)
	if phrase == null:
		return phrase_name.get_slice(".", phrase_name.get_slice_count(".") - 1).replace("_", " ")
	return _fill(phrase, fields, "")


## The words for a name of the schema, such as ("view", "hand"); empty for what should not be shown.
func label(part: String, field: String) -> String:
	var found: Variant = game.get("phrases", {}).get("%s.%s" % [part, field])
	return field.get_slice(".", field.get_slice_count(".") - 1).replace("_", " ").capitalize() \
		if found == null else found


## An action or an event in a sentence: a MatchAction, a MatchEvent, or what is in one.
func sentence(part: String, what: Dictionary) -> String:
	var inner := inner_of(what)
	var kind := kind_of(inner)
	if not kind:
		return ""
	var fields := {}
	for source: Dictionary in [inner, inner[kind] if inner[kind] is Dictionary else {}]:
		for key: String in source:
			if source[key] is not Dictionary:
				fields[key.to_snake_case()] = values_of(key.to_snake_case(), source[key])
	var snake := kind.to_snake_case()
	var phrase: Variant = _variant("%s.%s" % [part, snake], fields)
	if phrase == null:
		var said := fields.values().map(func(values: Array) -> String: return listed(_texts(values)))
		return (snake.replace("_", " ") + " " + ", ".join(said)).strip_edges().capitalize()
	return capital(_fill(phrase, fields, "%s.%s" % [part, snake]))


## What is within the field of the game in an action, an event or a view.
func inner_of(what: Dictionary) -> Dictionary:
	for key: String in [game.name.trim_prefix("games/").to_camel_case(), "packaged"]:
		if what.get(key) is Dictionary:
			return what[key]
	return what


## The kind of an action or an event: the field that is a message; empty for none.
func kind_of(what: Dictionary) -> String:
	for key: String in what:
		if what[key] is Dictionary:
			return key
	return ""


## The ids of the cards that a field names; empty for a field of something else.
func cards_of(field: String, value: Variant) -> Array[String]:
	var found: Array[String] = []
	var many := value is Array
	for each: Variant in value if many else [value]:
		var id := ""
		if each is String and not each.is_valid_int():
			id = _card_in(each)
		elif (each is int or each is String) and _names_card(field, many):
			id = str(each)
		if not cards.has(id):
			return []
		found.append(id)
	return found


## The title of a card; "a card" for one that is hidden.
func title_of(card: String) -> String:
	return cards[card].title if cards.has(card) else word("word.card")


## How the reader calls a seat.
func who(seat: int) -> String:
	if seat < names.size():
		return names[seat]
	var titles: Array = game.get("seatTitles", [])
	return titles[seat] if seat < titles.size() else str(seat)


## The values of a field, each with its "text", the "keys" that conditions compare, whether it "says"
## something, and its "seat" if it is one.
func values_of(field: String, value: Variant) -> Array:
	return (value if value is Array else [value]).map(func(each: Variant) -> Dictionary:
		return _value(field, each, value is Array))


## A value in words.
func text_of(field: String, value: Variant) -> String:
	return listed(_texts(values_of(field, value)))


## How a match ended, in a sentence.
func over_sentence(view: Dictionary) -> String:
	var result: Dictionary = view.get("result", {})
	var ending: Dictionary = result.get("ending", {})
	var phrase: Variant = game.phrases.get("ending.%s" % ending.get("id", ""))
	if phrase:
		var fields := {}
		for each: Dictionary in ending.get("values", []):
			var said := {"text": str(each.get("number", each.get("text", ""))), "says": true}
			if each.has("seat"):
				said.merge({"text": who(each.seat), "seat": each.seat}, true)
			elif each.has("card"):
				said.text = title_of(each.card)
			said.keys = [said.text]
			fields[each.get("field", "")] = [said]
		return capital(_fill(phrase, fields, ""))
	var reason: String = str(result.get("reason", "")).trim_prefix("END_REASON_").to_lower()
	var scores: Array = result.get("scores", [])
	if scores.size() < 2 or scores[0] == scores[1]:
		var both: String = "over.%s.both" % reason
		return word(both if game.phrases.has(both) else "over." + reason)
	var loser := 0 if scores[0] < scores[1] else 1
	var told: String = "over.%s%s" % [reason, ".you" if loser == me else ""]
	return capital(word(told if game.phrases.has(told) else "over." + reason, {"seat": who(loser)}))


## Why the first action of a hint is advised, and the most likely answer: sentences.
func why(hint: Dictionary) -> Array[String]:
	var told: Array[String] = []
	for reason: Dictionary in hint.get("reasons", []):
		var chance: bool = game.get("aspects", []).any(func(aspect: Dictionary) -> bool:
			return aspect.id == reason.aspect and aspect.get("unit") == "ASPECT_UNIT_CHANCE")
		var values: Array = [reason.get("value", 0), reason.get("otherValue", 0)]
		var cases := 100 if _cases(values[0], 10) == _cases(values[1], 10) else 10
		var said := values.map(func(each: float) -> String:
			return str(_cases(each, cases)) if chance else ("%.1f" % each).replace(".", word("word.decimal_mark")))
		told.append(capital(word("reason.chance" if chance else "reason.amount", {
			"aspect": word("aspect." + reason.aspect), "value": said[0], "other_value": said[1],
			"cases": cases, "other": sentence("action", reason.get("otherAction", {}))
		})))
	for step: Dictionary in hint.get("actions", [{}])[0].get("line", []):
		if step.get("seat", 0) != hint.get("seat", 0):
			told.append(word("reason.answer", {"action": sentence("action", step.action)}))
			break
	return told


## "a, b and c": in their order, equal ones that follow each other counted.
func listed(texts: Array) -> String:
	var runs: Array = []
	for text: String in texts:
		if runs and runs[-1][0] == text:
			runs[-1][1] += 1
		else:
			runs.append([text, 1])
	var parts: Array = runs.map(func(run: Array) -> String:
		return "%d × %s" % [run[1], run[0]] if run[1] > 1 else run[0])
	if parts.size() < 2:
		return "".join(parts)
	return "%s %s %s" % [", ".join(parts.slice(0, -1)), word("word.and"), parts[-1]]


## A text with a capital letter at its beginning.
static func capital(text: String) -> String:
	return text.left(1).to_upper() + text.substr(1)


func _value(field: String, value: Variant, many: bool) -> Dictionary:
	var key := str(value)
	var found: Variant = null
	if value is String:
		# A value of an enum is named without what all values of the enum begin with.
		var at := 0
		while found == null and at >= 0:
			found = game.phrases.get("value.%s.%s" % [field, key.substr(at).to_lower()])
			if found != null:
				key = key.substr(at).to_lower()
			at = key.find("_", at) + 1 if "_" in key.substr(at) else -1
	else:
		found = game.phrases.get("value.%s.%s" % [field, key.to_lower()])
	if value is bool:
		var text: String = found if found else word("word.yes" if value else "word.no")
		return {"text": text, "keys": [key], "says": value}
	if value is int and _names_seat(field, many):
		return {"text": found if found else who(value), "keys": [key], "says": true, "seat": value}
	var named := cards_of(field, [value] if many else value)
	if named:
		var card: Dictionary = cards[named[0]]
		var keys := [named[0].to_lower(), str(card.get("kind", "")).to_lower()]
		return {"text": found if found else card.title, "keys": keys, "says": true}
	if value is String and found == null and key == key.to_upper() and "_" in key:
		key = _without_prefix(key, field).to_lower()
	var text: String = found if found else (key.replace("_", " ") if value is String else key)
	return {"text": text, "keys": [key], "says": found != null or (value is String or value != 0)}


# "SKYSTONES_PHASE_PICK" is "PICK" in a field "phase", and "GERMAN_WHIST_SUIT_CLUBS" is "CLUBS" in any.
func _without_prefix(value: String, field: String) -> String:
	var at := value.find("_%s_" % field.to_upper())
	if at >= 0:
		return value.substr(at + field.length() + 2)
	var rest := value.trim_prefix(game.name.trim_prefix("games/").to_upper() + "_")
	return rest if rest == value else rest.substr(rest.find("_") + 1)


func _card_in(value: String) -> String:
	if cards.has(value):
		return value
	for id: String in _ids:
		if value.ends_with("_" + id):
			return id
	return ""


func _names_card(field: String, many: bool) -> bool:
	return field == "card" or field.ends_with("_card") or (many and _list_name.search(field) != null)


func _names_seat(field: String, many: bool) -> bool:
	return field == "seats" if many else _seat_name.search(field) != null


func _texts(values: Array) -> Array:
	return values.map(func(each: Dictionary) -> String: return each.text)


func _variant(phrase_name: String, fields: Dictionary) -> Variant:
	for each: Array in _variants.get(phrase_name, []):
		if each[0].is_empty() or Array(each[0]).all(func(condition: String) -> bool:
			return _holds(condition, fields)):
			return each[1]
	return game.get("phrases", {}).get(phrase_name)


func _holds(condition: String, fields: Dictionary) -> bool:
	var field := condition.get_slice("=", 0)
	var values: Array = fields.get(field, [])
	if "=" not in condition:
		return values.any(func(each: Dictionary) -> bool: return each.says)
	var wanted := condition.get_slice("=", 1)
	var keys := _keys(values if fields.has(field) else [{"keys": ["0"]}])
	if wanted.ends_with("+") and wanted.trim_suffix("+").is_valid_int():
		return keys.any(func(key: String) -> bool:
			return key.is_valid_int() and int(key) >= int(wanted))
	return wanted in keys or (fields.has(wanted) \
		and _keys(fields[wanted]).any(func(key: String) -> bool: return key in keys))


func _keys(values: Array) -> Array:
	var keys: Array = []
	for each: Dictionary in values:
		keys.append_array(each.keys)
	return keys


## Fills a phrase. [param of] is its name without conditions, for what is missing.
func _fill(phrase: String, fields: Dictionary, of: String) -> String:
	var filled := phrase
	for part: RegExMatch in _parts.search_all(phrase):
		var said := _braces.search_all(part.get_string(1)).all(func(found: RegExMatch) -> bool:
			var key := found.get_string(1).get_slice(".", 0)
			return "|" in key or fields.get(key, []).any(
				func(each: Dictionary) -> bool: return each.says))
		filled = filled.replace(part.get_string(), part.get_string(1) if said else "")
	var about := -1
	var all := _braces.search_all(filled)
	for found: RegExMatch in all:
		var values := _named(found.get_string(1).get_slice(".", 0), fields, of)
		if about < 0 and values and values[0].has("seat"):
			about = values[0].seat
	for found: RegExMatch in all:
		var inside := found.get_string(1)
		var text := ""
		if "|" in inside:
			text = inside.get_slice("|", 1 if about >= 0 and about == me else 0)
		else:
			var texts := _texts(_named(inside.get_slice(".", 0), fields, of))
			if "." in inside:
				var at := int(inside.get_slice(".", 1))
				text = texts[at] if at < texts.size() else "–"
			else:
				text = listed(texts)
		filled = filled.replace(found.get_string(), text)
	return filled


# The values of a field of a phrase, also of one that JSON leaves out.
func _named(field: String, fields: Dictionary, of: String) -> Array:
	if fields.has(field) or "|" in field:
		return fields.get(field, [])
	if _list_name.search(field) and not game.phrases.has("value.%s.0" % field):
		var count: Array = fields.get("count", [])
		var text := word("word.cards", {"count": count[0].text}) if count else word("word.no_cards")
		return [{"text": text, "keys": [], "says": false}]
	var hidden := _HIDDEN.has("%s.%s" % [of.get_slice(".", 1), field])
	if _names_card(field, false) and (hidden or not cards.has("0")):
		return [{"text": word("word.card"), "keys": [], "says": false}]
	return [_value(field, 0, false)]


func _cases(chance: float, cases: int) -> int:
	# In none and in all is only what is certain.
	if chance == 0.0 or chance == 1.0:
		return roundi(cases * chance)
	return clampi(roundi(cases * chance), 1, cases - 1)

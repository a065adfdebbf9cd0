## How the cards of Skystones are drawn: by their element and the points on their edges.
class_name DemoSkystonesCard
extends RefCounted

const _ELEMENTS := {
	"Fire": [
		Color("f6c9a8"), Color("b23a12"),
		"M26 2c1 9 13 13 13 26 0 10-7 17-15 17S9 38 9 29c0-7 5-10 6-18 4 2 6 6 6 10 4-4 6-12 5-19zM24 27c-1 5-6 6-6 11 0 3 3 5 6 5s6-2 6-5c0-5-5-6-6-11z"
	],
	"Earth": [Color("d9c99a"), Color("6b4c12"), "M2 42L18 10l6 11 4-5 18 26zM18 17l-5 10 4-2 3 3 3-2z"],
	"Electro": [Color("efe08d"), Color("7a5c00"), "M29 2L8 27h12l-5 19 24-27H26z"],
	"Water": [
		Color("afd3ea"), Color("0f4f86"),
		"M24 2c8 12 15 20 15 28a15 15 0 0 1-30 0C9 22 16 14 24 2zM15 30c0 6 4 9 8 10v-4c-3-1-4-3-4-6z"
	],
	"Air": [
		Color("d5e6dd"), Color("2f6a55"),
		"M3 17h24a4 4 0 1 0-4-5h-5a9 9 0 1 1 9 10H3zM3 25h34a7.5 7.5 0 1 1-7 10h5a3 3 0 1 0 2-5H3zM3 33h18a6 6 0 1 1-6 8h5a1.5 1.5 0 1 0 0-3H3z"
	],
}

var _words: CroupierWords
var _kinds := {}  # Of cards, in English: their element.


func _init(words: CroupierWords) -> void:
	_words = words
	var specs: Array = words.game.get("defaultRuleset", {}).get("skystones", {}).get("cards", [])
	for at: int in specs.size():
		_kinds[str(at)] = str(specs[at].element).trim_prefix("SKYSTONES_ELEMENT_").capitalize()


## The paper, the tint and the picture of a card's element.
func look_of(card: String) -> Array:
	return _ELEMENTS.get(_kinds.get(card, ""), _ELEMENTS.Air)


## The points of the edges: north, east, south, west.
func edges_of(card: String) -> Array:
	return _words.cards[card].numbers.slice(1, 5).map(func(each: Dictionary) -> int: return each.get("value", 0))


## Draws a character: its element, its edges and its name.
func paint(card: DemoCard) -> void:
	var look := look_of(card.card)
	card.draw_style_box(DemoStyle.box(look[0], 9, 0), Rect2(Vector2.ZERO, DemoCard.SIZE))
	paint_edges(card, card.card, Rect2(2, 2, 88, 92), 17)
	var plate := DemoStyle.box(look[1], 9, 0)
	plate.corner_radius_top_left = 0
	plate.corner_radius_top_right = 0
	card.draw_style_box(plate, Rect2(0, 98, 92, 30))
	card.write(_words.title_of(card.card), Rect2(4, 99, 84, 28), 13, Color.WHITE, 2)


## Draws the element of a card and the points on its edges.
func paint_edges(on: Control, card: String, place: Rect2, most: int) -> void:
	var look := look_of(card)
	var side := place.size.x * 0.34
	var picture := DemoCard.drawing(look[2], 48)
	if picture:
		on.draw_texture_rect(picture, Rect2(place.get_center() - Vector2.ONE * side / 2, Vector2.ONE * side), false, look[1])
	var edges := edges_of(card)
	var far := place.size * 0.5 - Vector2.ONE * most * 0.85
	var ways: Array[Vector2] = [Vector2.UP, Vector2.RIGHT, Vector2.DOWN, Vector2.LEFT]
	var font := on.get_theme_default_font()
	for edge: int in 4:
		var middle := place.get_center() + ways[edge] * far
		on.draw_circle(middle, most * 0.72, look[1] if edges[edge] else Color(look[1], 0.25), true, -1.0, true)
		var wide := font.get_string_size(str(edges[edge]), HORIZONTAL_ALIGNMENT_LEFT, -1, most)
		on.draw_string(font, middle + Vector2(-wide.x / 2, most * 0.36), str(edges[edge]), HORIZONTAL_ALIGNMENT_LEFT, -1, most, Color.WHITE)

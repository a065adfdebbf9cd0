## A card of any game, drawn from what the catalog tells of it; or its back.
class_name DemoCard
extends Control

## The card was clicked.
signal chosen(card: String)

const SIZE := Vector2(92, 128)
const _TINTS: Array[Color] = [
	Color("b4472b"), Color("2f6f9f"), Color("55802f"), Color("8a5a1f"), Color("7a4b91"),
	Color("2b7d77"), Color("a83b63"), Color("56606b")
]

static var _glyphs := {}

## The id; empty for a card that lies face down.
var card := ""
## Whether it can be chosen, was chosen, or is what a hint advises.
var offered := false:
	set(value):
		offered = value
		mouse_default_cursor_shape = CURSOR_POINTING_HAND if value else CURSOR_ARROW
		queue_redraw()
var picked := false:
	set(value):
		picked = value
		queue_redraw()
var advised := false:
	set(value):
		advised = value
		queue_redraw()
## What a drag of this card carries; empty if it cannot be dragged.
var carries := {}
## Draws what is on the paper, if a game has a drawing of its own: called with this card.
var painter := Callable()

var _about: Dictionary
var _lift := 0.0
var _scale := 1.0


static func make(words: CroupierWords, id: String, size_scale := 1.0) -> DemoCard:
	var made := DemoCard.new()
	made.card = id if words.cards.has(id) else ""
	made._about = words.cards.get(id, {})
	made._scale = size_scale
	made.custom_minimum_size = SIZE * size_scale
	made.size = made.custom_minimum_size
	if made.card:
		var lines: Array[String] = [made._about.title]
		for each: Dictionary in made._about.get("numbers", []):
			lines.append("%s %d" % [each.title, each.get("value", 0)])
		if made._about.has("text"):
			lines.append(made._about.text)
		made.tooltip_text = "\n".join(lines)
	made.mouse_entered.connect(made._hover.bind(true))
	made.mouse_exited.connect(made._hover.bind(false))
	return made


func _hover(over: bool) -> void:
	if offered or not over:
		var tween := create_tween()
		tween.tween_method(func(value: float) -> void:
			_lift = value
			queue_redraw(), _lift, 8.0 if over else 0.0, 0.12)


func _gui_input(event: InputEvent) -> void:
	if offered and event is InputEventMouseButton and not event.pressed \
			and event.button_index == MOUSE_BUTTON_LEFT and Rect2(Vector2.ZERO, size).has_point(event.position):
		chosen.emit(card)


func _get_drag_data(_at: Vector2) -> Variant:
	if not carries:
		return null
	var copy := DemoCard.new()
	copy.card = card
	copy._about = _about
	copy._scale = _scale
	copy.painter = painter
	copy.size = size
	copy.position = -size / 2.0
	copy.rotation = 0.06
	var held := Control.new()
	held.add_child(copy)
	set_drag_preview(held)
	return carries


func _draw() -> void:
	var box := Rect2(Vector2(0, -_lift), SIZE * _scale)
	var radius := int(9 * _scale)
	if card == "":
		draw_style_box(DemoStyle.box(Color("33506b"), radius, 0, Color("5c7d9c")), box)
		draw_style_box(DemoStyle.box(Color("2b4560"), radius, 0, Color("6d91b3")), box.grow(-8 * _scale))
		for at: int in 3:
			var side := (18 - 5 * at) * _scale
			draw_set_transform(box.get_center(), PI / 4)
			draw_rect(Rect2(-side / 2, -side / 2, side, side), Color("6d91b3"), false, 2 * _scale)
		draw_set_transform(Vector2.ZERO)
	else:
		var shadow := DemoStyle.box(DemoStyle.PAPER, radius, 0)
		shadow.shadow_color = Color(0, 0, 0, 0.35)
		shadow.shadow_size = int(3 + _lift / 2)
		shadow.shadow_offset = Vector2(0, 2)
		draw_style_box(shadow, box)
		draw_set_transform(box.position, 0.0, Vector2.ONE * _scale)
		if painter.is_valid():
			painter.call(self)
		else:
			_paint()
		draw_set_transform(Vector2.ZERO)
	if offered or picked or advised:
		var colour := DemoStyle.GOLD if advised or picked else DemoStyle.MINE
		var edge := DemoStyle.box(Color.TRANSPARENT, radius, 0, colour)
		edge.set_border_width_all(4 if picked or advised else 2)
		draw_style_box(edge, box)


## What every game has: the title on its tint, a picture or the text, and the numbers.
func _paint() -> void:
	var tint := _TINTS[absi(hash(_about.get("kind", ""))) % _TINTS.size()]
	var head := DemoStyle.box(tint, 9, 0)
	head.corner_radius_bottom_left = 0
	head.corner_radius_bottom_right = 0
	draw_style_box(head, Rect2(0, 0, SIZE.x, 34))
	write(_about.title, Rect2(4, 2, SIZE.x - 8, 30), 14, Color.WHITE, 2)
	var numbers: Array = _about.get("numbers", [])
	var glyph := _glyph(_about.get("glyph", ""))
	# Up to three numbers stand in lines; more of them in two columns.
	var lines := numbers.size() <= 3
	var rows := numbers.size() if lines else ceili(numbers.size() / 2.0)
	var tall := 14.0 if _about.get("text", "") or _about.get("glyph", "") else 19.0
	var below := SIZE.y - 5 - rows * tall
	if glyph:
		var side := minf(50, below - 42)
		draw_texture_rect(glyph, Rect2((SIZE.x - side) / 2, 36 + (below - 38 - side) / 2, side, side), false, tint)
		draw_texture_rect(glyph, Rect2(4, 37, 16, 16), false, tint)  # Seen also where other cards lie over it.
	elif _about.get("text", ""):
		write(_about.text, Rect2(6, 38, SIZE.x - 12, below - 40), 10, DemoStyle.DARK, 5)
	else:
		write(_about.title.left(1), Rect2(6, 34, SIZE.x - 12, below - 36), 34, tint)
	var columns := 1 if lines or numbers.size() == 1 else 2
	var wide := (SIZE.x - 12) / columns
	for at: int in numbers.size():
		var place := Vector2(6 + at % columns * wide, below + at / columns * tall)
		var value := str(numbers[at].get("value", 0))
		var room := 11.0 + 8 * (value.length() - 1)
		write(numbers[at].title, Rect2(place, Vector2(wide - room - 2, tall)), 10, tint.darkened(0.25))
		write(value, Rect2(place + Vector2(wide - room - 2, 0), Vector2(room, tall)), 14, DemoStyle.DARK)


## Writes a text into the middle of a box, as large as fits.
func write(text: String, place: Rect2, most: float, colour: Color, lines := 1) -> void:
	var font := get_theme_default_font()
	var font_size := int(most)
	var flags := TextServer.BREAK_MANDATORY | TextServer.BREAK_WORD_BOUND | TextServer.BREAK_TRIM_EDGE_SPACES
	while font_size > 5:
		var needed := font.get_multiline_string_size(text, HORIZONTAL_ALIGNMENT_CENTER, place.size.x if lines > 1 else -1.0, font_size, -1, flags)
		if needed.x <= place.size.x + 1 and needed.y <= maxf(place.size.y, font.get_height(font_size)) + 2:
			break
		font_size -= 1
	var height := font.get_multiline_string_size(text, HORIZONTAL_ALIGNMENT_CENTER, place.size.x, font_size, lines, flags).y
	var top := place.position + Vector2(0, (place.size.y - height) / 2 + font.get_ascent(font_size))
	draw_multiline_string(font, top - Vector2(1, 0), text, HORIZONTAL_ALIGNMENT_CENTER, place.size.x + 2, font_size, lines, colour, flags)


static func _glyph(path: String) -> Texture2D:
	return drawing(path, 24) if path else null


## The picture of an SVG path in a box of so many units, in white.
static func drawing(path: String, units: int) -> Texture2D:
	if not _glyphs.has(path):
		var image := Image.new()
		var svg := "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d'><path fill='white' fill-rule='evenodd' d='%s'/></svg>" % [units, units, units, units, path]
		var good := image.load_svg_from_string(svg, 192.0 / units) == OK
		_glyphs[path] = ImageTexture.create_from_image(image) if good else null
	return _glyphs[path]

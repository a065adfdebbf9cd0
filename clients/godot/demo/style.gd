## The look of the demo: colours, boxes and small parts. Change it here.
class_name DemoStyle
extends RefCounted

const NIGHT := Color("131c26")
const PANEL := Color("1d2a37")
const RAISED := Color("2a3b4c")
const LINE := Color("3b5064")
const INK := Color("eef2f5")
const QUIET := Color("9fb0bf")
const GOLD := Color("f0b84a")
const MINE := Color("4aa8e0")
const THEIRS := Color("e2703f")
const PAPER := Color("f3ead8")
const DARK := Color("2b2620")


## The theme that the main scene sets.
static func theme() -> Theme:
	var made := Theme.new()
	made.default_font_size = 16
	for type: String in ["Button", "OptionButton"]:
		made.set_stylebox("normal", type, box(RAISED, 8, 10))
		made.set_stylebox("hover", type, box(RAISED.lightened(0.12), 8, 10))
		made.set_stylebox("pressed", type, box(RAISED.darkened(0.2), 8, 10))
		made.set_stylebox("disabled", type, box(PANEL, 8, 10))
		made.set_stylebox("focus", type, box(Color.TRANSPARENT, 8, 10, GOLD))
		made.set_color("font_color", type, INK)
	made.set_stylebox("panel", "PanelContainer", box(PANEL, 12, 14))
	for state: String in ["normal", "focus"]:
		made.set_stylebox(state, "LineEdit", box(NIGHT, 8, 8, LINE))
	made.set_stylebox("panel", "TooltipPanel", box(NIGHT, 6, 8, LINE))
	made.set_color("default_color", "RichTextLabel", QUIET)
	return made


## A rounded box.
static func box(fill: Color, radius := 10, margin := 10, edge := Color.TRANSPARENT) -> StyleBoxFlat:
	var made := StyleBoxFlat.new()
	made.bg_color = fill
	made.set_corner_radius_all(radius)
	made.set_content_margin_all(margin)
	if edge.a > 0.0:
		made.border_color = edge
		made.set_border_width_all(2)
	return made


## A line of text, or several if it is to wrap.
static func label(text: String, size := 16, colour := INK, wraps := false) -> Label:
	var made := Label.new()
	made.text = text
	made.add_theme_font_size_override("font_size", size)
	made.add_theme_color_override("font_color", colour)
	if wraps:
		made.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
	return made


## A button; a primary one stands out.
static func button(text: String, action: Callable, primary := false) -> Button:
	var made := Button.new()
	made.text = text
	made.pressed.connect(action)
	if primary:
		for state: String in ["normal", "hover", "pressed"]:
			var fill := GOLD if state == "normal" else GOLD.lightened(0.15)
			made.add_theme_stylebox_override(state, box(fill, 8, 10))
		for state: String in ["font_color", "font_hover_color", "font_pressed_color"]:
			made.add_theme_color_override(state, DARK)
	return made


## A column or a row of parts.
static func stack(parts: Array, row := false, gap := 8) -> BoxContainer:
	var made: BoxContainer = HBoxContainer.new() if row else VBoxContainer.new()
	made.add_theme_constant_override("separation", gap)
	for part: Control in parts:
		made.add_child(part)
	return made


## Whether the window is higher than wide, as on a phone.
static func is_narrow(of: Control) -> bool:
	return of.get_viewport_rect().size.y > of.get_viewport_rect().size.x


## A part with another at its side; in a narrow window with the other below it, and both scroll.
static func page(of: Control, main: Control, side: Control, margin: int) -> void:
	var box := BoxContainer.new()
	box.add_theme_constant_override("separation", margin)
	for part: Control in [main, side]:
		box.add_child(part)
	var scroll := ScrollContainer.new()
	scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	scroll.add_child(grow(box))
	of.add_child(scroll)
	var fit := func() -> void:
		box.vertical = is_narrow(of)
		var edge := 16 if box.vertical else margin
		scroll.set_anchors_and_offsets_preset(Control.PRESET_FULL_RECT, Control.PRESET_MODE_MINSIZE, edge)
	of.resized.connect(fit)
	fit.call()


## Lets a part take the room that is left.
static func grow(part: Control, across := true, down := true) -> Control:
	if across:
		part.size_flags_horizontal = Control.SIZE_EXPAND_FILL
	if down:
		part.size_flags_vertical = Control.SIZE_EXPAND_FILL
	return part


## A panel around a part.
static func panel(part: Control) -> PanelContainer:
	var made := PanelContainer.new()
	made.add_child(part)
	return made


## Removes all children.
static func clear(of: Node) -> void:
	for child: Node in of.get_children():
		of.remove_child(child)
		child.queue_free()


## A name of somebody else: no more than a line of printable text.
static func safe(text: String) -> String:
	return text.strip_edges().strip_escapes().left(32)

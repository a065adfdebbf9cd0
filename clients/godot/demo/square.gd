## A square of the board of Skystones, onto which a card can be dropped.
class_name DemoSquare
extends Control

var board: DemoSkystones
var at := 0
## Whether a placement that is aimed would take the card here.
var threatened := false:
	set(value):
		if value != threatened:
			threatened = value
			queue_redraw()

var _card := ""
var _owner := -1
var _shown_owner := -1
var _field := ""
var _open := false
var _advised := false
var _shift := Vector2.ZERO
var _turn := 1.0
var _over := false


func _ready() -> void:
	mouse_entered.connect(_aim.bind(true))
	mouse_exited.connect(_aim.bind(false))


func _aim(over: bool) -> void:
	_over = over
	var action := board.placing(board.held, at) if over and board.held else {}
	board.preview(board.would_take(board.held, at) if action else ([] as Array[int]))
	queue_redraw()


## Shows a square of a view.
func show_square(square: Dictionary) -> void:
	_card = str(square.card) if square.has("card") else ""
	_owner = square.get("owner", -1) if _card else -1
	_shown_owner = _owner
	_field = str(square.get("field", "")).trim_prefix("SKYSTONES_FIELD_").to_lower()
	threatened = false
	tooltip_text = board.words.title_of(_card) if _card else board.words.text_of("square", at)
	queue_redraw()


## Marks whether the chosen card may go here, or the advised one.
func mark(picked: Array, advised: Array) -> void:
	_open = picked.any(func(card: String) -> bool: return not board.placing(card, at).is_empty())
	_advised = advised.has("square:%d" % at)
	mouse_default_cursor_shape = CURSOR_POINTING_HAND if _open else CURSOR_ARROW
	queue_redraw()


## Lets the card come from somewhere.
func arrive(from: Vector2) -> void:
	z_index = 5
	var tween := create_tween()
	tween.tween_method(func(value: Vector2) -> void:
		_shift = value
		queue_redraw(), from, Vector2.ZERO, 0.4).set_trans(Tween.TRANS_BACK).set_ease(Tween.EASE_OUT)
	tween.tween_callback(func() -> void: z_index = 0)


## Turns the card over to its new owner.
func turn_over(wait: float) -> void:
	_shown_owner = 1 - _owner
	queue_redraw()
	var tween := create_tween()
	tween.tween_interval(wait)
	tween.tween_method(_turn_to, 1.0, 0.0, 0.14)
	tween.tween_callback(func() -> void: _shown_owner = _owner)
	tween.tween_method(_turn_to, 0.0, 1.0, 0.14)


func _turn_to(value: float) -> void:
	_turn = value
	queue_redraw()


func _can_drop_data(_place: Vector2, data: Variant) -> bool:
	var good: bool = data is Dictionary and not board.placing(data.get("card", ""), at).is_empty()
	if good:
		board.preview(board.would_take(data.card, at))
	return good


func _drop_data(_place: Vector2, data: Variant) -> void:
	board.decided.emit(board.placing(data.card, at))


func _notification(what: int) -> void:
	if what == NOTIFICATION_DRAG_END and board:
		board.preview([] as Array[int])


func _gui_input(event: InputEvent) -> void:
	if _open and event is InputEventMouseButton and event.pressed and event.button_index == MOUSE_BUTTON_LEFT:
		board.decided.emit(board.placing(board.held, at))


func _draw() -> void:
	var edge := DemoStyle.LINE
	if _advised:
		edge = DemoStyle.GOLD
	elif _open:
		edge = DemoStyle.MINE
	draw_style_box(DemoStyle.box(DemoStyle.PANEL.lightened(0.08 if _over and _open else 0.0), 12, 0, edge), Rect2(Vector2.ZERO, size))
	var font := get_theme_default_font()
	if not _card:
		var text := board.words.text_of("field", _field) if _field else board.words.text_of("square", at)
		draw_string(font, Vector2(0, size.y / 2 + 6), text, HORIZONTAL_ALIGNMENT_CENTER, size.x, 16, DemoStyle.LINE.lightened(0.2))
		return
	var colour := DemoStyle.MINE if _shown_owner == board.me else DemoStyle.THEIRS
	draw_set_transform(_shift + Vector2(size.x * (1 - _turn) / 2, 0), 0.0, Vector2(maxf(_turn, 0.01), 1))
	var rim := DemoStyle.box(colour, 12, 0)
	rim.shadow_color = Color(0, 0, 0, 0.4)
	rim.shadow_size = 5
	draw_style_box(rim, Rect2(Vector2.ZERO, size).grow(-3))
	var look := board.face.look_of(_card)
	draw_style_box(DemoStyle.box(look[0].lerp(colour, 0.12), 9, 0), Rect2(Vector2.ZERO, size).grow(-8))
	board.face.paint_edges(self, _card, Rect2(Vector2.ZERO, size).grow(-9), 18)
	if threatened:
		draw_style_box(DemoStyle.box(Color(DemoStyle.GOLD, 0.25), 12, 0, DemoStyle.GOLD), Rect2(Vector2.ZERO, size).grow(-3))
	draw_set_transform(Vector2.ZERO)

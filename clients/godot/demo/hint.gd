## The hint, as it grows: what to play, how good it is, and why.
class_name DemoHint
extends VBoxContainer

## The action to play has changed; empty when there is no hint.
signal advised(action: Dictionary)

const _SECONDS := 5.0
const _SHOWN := 4

var seat: CroupierMatch
var words: CroupierWords

var _stream: CroupierStream
var _head := DemoStyle.label("", 14, DemoStyle.QUIET, true)
var _lines := DemoStyle.stack([], false, 6)
var _ask: Button


func _ready() -> void:
	_ask = DemoStyle.button("Hint", ask)
	for part: Control in [_ask, _head, _lines]:
		add_child(part)
	add_theme_constant_override("separation", 8)


## Whether a hint can be asked for now.
func allow(may: bool) -> void:
	_ask.disabled = not may
	_ask.visible = seat.view.get("hintPolicy", "") != "HINT_POLICY_AFTER_END"


## Asks for a hint, which grows on the screen until it is done.
func ask() -> void:
	end()
	_ask.disabled = true
	_head.text = "Thinking…"
	_stream = seat.analyze(_SECONDS)
	_stream.received.connect(_show)
	_stream.ended.connect(func(error: CroupierError) -> void:
		_ask.disabled = not seat.is_your_turn()
		if error:
			_head.text = "No hint: %s" % error.message)


## Takes the hint away, and ends its search.
func end() -> void:
	if _stream:
		_stream.close()
		_stream = null
	_head.text = ""
	DemoStyle.clear(_lines)
	advised.emit({})


func _show(message: Dictionary) -> void:
	var hint: Dictionary = message.get("hint", {})
	var actions: Array = hint.get("actions", [])
	if not _stream or not actions:
		return
	_head.text = "%d %% to win after %s tries" % [
		roundi(100 * hint.get("expectedScore", 0.0)), _grouped(int(hint.get("iterations", 0)))
	]
	while _lines.get_child_count() > _SHOWN:
		_lines.remove_child(_lines.get_child(-1))
	for at: int in mini(_SHOWN, actions.size()):
		if at == _lines.get_child_count():
			_lines.add_child(DemoBar.new())
		var bar := _lines.get_child(at) as DemoBar
		bar.show_action(words.sentence("action", actions[at].action), actions[at])
	while _lines.get_child_count() > mini(_SHOWN, actions.size()):
		_lines.remove_child(_lines.get_child(-1))
	if message.get("finalReport", false):
		for text: String in words.why(hint):
			_lines.add_child(DemoStyle.label(text, 13, DemoStyle.QUIET, true))
	advised.emit(actions[0].action)


func _grouped(number: int) -> String:
	var text := str(number)
	for at: int in range(text.length() - 3, 0, -3):
		text = text.insert(at, ",")
	return text


## One action of a hint: its words over a bar that is as long as it is to be played often.
class DemoBar extends Control:
	var _text := ""
	var _score := ""
	var _share := 0.0
	var _target := 0.0

	func _init() -> void:
		custom_minimum_size.y = 30

	func show_action(text: String, evaluation: Dictionary) -> void:
		_text = text
		_target = evaluation.get("probability", 0.0)
		_score = "%d %%" % roundi(100 * evaluation.expectedScore) if evaluation.has("expectedScore") else ""
		tooltip_text = text
		queue_redraw()

	func _process(delta: float) -> void:
		if absf(_share - _target) > 0.002:
			_share = lerpf(_share, _target, minf(1.0, 10 * delta))
			queue_redraw()

	func _draw() -> void:
		draw_style_box(DemoStyle.box(DemoStyle.NIGHT, 6, 0), Rect2(Vector2.ZERO, size))
		if _share > 0.01:
			var full := Vector2(maxf(12, size.x * _share), size.y)
			draw_style_box(DemoStyle.box(Color(DemoStyle.GOLD, 0.45), 6, 0), Rect2(Vector2.ZERO, full))
		var font := get_theme_default_font()
		draw_string(font, Vector2(8, 20), _text, HORIZONTAL_ALIGNMENT_LEFT, size.x - 62, 14, DemoStyle.INK)
		draw_string(font, Vector2(size.x - 52, 20), _score, HORIZONTAL_ALIGNMENT_RIGHT, 46, 14, DemoStyle.GOLD)

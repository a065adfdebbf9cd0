## The table of a match of any game: both players, the board, the hand, what can be done, and the log.
class_name DemoTable
extends Control

## The player goes back to the lobby.
signal left
## The rematch is to be shown.
signal opened(seat: CroupierMatch)

const _LISTED := 60  # Of many actions; clicks on cards leave fewer.

var seat: CroupierMatch
var words: CroupierWords
var keeper: DemoKeeper

var _board: DemoBoard
var _hand := HBoxContainer.new()
var _cards: Array[DemoCard] = []
var _picked: Array[String] = []
var _advised: Array = []
var _status := DemoStyle.label("", 20, DemoStyle.GOLD, true)
var _link := DemoStyle.label("", 14, DemoStyle.THEIRS, true)
var _names: Array[Label] = []
var _title: Label
var _actions := DemoStyle.stack([], false, 6)
var _scroll := ScrollContainer.new()
var _log := RichTextLabel.new()
var _hint := DemoHint.new()
var _leave: Button
var _resign: Button
var _busy := false


func _ready() -> void:
	_board = DemoSkystones.new() if words.game.name == "games/skystones" else DemoBoard.new()
	_board.words = words
	_board.card_chosen.connect(_pick)
	_board.decided.connect(decide)
	_hint.seat = seat
	_hint.words = words
	_hint.advised.connect(_on_advised)
	_hand.alignment = BoxContainer.ALIGNMENT_CENTER
	_log.scroll_following = true
	_log.fit_content = false
	_log.add_theme_font_size_override("normal_font_size", 13)
	for each: int in 2:
		_names.append(DemoStyle.label("", 18))
	_names[1].vertical_alignment = VERTICAL_ALIGNMENT_CENTER
	_leave = DemoStyle.button("Lobby", func() -> void: left.emit())
	_resign = DemoStyle.button("Resign", _on_resign)
	_title = DemoStyle.label(words.game.title, 22, DemoStyle.GOLD)
	var top := DemoStyle.stack([
		_title, DemoStyle.grow(_names[1], true, false), _resign, _leave
	], true, 24)
	var hands := ScrollContainer.new()
	hands.vertical_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	hands.custom_minimum_size.y = DemoCard.SIZE.y + 34
	hands.add_child(DemoStyle.grow(_hand))
	var main := DemoStyle.stack([
		DemoStyle.panel(top), DemoStyle.grow(_board), _names[0], hands
	], false, 10)
	_scroll.horizontal_scroll_mode = ScrollContainer.SCROLL_MODE_DISABLED
	_scroll.size_flags_stretch_ratio = 1.6
	_scroll.add_child(DemoStyle.grow(_actions, true, false))
	var side := DemoStyle.panel(DemoStyle.stack([
		_status, _link, DemoStyle.grow(_scroll), _hint, DemoStyle.label("So far", 13, DemoStyle.QUIET),
		DemoStyle.grow(_log)
	], false, 10))
	side.custom_minimum_size.x = 340
	DemoStyle.page(self, DemoStyle.grow(main), side, 16)
	resized.connect(_fit)
	_fit()
	seat.view_changed.connect(_on_view_changed)
	seat.ended.connect(_on_ended)
	seat.connection_changed.connect(func(stands: bool) -> void:
		_link.text = "" if stands or seat.view.has("result") else "The connection is lost. Trying again…")
	seat.failed.connect(func(error: CroupierError) -> void:
		_link.text = error.message
		_list([DemoStyle.button("Try again", seat.follow, true)]))
	seat.follow()


func _fit() -> void:
	var narrow := DemoStyle.is_narrow(self)
	_title.visible = not narrow
	_board.custom_minimum_size.y = 500.0 if narrow else 0.0
	_scroll.custom_minimum_size.y = 180.0 if narrow else 0.0
	_log.custom_minimum_size.y = 140.0 if narrow else 0.0


func _process(_delta: float) -> void:
	_link.visible = _link.text != ""
	var time := seat.seconds_left(seat.seat) if seat.seat >= 0 else INF
	if time < INF and seat.is_your_turn():
		_status.text = "Your turn: %d:%02d" % [int(time) / 60, int(time) % 60]


func _on_view_changed(view: Dictionary, events: Array) -> void:
	words.me = seat.seat
	_board.me = maxi(seat.seat, 0)
	words.names = [0, 1].map(_called)
	for event: Dictionary in events:
		var text := words.sentence("event", event)
		if text:
			_log.add_text(text + "\n")
	_picked.clear()
	_hint.end()
	var layout := DemoLayout.of(words, view, _board.me)
	for number: int in 2:
		var of := _board.me if number == 0 else 1 - _board.me
		var score := layout.scores[of]
		_names[number].text = CroupierWords.capital(words.who(of)) + ("   %s" % score if score else "")
		_names[number].add_theme_color_override("font_color", DemoStyle.MINE if number == 0 else DemoStyle.THEIRS)
	if words.inner_of(view) != view:
		_board.show_view(view, events)
		_show_hand(layout.hand)
	_offer()


# The name that a player gave is a stranger's text, and "you" comes from the catalog.
func _called(of: int) -> String:
	if of == seat.seat:
		return words.word("word.you")
	var players: Array = seat.view.get("players", [{}, {}])
	var player: Dictionary = players[of] if of < players.size() else {}
	if player.has("bot"):
		return words.word("word.bot")
	var name := DemoStyle.safe(player.get("displayName", ""))
	return name if name else words.word("word.friend")


func _show_hand(groups: Array) -> void:
	DemoStyle.clear(_hand)
	_cards.clear()
	for group: Dictionary in groups:
		var row := HBoxContainer.new()
		var many: int = group.cards.size()
		var step := minf(DemoCard.SIZE.x + 6, (_board.size.x - DemoCard.SIZE.x - 8) / maxf(1, many - 1))
		row.add_theme_constant_override("separation", floori(step - DemoCard.SIZE.x))
		for id: String in group.cards:
			var card := DemoCard.make(words, id)
			card.chosen.connect(_pick)
			_board.dress(card)
			_cards.append(card)
			row.add_child(card)
		_hand.add_child(DemoStyle.stack([DemoStyle.label(group.title, 13, DemoStyle.QUIET), row], false, 10))


## The cards that an action names, each as often as it does.
func cards_in(action: Dictionary) -> Array[String]:
	var found: Array[String] = []
	var inner := words.inner_of(action)
	var kind := words.kind_of(inner)
	for source: Dictionary in [inner, inner.get(kind, {}) if kind else {}]:
		for key: String in source:
			found.append_array(words.cards_of(key.to_snake_case(), source[key]))
	# JSON leaves out card 0.
	if kind and not found and words.cards.has("0") and not inner[kind].has("card") \
			and "{card}" in words.game.phrases.get("action." + kind.to_snake_case(), ""):
		found.append("0")
	return found


func _fitting() -> Array:
	return seat.view.get("legalActions", []).filter(func(action: Dictionary) -> bool:
		var named := cards_in(action)
		return _picked.all(func(card: String) -> bool: return card in named))


## Shows what can be done: the cards that are part of it, and the actions by their words.
func _offer() -> void:
	var turn := seat.is_your_turn() and not _busy
	var fitting := _fitting() if turn else []
	var offered: Array[String] = []
	for action: Dictionary in fitting:
		offered.append_array(cards_in(action))
	_board.legal = fitting
	_board.held = _picked[0] if _picked else ""
	_mark_board(offered)
	for card: DemoCard in _cards:
		card.offered = card.card in offered
		card.picked = card.card in _picked
		card.advised = card.card in _advised
	_hint.allow(turn)
	_resign.disabled = seat.view.has("result")
	if seat.view.has("result"):
		return
	_status.text = "Your turn" if turn else _waits_for()
	var parts: Array = []
	if _picked:
		parts.append(DemoStyle.button("Choose anew", func() -> void:
			_picked.clear()
			_offer()))
	for action: Dictionary in fitting.slice(0, _LISTED):
		var button := DemoStyle.button(words.sentence("action", action), decide.bind(action), fitting.size() == 1)
		button.alignment = HORIZONTAL_ALIGNMENT_LEFT
		button.autowrap_mode = TextServer.AUTOWRAP_WORD_SMART
		parts.append(button)
	if fitting.size() > _LISTED:
		parts.append(DemoStyle.label("%d more: choose cards" % (fitting.size() - _LISTED), 14, DemoStyle.QUIET))
	_list(parts)


func _waits_for() -> String:
	if words.inner_of(seat.view) == seat.view and not seat.view.get("deciders", []):
		var kept := keeper.match_kept(seat.match_name)
		if kept.get("invitation", ""):
			return "Waiting for your friend. The invitation is on the clipboard."
		return "Waiting for the deal"
	return "%s to play" % CroupierWords.capital(words.who(1 - _board.me))


func _list(parts: Array) -> void:
	DemoStyle.clear(_actions)
	for part: Control in parts:
		_actions.add_child(part)


func _pick(card: String) -> void:
	if card in _picked:
		_picked.erase(card)
	else:
		_picked.append(card)
		if not _fitting():
			_picked.assign([card])
	var fitting := _fitting()
	# A card that says everything is played at once.
	if fitting.size() == 1 and words.game.name == "games/skystones":
		decide(fitting[0])
	else:
		_offer()


## Submits a decision. It may be repeated for a while; the answer is the view after it.
func decide(action: Dictionary) -> void:
	if _busy or not action:
		return
	_busy = true
	_hint.end()
	_offer()
	var reply := await seat.submit(action)
	_busy = false
	_link.text = "" if reply.ok or reply.error.reason == "STALE_VERSION" else reply.error.message
	_offer()


func _on_advised(action: Dictionary) -> void:
	_advised = cards_in(action) if action else []
	var place: Dictionary = action.get("skystones", {}).get("placeCard", {})
	if place:
		_advised.append("square:%d" % place.get("square", 0))
	if is_inside_tree() and not seat.view.has("result"):
		_mark_board(_offered_cards())
		for card: DemoCard in _cards:
			card.advised = card.card in _advised


# What lies in the hand is chosen there.
func _mark_board(offered: Array) -> void:
	var held := _cards.map(func(card: DemoCard) -> String: return card.card)
	var elsewhere := func(card: String) -> bool: return card not in held
	_board.mark(offered.filter(elsewhere), _picked, _advised.filter(elsewhere))


func _offered_cards() -> Array[String]:
	var offered: Array[String] = []
	for action: Dictionary in _board.legal:
		offered.append_array(cards_in(action))
	return offered


func _on_resign() -> void:
	var reply := await seat.resign()
	if not reply.ok:
		_link.text = reply.error.message


func _on_ended(result: Dictionary) -> void:
	keeper.forget_match(seat.match_name)
	var scores: Array = result.get("scores", [])
	var mine: float = scores[_board.me] if scores else 0.5
	_status.text = "You won" if mine > 0.5 else ("You lost" if mine < 0.5 else "A draw")
	_hint.end()
	_link.text = ""
	_list([
		DemoStyle.label(words.over_sentence(seat.view), 15, DemoStyle.QUIET, true),
		DemoStyle.button("Rematch", _on_rematch, true),
		DemoStyle.button("Lobby", func() -> void: left.emit())
	])


func _on_rematch() -> void:
	var reply := await seat.rematch()
	if reply.ok:
		var next := seat.client.seat_of(reply.value)
		keeper.keep_match(next.match_name, next.token, words.game.name.trim_prefix("games/"))
		opened.emit(next)
	else:
		_link.text = reply.error.message

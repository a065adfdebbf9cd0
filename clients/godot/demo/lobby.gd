## The lobby: the games of the server, against whom, invitations, and matches that wait.
class_name DemoLobby
extends Control

## A match is to be shown.
signal opened(seat: CroupierMatch, game: Dictionary)

const _STRENGTHS: Array[String] = ["BEGINNER", "CASUAL", "REGULAR", "SKILLED", "EXPERT"]

var client: CroupierClient
var keeper: DemoKeeper

var _games := {}  # By name.
var _tiles := GridContainer.new()
var _kept := VBoxContainer.new()
var _says := DemoStyle.label("", 15, DemoStyle.QUIET, true)
var _strength := OptionButton.new()
var _address := LineEdit.new()
var _invitation := LineEdit.new()
var _player := LineEdit.new()


func _ready() -> void:
	for each: String in _STRENGTHS:
		_strength.add_item("Bot: " + each.capitalize())
	_strength.add_item("A friend, by invitation")
	_strength.select(1)
	_address.text = client.url
	_address.text_submitted.connect(func(text: String) -> void:
		client.url = text.strip_edges()
		keeper.keep("url", client.url)
		load_games())
	_player.text = keeper.kept("player", "")
	_player.placeholder_text = "Your name"
	_player.max_length = 32
	_player.text_changed.connect(func(text: String) -> void: keeper.keep("player", text))
	_invitation.placeholder_text = "An invitation of a friend"
	_invitation.text_submitted.connect(func(_text: String) -> void: join())
	for gap: String in ["h_separation", "v_separation"]:
		_tiles.add_theme_constant_override(gap, 14)
	var title := DemoStyle.stack([
		DemoStyle.label("Croupier", 44, DemoStyle.GOLD),
		DemoStyle.label("Card games in which nobody sees all cards", 18, DemoStyle.QUIET)
	], false, 0)
	var left := DemoStyle.stack([title, DemoStyle.grow(_tiles, true, false), _says], false, 18)
	var right := DemoStyle.stack([
		DemoStyle.label("Server", 14, DemoStyle.QUIET), _address,
		DemoStyle.label("You", 14, DemoStyle.QUIET), _player,
		DemoStyle.label("Against", 14, DemoStyle.QUIET), _strength,
		DemoStyle.label("Join a friend", 14, DemoStyle.QUIET), _invitation,
		DemoStyle.button("Join", join),
		DemoStyle.label("Matches that wait", 14, DemoStyle.QUIET), DemoStyle.grow(_kept)
	], false, 8)
	var side := DemoStyle.panel(right)
	side.custom_minimum_size.x = 320
	DemoStyle.page(self, DemoStyle.grow(left), side, 36)
	resized.connect(_fit)
	_fit()
	load_games()


func _fit() -> void:
	_tiles.columns = 1 if DemoStyle.is_narrow(self) else 2


## Asks the server for its games.
func load_games() -> void:
	_says.text = "Looking for the server…"
	DemoStyle.clear(_tiles)
	show_kept()
	var reply := await client.list_games()
	if not reply.ok:
		_says.text = "No server at %s: %s\nStart one with `croupier serve`, or write another address." % [client.url, reply.error.message]
		return
	_says.text = ""
	for game: Dictionary in reply.value.get("games", []):
		_games[game.name] = game
		_tiles.add_child(_tile(game))
	show_kept()


func _tile(game: Dictionary) -> Control:
	var about := str(game.get("rules", "")).get_slice("\n", 0)
	var text := DemoStyle.label(about, 14, DemoStyle.QUIET, true)
	text.max_lines_visible = 3
	text.text_overrun_behavior = TextServer.OVERRUN_TRIM_WORD_ELLIPSIS
	var id: String = game.name.trim_prefix("games/")
	var play := DemoStyle.button("Play", start.bind(id), true)
	play.size_flags_horizontal = SIZE_SHRINK_BEGIN
	play.custom_minimum_size.x = 96
	var fan := Control.new()
	fan.custom_minimum_size = Vector2(128, 116)
	_deal(id, fan)
	var tile := DemoStyle.panel(DemoStyle.stack([
		DemoStyle.label(game.title, 24),
		DemoStyle.grow(DemoStyle.stack([DemoStyle.grow(text), fan], true, 12)), play
	], false, 10))
	tile.custom_minimum_size = Vector2(300, 240)
	return DemoStyle.grow(tile, true, false)


# A few cards of a game, as a hand.
func _deal(id: String, fan: Control) -> void:
	var reply := await client.get_game(id)
	if not reply.ok or not is_instance_valid(fan):
		return
	var words := CroupierWords.new(reply.value.game)
	var face := DemoSkystonesCard.new(words) if id == "skystones" else null
	fan.set_meta("face", face)  # What draws the cards lives as long as they do.
	var ids: Array = words.cards.keys()
	for at: int in mini(3, ids.size()):
		var card := DemoCard.make(words, ids[at * (ids.size() - 1) / 2], 0.78)
		if id == "skystones":
			card.painter = face.paint
		card.mouse_filter = MOUSE_FILTER_IGNORE
		card.pivot_offset = Vector2(36, 160)
		card.rotation = 0.14 * (at - 1)
		card.position = Vector2(28 + 14 * (at - 1), 6)
		fan.add_child(card)


## Creates a match and opens it.
func start(game: String) -> void:
	_says.text = "Dealing…"
	var friend := _strength.selected == _STRENGTHS.size()
	var me := CroupierClient.OPEN.duplicate()
	if _player.text.strip_edges():
		me.displayName = _player.text.strip_edges()
	var other: Dictionary = CroupierClient.INVITED if friend else CroupierClient.bot(_STRENGTHS[_strength.selected])
	var created := await client.create_match(game, [me, other])
	if not created.ok:
		_says.text = created.error.message
		return
	var seat := client.seat_of(created.value)
	var invitation := ""
	if friend:
		invitation = created.value.invitations[0].invitation
		DisplayServer.clipboard_set(invitation)
	keeper.keep_match(seat.match_name, seat.token, game, invitation)
	open(seat, game)


## Joins with the invitation that was pasted. What the call needs to be repeated is kept before it.
func join() -> void:
	var invitation := _invitation.text.strip_edges()
	var shown := await client.get_invitation(invitation)
	if not shown.ok:
		_says.text = "The invitation cannot be used: %s" % shown.error.message
		return
	var key := "join " + invitation.sha256_text()
	var request_id: String = keeper.kept(key, CroupierClient.new_id())
	keeper.keep(key, request_id)
	var joined := await client.join_match(invitation, _player.text.strip_edges(), request_id)
	if not joined.ok:
		_says.text = joined.error.message
		return
	keeper.forget(key)
	var seat := client.seat_of(joined.value)
	var game := _game_of(shown.value.get("ruleset", {}))
	keeper.keep_match(seat.match_name, seat.token, game)
	open(seat, game)


func _game_of(ruleset: Dictionary) -> String:
	for key: String in ruleset:
		if key != "packaged":
			return key.to_snake_case()
	var type := str(ruleset.get("packaged", {}).get("@type", ""))
	var ids: Array = _games.keys().map(func(each: String) -> String: return each.trim_prefix("games/"))
	for id: String in ids:
		if ("/%s." % id) in type:
			return id
	return ""


## Opens a match of a game, such as one of an earlier run.
func open(seat: CroupierMatch, game: String) -> void:
	var described := await client.get_game(game)
	if described.ok:
		opened.emit(seat, described.value.game)
	else:
		_says.text = described.error.message


## Shows the matches of earlier runs that are not over.
func show_kept() -> void:
	DemoStyle.clear(_kept)
	for each: Dictionary in keeper.matches():
		var title: String = _games.get("games/" + each.game, {"title": each.game.capitalize()}).title
		_kept.add_child(DemoStyle.button(title, func() -> void:
			open(client.match_of(each.name, each.token), each.game)))
	if _kept.get_child_count() == 0:
		_kept.add_child(DemoStyle.label("None", 15, DemoStyle.LINE))

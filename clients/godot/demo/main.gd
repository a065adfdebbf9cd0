## The demo: the lobby, and a table for the match that is open.
extends Control

var client := CroupierClient.new()
var keeper := DemoKeeper.new()


func _ready() -> void:
	theme = DemoStyle.theme()
	var ground := ColorRect.new()
	ground.color = DemoStyle.NIGHT
	ground.set_anchors_preset(PRESET_FULL_RECT)
	add_child(ground)
	get_window().size_changed.connect(_fit)
	_fit()
	client.url = keeper.kept("url", client.url)
	for given: String in OS.get_cmdline_user_args():
		if given.begins_with("http"):
			client.url = given
	add_child(client)
	show_lobby()


# A window that is higher than wide, as on a phone, shows less side by side, so that it can be read.
func _fit() -> void:
	var window := get_window()
	window.content_scale_size = Vector2i(430, 800) if window.size.y > window.size.x else Vector2i(1280, 800)


## Shows the lobby.
func show_lobby() -> void:
	var lobby := DemoLobby.new()
	lobby.client = client
	lobby.keeper = keeper
	lobby.opened.connect(show_table)
	_show(lobby)


## Shows a match.
func show_table(seat: CroupierMatch, game: Dictionary) -> void:
	var table := DemoTable.new()
	table.seat = seat
	table.words = CroupierWords.new(game)
	table.keeper = keeper
	table.left.connect(func() -> void:
		seat.queue_free()
		show_lobby())
	table.opened.connect(func(next: CroupierMatch) -> void:
		seat.queue_free()
		show_table(next, game))
	_show(table)


func _show(screen: Control) -> void:
	for child: Node in get_children():
		if child is DemoLobby or child is DemoTable:
			child.queue_free()
	screen.set_anchors_preset(PRESET_FULL_RECT)
	screen.modulate.a = 0.0
	add_child(screen)
	screen.create_tween().tween_property(screen, "modulate:a", 1.0, 0.2)

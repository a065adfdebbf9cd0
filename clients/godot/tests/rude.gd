## Calls a server that is rude (tests/support/rude.py), and prints what came of each of its answers.
##
##     godot --headless --script res://tests/rude.gd
extends SceneTree

const AT_ONCE := 16

var table: Dictionary
var running := 0


func _initialize() -> void:
	table = JSON.parse_string(FileAccess.get_file_as_string("res://rude.json"))
	run.call_deferred()


func run() -> void:
	var rows: Array = table.rows
	await at_once(func() -> void:
		while rows:
			await call_row(rows.pop_front()))
	var mutants := range(int(table.mutants))
	await at_once(func() -> void:
		while mutants:
			await call_mutant("%smutant-%d" % [table.here, mutants.pop_front()]))
	var other := client_of(table.here + "flowing", 600.0, 600.0)
	while (await other.ask("S/M")).value.flowing > 0:
		await process_frame
	print("done")
	quit()


func at_once(work: Callable) -> void:
	for lane: int in AT_ONCE:
		count(work)
	while running > 0:
		await process_frame


func count(work: Callable) -> void:
	running += 1
	await work.call()
	running -= 1


func client_of(url: String, seconds: float, patience: float) -> CroupierClient:
	var client := CroupierClient.new()
	client.url = url
	client.patience = patience
	client.call_seconds = seconds
	root.add_child(client)
	return client


func call_row(row: Dictionary) -> void:
	var client := client_of(row.url, row.seconds, row.patience)
	var told := [0]
	var retried := [0]
	client.retried.connect(func(_error: CroupierError) -> void: retried[0] += 1)
	var turns: Array[int] = []
	var error: CroupierError
	if row.call == "unary":
		error = (await client.ask("S/M", {}, "secret")).error
	elif row.call == "stream":
		var stream := client.open("S/M", {}, "secret", row.seconds)
		stream.received.connect(func(_message: Dictionary) -> void: told[0] += 1)
		error = (await stream.finish()).error
	else:
		error = await follow(client.match_of("matches/a", "secret"), turns)
	print(JSON.stringify({
		"name": row.name, "code": error.code if error else "ok", "reason": error.reason if error else "",
		"message": error.message if error else "", "mayPass": error.may_pass() if error else false,
		"told": told[0], "retried": retried[0], "turns": turns
	}))
	client.queue_free()


func follow(seat: CroupierMatch, turns: Array[int]) -> CroupierError:
	var newest := [0]
	var over := [null, false]
	seat.your_turn.connect(func(view: Dictionary) -> void: turns.append(int(view.version)))
	seat.view_changed.connect(func(_view: Dictionary, _events: Array) -> void:
		if seat.version() < newest[0]:
			print("FAULT an older view")
		newest[0] = seat.version())
	seat.failed.connect(func(error: CroupierError) -> void: over.assign([error, true]))
	seat.ended.connect(func(_result: Dictionary) -> void: over[1] = true)
	seat.follow()
	while not over[1]:
		await process_frame
	return over[0]


## Makes all calls of a seat and of a client: none may stop in the middle of what it does.
func call_mutant(url: String) -> void:
	var client := client_of(url, 600.0, 0.0)
	var seat := client.match_of("matches/a", "t")
	for call_: Callable in [
		client.create_match.bind("a", []), client.join_match.bind("i"), client.get_invitation.bind("i"),
		client.list_games, client.get_game.bind("a"), client.list_puzzles.bind("a"),
		client.get_puzzle.bind("a"), client.solve_puzzle.bind("a", {}), seat.submit.bind({}), seat.resign,
		seat.abort, seat.cancel_decisions_ahead, seat.suggest, seat.rematch, seat.replace_token
	]:
		var reply: CroupierReply = await call_.call()
		if reply == null:
			print("FAULT %s: %s ended in the middle" % [url, call_])
		elif reply.ok:
			client.seat_of(reply.value).free()
			seat.seconds_left(0)
	for stream: CroupierStream in [seat.analyze(), seat.review()]:
		await stream.finish()
	await seat.follow()
	while seat._stream:
		await process_frame
	if not seat.token:
		print("FAULT %s: the token is lost" % url)
	client.queue_free()

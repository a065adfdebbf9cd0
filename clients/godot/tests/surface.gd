## Calls what a whole match by bots does not: invitations, names, presence, decisions ahead, other
## tokens, rematches, spectators, reviews, puzzles and errors. Prints a line for each fault, and "done".
##
##     godot --headless --script res://tests/surface.gd -- URL
extends SceneTree

var client := CroupierClient.new()


func _initialize() -> void:
	client.url = OS.get_cmdline_user_args()[0]
	client.patience = 5.0
	root.add_child(client)
	run.call_deferred()


func check(holds: bool, what: String) -> void:
	if not holds:
		print("FAULT ", what)


func run() -> void:
	await errors()
	await friends()
	await ahead()
	await paused()
	await puzzles()
	await freed()
	print("done")
	quit()


func errors() -> void:
	var none := await client.get_game("whist")
	check(none.error.reason == "GAME_NOT_FOUND" and none.error.code == "not_found", "an unknown game")
	check(none.error.metadata.get("game") == "games/whist", "the metadata of an error: %s" % none.error.metadata)
	var bad := await client.ask("CatalogService/GetGame", {"name": "?"})
	check(bad.error.reason == "INVALID_FIELD" and bad.error.fields[0].field == "name", "a field at fault")
	var path := await client.ask("CatalogService/GetNothing")
	check(not path.ok and not path.error.may_pass(), "no such method: %s" % path.error)
	var token := await client.match_of("matches/none", "bad\ntoken").ask("GetView")
	check(token.error.code == "unauthenticated", "a token that no header can carry")
	var nobody := CroupierClient.new()
	nobody.url = "http://127.0.0.1:9"
	nobody.patience = 0.5
	root.add_child(nobody)
	var alone := await nobody.list_games()
	check(alone.error.code == "unavailable" and not alone.error.reason, "no server: %s" % alone.error)
	check((await client.list_games("de")).value.games[0].languageCode == "de", "another language")


func friends() -> void:
	var created := await client.create_match("skystones", [
		CroupierClient.OPEN.merged({"displayName": "Ada"}), CroupierClient.INVITED
	])
	var ada := client.seat_of(created.value)
	var invitation: String = created.value.invitations[0].invitation
	var shown := await client.get_invitation(invitation)
	check(shown.value.players[0].displayName == "Ada", "who invites")
	await ada.follow()
	check(ada.version() == 0 and not ada.is_your_turn(), "nothing is dealt yet")
	var request_id := CroupierClient.new_id()
	var joined := await client.join_match(invitation, "Bob", request_id)
	check((await client.join_match(invitation, "Bob", request_id)).value == joined.value, "joined twice alike")
	check((await client.join_match(invitation)).error.reason == "INVITATION_USED", "a used invitation")
	var bob := client.seat_of(joined.value)
	bob.follow()
	if not ada.is_your_turn():
		await ada.your_turn
	check(ada.seat == 0 and ada.view.players[1].displayName == "Bob", "who has joined")
	if ada.other_seat != "SEAT_PRESENCE_HERE":
		await ada.presence_changed
	check(ada.other_seat == "SEAT_PRESENCE_HERE", "who is there: %s" % ada.other_seat)
	var old := ada.token
	check((await ada.replace_token()).ok and ada.token != old, "a new token")
	check((await client.match_of(ada.match_name, old).ask("GetView")).error.reason == "TOKEN_REPLACED", "the old one")
	var watcher := client.match_of(ada.match_name, created.value.spectatorToken)
	watcher.follow()
	await watcher.view_changed
	check(watcher.seat == -1 and not watcher.is_your_turn(), "a spectator")
	if bob.view.is_empty():
		await bob.view_changed
	check((await ada.analyze(0.2).finish()).error.reason == "HINTS_NOT_ALLOWED", "no hints between people")
	var over := [0]
	for each: CroupierMatch in [ada, bob, watcher]:
		each.ended.connect(func(_result: Dictionary) -> void: over[0] += 1)
	check((await bob.resign()).ok, "to resign")
	while over[0] < 3:
		await process_frame
	check(ada.view.result.scores == [1, 0], "who has won: %s" % ada.view.result)
	check((await ada.rematch()).ok, "an offer")
	var next := client.seat_of((await bob.rematch()).value)
	await next.follow()
	check(next.seat == 0, "the seats are exchanged")
	check((await next.abort()).value.view.result.reason == "END_REASON_ABORTED", "to abort")


func ahead() -> void:
	var created := await client.create_match("skystones", [CroupierClient.OPEN, CroupierClient.OPEN])
	var first := client.seat_of(created.value)
	var second := client.seat_of(created.value, 1)
	await first.follow()
	await second.follow()
	var actions: Array = first.view.legalActions
	check((await first.submit(actions[0], [actions[1], actions[2]])).ok, "to decide ahead")
	check(first.view.decisionsAhead.actions.size() == 2 and not first.is_your_turn(), "what waits")
	await second.submit(second.view.legalActions[0])
	while first.view.skystones.get("hand", []).size() < 1 or first.view.get("decisionsAhead", {}).get("actions", []).size() > 1:
		await process_frame
	check((await first.cancel_decisions_ahead()).ok, "to take them back")
	check(first.view.get("decisionsAhead", {}).get("actions", []).is_empty(), "nothing waits any more")
	var stale := await first.ask("SubmitAction", {
		"expectedVersion": "999", "action": actions[0], "requestId": "x"
	})
	check(stale.error.reason in ["STALE_VERSION", "NOT_TO_DECIDE"], "a version of nothing: %s" % stale.error)
	await first.resign()
	var reports := [0]
	var review := first.review({"iterations": 100, "deepIterations": 100})
	review.received.connect(func(_message: Dictionary) -> void: reports[0] += 1)
	var judged := await review.finish()
	check(judged.ok and reports[0] > 0, "a review: %s" % judged.error)
	var stopped := first.review()
	stopped.close()
	check((await stopped.finish()).ok and stopped.closed, "a closed stream")


## A turn is told once, whatever is offered, and again when a pause is over.
func paused() -> void:
	var clock := {"timeControl": {"perDecision": "600s"}}
	var created := await client.create_match("skystones", [CroupierClient.OPEN, CroupierClient.OPEN], clock)
	var mine := client.seat_of(created.value)
	var theirs := client.seat_of(created.value, 1)
	await mine.follow()
	if not mine.is_your_turn():
		mine = theirs
		theirs = client.seat_of(created.value)
	var asked: Array[int] = []
	mine = client.match_of(mine.match_name, mine.token)  # That was not asked yet.
	mine.your_turn.connect(func(view: Dictionary) -> void: asked.append(int(view.get("version", "0"))))
	await mine.follow()
	var at := mine.version()
	var action: Dictionary = mine.view.legalActions[0]
	await theirs.ask("MakeOffer", {"kind": "OFFER_KIND_PAUSE"})
	await mine.ask("AnswerOffer", {"offerVersion": str(at + 1), "agree": true})
	while mine.version() < at + 2:
		await process_frame
	var refused := await mine.submit(action)
	check(refused.error.reason == "MATCH_PAUSED" and refused.error.is_late(), "paused: %s" % refused.error)
	await theirs.ask("ResumeMatch")
	while mine.version() < at + 3:
		await process_frame
	check(asked == [at, at + 3], "asked at %s" % [asked])
	await theirs.resign()


func puzzles() -> void:
	var list := await client.list_puzzles("skystones")
	var puzzle: Dictionary = (await client.get_puzzle(list.value.puzzles[0].name)).value.puzzle
	var answer := await client.solve_puzzle(puzzle.name, puzzle.view.legalActions[0])
	check(answer.ok and answer.value.hint.has("action"), "a puzzle")
	var right := await client.solve_puzzle(puzzle.name, answer.value.hint.action)
	check(right.value.get("correct", false), "its answer")
	var hint := await client.ask("HintService/SuggestAction", {"search": {"view": puzzle.view, "limits": {"iterations": "100"}}})
	check(hint.ok, "a hint for a view that came as JSON: %s" % hint.error)


## Whatever is freed while it waits ends what it has begun, and nothing else.
func freed() -> void:
	var other := CroupierClient.new()
	other.url = client.url
	root.add_child(other)
	var created := await other.create_match("skystones", [CroupierClient.OPEN, CroupierClient.bot("RANDOM")])
	var seat := other.seat_of(created.value)
	await seat.follow()
	var stays := client.match_of(seat.match_name, seat.token)
	await stays.follow()
	seat.analyze(5.0)
	seat.submit(seat.view.legalActions[0])
	await process_frame
	seat.free()
	await process_frame
	other.list_games()
	other.match_of(created.value.name, stays.token).follow()
	await process_frame
	other.free()
	while stays.version() == 0:
		await process_frame
	stays.analyze(5.0).close()
	check((await stays.resign()).ok, "what goes on beside what was freed")

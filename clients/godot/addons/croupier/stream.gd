## A stream of messages, which is opened again when it breaks. [CroupierClient] makes it.
##
## It lives until it has [signal ended] or is closed, whether anybody keeps it or not.
class_name CroupierStream
extends RefCounted

## A message has come.
signal received(message: Dictionary)
## The connection is lost, and the stream will be opened again.
signal broke(error: CroupierError)
## Nothing more comes. [param error] is null if the server has said all, or the stream was closed.
signal ended(error: CroupierError)

## The request, by which the stream is opened again: whoever follows a match writes into it what it
## has.
var request: Dictionary
## Whether the stream has ended or was closed.
var closed := false
## The last message; empty before the first.
var last := {}

var _exchange: CroupierExchange


func _init(request_: Dictionary) -> void:
	request = request_


## Ends the stream, and what the server does for it, such as a search.
func close() -> void:
	closed = true
	if _exchange:
		_exchange.cancel()


## Waits for the end; returns the last message, or the error.
func finish() -> CroupierReply:
	var error: CroupierError = null
	if not closed:
		error = await ended
	return CroupierReply.new(last, error)

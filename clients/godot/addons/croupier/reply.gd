## The outcome of a call: what the server has answered, or why it has not.
class_name CroupierReply
extends RefCounted

## The answer, with the schema's names in JSON; empty if there is an error.
var value: Dictionary
## Why the call has failed; null if it has not.
var error: CroupierError
## Whether the call has succeeded.
var ok: bool:
	get:
		return error == null


func _init(value_ := {}, error_: CroupierError = null) -> void:
	value = value_
	error = error_


## A message within the answer; empty if it is not there, as in the answer of some other server.
func part(key: String) -> Dictionary:
	return CroupierJson.part(value, key)

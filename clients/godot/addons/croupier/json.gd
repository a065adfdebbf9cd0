## JSON as the server speaks it, in which Godot would make a float of each number.
class_name CroupierJson
extends RefCounted


## Reads a text in UTF-8; returns null for what is no JSON. Whole numbers are ints.
static func read(bytes: PackedByteArray) -> Variant:
	var json := JSON.new()
	if json.parse(bytes.get_string_from_utf8()) != OK:
		return null
	return whole(json.data)


## Makes ints of all whole numbers within, so that [code]0 in view.deciders[/code] holds.
static func whole(value: Variant) -> Variant:
	match typeof(value):
		TYPE_FLOAT:
			return int(value) if value == floorf(value) and absf(value) < 9e15 else value
		TYPE_DICTIONARY:
			for key: Variant in value:
				value[key] = whole(value[key])
		TYPE_ARRAY:
			for at: int in value.size():
				value[at] = whole(value[at])
	return value

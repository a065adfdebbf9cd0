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
	var made := [value]
	var left: Array = [made]  # A loop, as a peer may nest deeper than calls can.
	while left:
		var outer: Variant = left.pop_back()
		for key: Variant in outer if outer is Dictionary else range(outer.size()):
			var inner: Variant = outer[key]
			if inner is float and inner == floorf(inner) and absf(inner) < 9e15:
				outer[key] = int(inner)
			elif inner is Dictionary or inner is Array:
				left.append(inner)
	return made[0]


# Whatever a peer has said, these read it: nothing else trusts the type of a value of a message.

## A number of a message, also a 64-bit one, which is a text; what is 0 is left out.
static func number(of: Dictionary, key: String, none := 0) -> int:
	var value: Variant = of.get(key)
	return int(value) if value is int or value is String else none


## A text of a message.
static func text(of: Dictionary, key: String, none := "") -> String:
	return of[key] if of.get(key) is String else none


## A message within a message; empty if there is none.
static func part(of: Dictionary, key: String) -> Dictionary:
	return of[key] if of.get(key) is Dictionary else {}


## The messages of a list.
static func parts(of: Dictionary, key: String) -> Array:
	return of[key].filter(func(each: Variant) -> bool: return each is Dictionary) \
		if of.get(key) is Array else []

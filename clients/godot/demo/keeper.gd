## What outlives a run of the demo: settings, and the matches with their tokens.
##
## A token is the seat, so the file is encrypted with a key of this machine. That keeps it from other
## programs' eyes, not from somebody who has the machine (docs/godot.md).
class_name DemoKeeper
extends RefCounted

const _PATH := "user://demo.cfg"

var _file := ConfigFile.new()


func _init() -> void:
	_file.load_encrypted_pass(_PATH, _key())


func _key() -> String:
	return OS.get_unique_id() if OS.has_feature("pc") else "browser"


func _save() -> void:
	_file.save_encrypted_pass(_PATH, _key())


## A setting.
func kept(key: String, otherwise: Variant) -> Variant:
	return _file.get_value("settings", key, otherwise)


## Keeps a setting.
func keep(key: String, value: Variant) -> void:
	_file.set_value("settings", key, value)
	_save()


## Forgets a setting.
func forget(key: String) -> void:
	keep(key, null)


## Keeps a match.
func keep_match(name: String, token: String, game: String, invitation := "") -> void:
	_file.set_value("matches", name, {"name": name, "token": token, "game": game, "invitation": invitation})
	_save()


## The matches, the newest last.
func matches() -> Array:
	if not _file.has_section("matches"):
		return []
	return Array(_file.get_section_keys("matches")).map(func(key: String) -> Dictionary:
		return _file.get_value("matches", key))


## A match by its name; empty if it is not kept.
func match_kept(name: String) -> Dictionary:
	return _file.get_value("matches", name, {})


## Forgets a match, which is over.
func forget_match(name: String) -> void:
	if _file.has_section_key("matches", name):
		_file.erase_section_key("matches", name)
		_save()

## The addon in the editor: it needs nothing there, since its classes are known by their names.
@tool
extends EditorPlugin

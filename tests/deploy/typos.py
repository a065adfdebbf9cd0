"""Typos in configurations: each key of a document misspelt in turn."""

import copy

# Below these the keys are names that the writer chooses, or belong to another schema.
FREE = (
    "labels",
    "annotations",
    "data",
    "stringData",
    "matchLabels",
    "selector",
    "requests",
    "limits",
    "options",
)


def with_typo(document):
    """Yields the path of each key whose spelling is fixed, and the document with it misspelt."""
    for path in _keys(document, ()):
        broken = copy.deepcopy(document)
        inner = broken
        for step in path[:-1]:
            inner = inner[step]
        key = path[-1]
        inner[key + key[-1]] = inner.pop(key)
        yield path, broken


def _keys(value, path):
    if isinstance(value, dict):
        for key, inner in value.items():
            # An object whose kind cannot be told is no object of Kubernetes at all.
            if path or key not in ("apiVersion", "kind"):
                yield (*path, key)
            if key not in FREE or (key == "selector" and "matchLabels" in inner):
                yield from _keys(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _keys(inner, (*path, number))

"""Replaces a function for one thread: servers that other tests share go on in other threads."""

import threading


def patch_here(monkeypatch, module, name, replacement):
    """Lets calls from this thread of a function of a module go to a replacement."""
    here, real = threading.get_ident(), getattr(module, name)

    def chosen(*arguments, **named):
        function = replacement if threading.get_ident() == here else real
        return function(*arguments, **named)

    monkeypatch.setattr(module, name, chosen)

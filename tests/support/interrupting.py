"""Ends what tells of its progress, as Ctrl-C would."""


class Interrupted(Exception):
    """What ends it."""


class Interrupting:
    """Hears of progress, and raises Interrupted at the `after`-th time."""

    def __init__(self, after):
        self.after = after
        self.told = []

    def __call__(self, text):
        self.told.append(text)
        if len(self.told) == self.after:
            raise Interrupted

"""The lines that the servers in this process log."""

import contextlib
import logging


class Lines(logging.Handler):
    """The lines of the log in one format."""

    def __init__(self, formatter):
        super().__init__()
        self.setFormatter(formatter)
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


@contextlib.contextmanager
def logged(*formatters, name="service", level=logging.DEBUG):
    """What a logger logs from a level on: a list of lines for each of some formats."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    handlers = [Lines(each) for each in formatters]
    for each in handlers:
        logger.addHandler(each)
    try:
        yield [each.lines for each in handlers]
    finally:
        for each in handlers:
            logger.removeHandler(each)
        logger.setLevel(before)

"""The tests of German Whist, for which it must be installed."""

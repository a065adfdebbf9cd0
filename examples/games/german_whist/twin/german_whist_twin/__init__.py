"""German Whist in Cython: the same game as `german_whist`, to compare the speed."""

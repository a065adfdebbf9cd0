"""The tables of a card list."""

from games.castle_rampage.rules.state cimport Tables

# Fills the tables from a card list that `read_cards` has checked.
cdef fill_tables(Tables* tables, specs)

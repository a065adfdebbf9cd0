"""The tables of a card list."""

from engine.castle_rampage.tables cimport Tables

# Fills the tables from a card list that `read_cards` has checked.
cdef fill_tables(Tables* tables, specs)

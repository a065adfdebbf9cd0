"""Admission: who calls, and how much each principal may use."""

"""Used by all of the service: calls, errors, the time of the event loop, the schema's rules."""

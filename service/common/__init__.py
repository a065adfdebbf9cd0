"""What all of the service uses: calls, errors, the time of the event loop, the schema's rules."""

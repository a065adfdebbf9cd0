"""The games in other libraries, which play them in their own process, without a server."""

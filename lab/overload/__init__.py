"""The overload test: one caller attacks a server, and others go on playing."""

"""One file for each kind of request. ``register(server)`` adds its handlers; nothing is kept here."""

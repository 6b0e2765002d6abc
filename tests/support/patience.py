"""How long a test waits for what should come at once: no test asks how fast a machine is, a hang alone ends it."""

HANG_GUARD = 1800.0  # seconds

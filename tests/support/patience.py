"""Time limit for events that should come at once: only a hang exceeds it, so no test depends on the machine's speed."""

HANG_GUARD = 1800.0  # seconds

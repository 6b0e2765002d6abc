"""All networks of the zoo, in the order of the file. New networks come last in their domain."""

from __future__ import annotations

from zoo_models import adversarial, classification, generation, pictures, scenes, signals, sound, video, volumes

ENTRIES = [
    *classification.ENTRIES,
    *scenes.ENTRIES,
    *pictures.ENTRIES,
    *volumes.ENTRIES,
    *video.ENTRIES,
    *generation.ENTRIES,
    *adversarial.ENTRIES,
    *sound.ENTRIES,
    *signals.ENTRIES,
]

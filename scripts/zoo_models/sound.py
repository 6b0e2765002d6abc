"""Networks of sound and sequences, from transformers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.traced import images, meta, package, traced

Input = Callable[[int, int], Any]
SECONDS = ((16000,), (64000,))


def _wave(batch: int, length: int) -> Any:
    return package("torch").empty(batch, length, device="meta")


def _mono(batch: int, length: int) -> Any:
    return images(batch, 1, (length,))


def _trace(kind: str, config: str, settings: dict[str, Any], input: Input, batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    model = meta(lambda: getattr(library, kind)(getattr(library, config)(**settings)))
    return traced(lambda: model(input(batch, image[0])))


def _whisper(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    config = library.WhisperConfig(
        d_model=512, encoder_layers=2, encoder_attention_heads=8, max_source_positions=image[0] // 2
    )
    encoder = package("transformers.models.whisper.modeling_whisper").WhisperEncoder
    model = meta(lambda: encoder(config))
    return traced(lambda: model(images(batch, 80, image)))


def _codec(kind: str, config: str, batch: int, image: Lengths) -> Trace:
    """A codec's encoder and decoder, without the search for codes between them."""
    library = package("transformers")
    model = meta(lambda: getattr(library, kind)(getattr(library, config)()))

    def run() -> None:
        model.decoder(model.encoder(images(batch, 1, image)))

    return traced(run)


def _vits(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    model = meta(lambda: library.VitsModel(library.VitsConfig()))
    config = model.config

    def run() -> None:
        model.posterior_encoder(images(batch, config.spectrogram_bins, image), images(batch, 1, image))
        model.flow(images(batch, config.flow_size, image), images(batch, 1, image))
        model.decoder(images(batch, config.flow_size, image))

    return traced(run)


def _entry(
    name: str,
    family: str,
    sizes: tuple[Lengths, ...],
    trace: Callable[[int, Lengths], Trace],
    source: str = "transformers",
) -> Entry:
    return Entry(name, "signal", family, source, (4, 16), sizes, trace)


CONFORMER = {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
ENTRIES = [
    _entry(
        "wav2vec2_base", "wav2vec2", SECONDS, functools.partial(_trace, "Wav2Vec2Model", "Wav2Vec2Config", {}, _wave)
    ),
    _entry(
        "wav2vec2_conformer",
        "wav2vec2",
        SECONDS,
        functools.partial(_trace, "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", CONFORMER, _wave),
    ),
    _entry("whisper_base", "whisper", ((1000,), (3000,)), _whisper),
    _entry(
        "hifigan_speecht5",
        "hifigan",
        ((64,), (256,)),
        functools.partial(
            _trace,
            "SpeechT5HifiGan",
            "SpeechT5HifiGanConfig",
            {},
            lambda b, n: package("torch").empty(b, n, 80, device="meta"),
        ),
    ),
    _entry("dac_16khz", "dac", SECONDS, functools.partial(_codec, "DacModel", "DacConfig")),
    _entry("vits", "vits", ((32,), (128,)), _vits),
]

"""Diffusion U-Nets and autoencoders, from diffusers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.traced import images, meta, package, traced

LATENTS = ((64, 64), (96, 96))
PICTURES = ((256, 256), (512, 512))


def _zeros(*shape: int) -> Any:
    return package("torch").zeros(*shape, device="meta")


def _latent_unet(config: dict[str, Any], batch: int, image: Lengths) -> Trace:
    library = package("diffusers")
    model = meta(lambda: library.UNet2DConditionModel(**config))
    words, width = 77, config["cross_attention_dim"]
    extra = {}
    if config.get("addition_embed_type") == "text_time":
        extra["added_cond_kwargs"] = {"text_embeds": _zeros(batch, 1280), "time_ids": _zeros(batch, 6)}
    step = _zeros(batch)
    return traced(lambda: model(images(batch, 4, image), step, _zeros(batch, words, width), **extra))


def _pixel_unet(config: dict[str, Any], batch: int, image: Lengths) -> Trace:
    model = meta(lambda: package("diffusers").UNet2DModel(**config))
    return traced(lambda: model(images(batch, 3, image), _zeros(batch)))


def _controlnet(batch: int, image: Lengths) -> Trace:
    model = meta(lambda: package("diffusers").ControlNetModel(cross_attention_dim=768))
    hint = images(batch, 3, tuple(8 * edge for edge in image))
    return traced(lambda: model(images(batch, 4, image), _zeros(batch), _zeros(batch, 77, 768), hint))


def _autoencoder(kind: str, config: dict[str, Any], batch: int, image: Lengths) -> Trace:
    model = meta(lambda: getattr(package("diffusers"), kind)(**config))
    return traced(lambda: model(images(batch, 3, image)))


def _video_unet(batch: int, image: Lengths) -> Trace:
    model = meta(lambda: package("diffusers").UNetSpatioTemporalConditionModel())
    frames, *edges = image
    states, ids = _zeros(batch, 1, 1024), _zeros(batch, 3)
    return traced(lambda: model(_zeros(batch, frames, 8, *edges), _zeros(batch), states, ids))


def _transformer(batch: int, image: Lengths) -> Trace:
    model = meta(lambda: package("diffusers").DiTTransformer2DModel(sample_size=image[0], num_layers=2))
    labels = package("torch").zeros(batch, dtype=package("torch").long, device="meta")
    return traced(lambda: model(images(batch, 4, image), labels, labels))


SD = {"cross_attention_dim": 768}
SDXL: dict[str, Any] = {
    "block_out_channels": (320, 640, 1280),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    "transformer_layers_per_block": (1, 2, 10),
    "attention_head_dim": (5, 10, 20),
    "cross_attention_dim": 2048,
    "use_linear_projection": True,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 256,
    "projection_class_embeddings_input_dim": 2816,
}
DDPM: dict[str, Any] = {
    "block_out_channels": (128, 128, 256, 256, 512, 512),
    "down_block_types": (*("DownBlock2D",) * 4, "AttnDownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "AttnUpBlock2D", *("UpBlock2D",) * 4),
    "attention_head_dim": None,
}
CIFAR: dict[str, Any] = {
    "block_out_channels": (128, 256, 256, 256),
    "down_block_types": ("DownBlock2D", "AttnDownBlock2D", "DownBlock2D", "DownBlock2D"),
    "up_block_types": ("UpBlock2D", "UpBlock2D", "AttnUpBlock2D", "UpBlock2D"),
    "attention_head_dim": None,
}
KL: dict[str, Any] = {
    "block_out_channels": (128, 256, 512, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "layers_per_block": 2,
}
VQ: dict[str, Any] = {
    "block_out_channels": (128, 256, 512),
    "down_block_types": ("DownEncoderBlock2D",) * 3,
    "up_block_types": ("UpDecoderBlock2D",) * 3,
    "layers_per_block": 2,
    "latent_channels": 3,
}


def _entry(name: str, family: str, sizes: tuple[Lengths, ...], trace: Callable[[int, Lengths], Trace]) -> Entry:
    return Entry(name, "diffusion", family, "diffusers", (2, 8), sizes, trace)


CLIPS = ((9, 128, 128), (9, 256, 256))
ENTRIES = [
    _entry("sd15_unet", "sd_unet", LATENTS, functools.partial(_latent_unet, SD)),
    _entry("sdxl_unet", "sdxl_unet", ((96, 96), (128, 128)), functools.partial(_latent_unet, SDXL)),
    _entry("sd15_controlnet", "sd_unet", LATENTS, _controlnet),
    _entry("ddpm_256_unet", "ddpm_unet", ((128, 128), (256, 256)), functools.partial(_pixel_unet, DDPM)),
    _entry("ddpm_cifar_unet", "cifar_unet", ((32, 32), (64, 64)), functools.partial(_pixel_unet, CIFAR)),
    _entry("sd_vae", "sd_vae", PICTURES, functools.partial(_autoencoder, "AutoencoderKL", KL)),
    _entry("taesd", "taesd", PICTURES, functools.partial(_autoencoder, "AutoencoderTiny", {})),
    _entry("vqgan_f4", "vqgan", PICTURES, functools.partial(_autoencoder, "VQModel", VQ)),
    _entry("dc_ae_f32", "dc_ae", PICTURES, functools.partial(_autoencoder, "AutoencoderDC", {})),
    _entry("svd_unet", "svd_unet", ((14, 40, 64), (14, 72, 128)), _video_unet),
    _entry("hunyuan_video_vae", "hunyuan_vae", CLIPS, functools.partial(_autoencoder, "AutoencoderKLHunyuanVideo", {})),
    _entry("wan_vae", "wan_vae", CLIPS, functools.partial(_autoencoder, "AutoencoderKLWan", {})),
    _entry("dit", "dit", ((32, 32), (64, 64)), _transformer),
]

"""Networks that detect objects and segment images, from torchvision and transformers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.traced import images, meta, package, traced

NO_WEIGHTS = {"weights": None, "weights_backbone": None}
PROPOSALS = {"box": 512, "mask": 128, "keypoint": 128}  # regions per image that training samples
LARGE = ((640, 640), (800, 1344))
SCENES = ((480, 480), (512, 1024))


def _torchvision(group: str, name: str) -> Any:
    models = getattr(package("torchvision").models, group)
    return meta(lambda: getattr(models, name)(**NO_WEIGHTS))


def _heads(model: Any, batch: int, features: Any) -> None:
    """Run the heads of a detector on the features of its backbone."""
    for name in ("head", "rpn"):
        if hasattr(model, name):
            head = getattr(model, name)
            getattr(head, "head", head)(features)
    regions = getattr(model, "roi_heads", None)
    for name, count in PROPOSALS.items():
        head = getattr(regions, f"{name}_head", None)
        if head is not None:
            size = getattr(regions, f"{name}_roi_pool").output_size
            found = head(images(batch * count, features[0].shape[1], size))
            getattr(regions, f"{name}_predictor")(found)


def _detector(name: str, batch: int, image: Lengths) -> Trace:
    model = _torchvision("detection", name)

    def run() -> None:
        features = list(model.backbone(images(batch, 3, image)).values())
        _heads(model, batch, features)

    return traced(run)


def _segmenter(name: str, batch: int, image: Lengths) -> Trace:
    model = _torchvision("segmentation", name)
    return traced(lambda: model(images(batch, 3, image)))


def _flow(name: str, batch: int, image: Lengths) -> Trace:
    model = meta(lambda: getattr(package("torchvision").models.optical_flow, name)())
    return traced(lambda: model(images(batch, 3, image), images(batch, 3, image), num_flow_updates=12))


def _segformer(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    config = library.SegformerConfig(
        depths=[3, 4, 6, 3], hidden_sizes=[64, 128, 320, 512], decoder_hidden_size=768, num_labels=150
    )
    model = meta(lambda: library.SegformerForSemanticSegmentation(config))
    return traced(lambda: model(images(batch, 3, image)))


def _maskformer(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    config = library.MaskFormerConfig()
    model = meta(lambda: library.MaskFormerModel(config).pixel_level_module)
    return traced(lambda: model(images(batch, 3, image)))


def _rt_detr(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    model = meta(lambda: library.RTDetrModel(library.RTDetrConfig()))
    mask = package("torch").ones(batch, *image, device="meta")

    def run() -> None:
        features = [found[0] for found in model.backbone(images(batch, 3, image), mask)]
        model.encoder([model.encoder_input_proj[i](found) for i, found in enumerate(features)])

    return traced(run)


def _depth(batch: int, image: Lengths) -> Trace:
    library = package("transformers")
    stages = ["stage3", "stage6", "stage9", "stage12"]
    config = library.DepthAnythingConfig(
        backbone_config=library.Dinov2Config(out_features=stages, reshape_hidden_states=False),
        reassemble_hidden_size=768,
        neck_hidden_sizes=[96, 192, 384, 768],
        fusion_hidden_size=128,
    )
    model = meta(lambda: library.DepthAnythingForDepthEstimation(config))
    return traced(lambda: model(images(batch, 3, image)))


def _entry(
    domain: str, name: str, family: str, source: str, trace: Callable[[int, Lengths], Trace], sizes: tuple[Lengths, ...]
) -> Entry:
    return Entry(name, domain, family, source, (2, 16) if domain == "detection" else (4, 16), sizes, trace)


def _by_name(
    domain: str, names: str, trace: Callable[[str, int, Lengths], Trace], sizes: tuple[Lengths, ...]
) -> list[Entry]:
    return [
        _entry(domain, name, name.split("_")[0], "torchvision", functools.partial(trace, name), sizes)
        for name in names.split(" ")
    ]


DETECTION = [
    *_by_name(
        "detection",
        "retinanet_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fasterrcnn_mobilenet_v3_large_fpn",
        _detector,
        LARGE,
    ),
    *_by_name("detection", "fcos_resnet50_fpn maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn", _detector, LARGE),
    *_by_name("detection", "ssd300_vgg16", _detector, ((300, 300), (512, 512))),
    *_by_name("detection", "ssdlite320_mobilenet_v3_large", _detector, ((320, 320), (512, 512))),
    _entry("detection", "rt_detr_r50", "rt_detr", "transformers", _rt_detr, LARGE),
]
SEGMENTATION = [
    *_by_name(
        "segmentation", "deeplabv3_resnet50 deeplabv3_mobilenet_v3_large fcn_resnet50 fcn_resnet101", _segmenter, SCENES
    ),
    *_by_name("segmentation", "lraspp_mobilenet_v3_large", _segmenter, SCENES),
    _entry("segmentation", "segformer_b2", "segformer", "transformers", _segformer, SCENES),
    _entry("segmentation", "maskformer_swin", "maskformer", "transformers", _maskformer, SCENES),
    _entry("segmentation", "depth_anything_base", "depth_anything", "transformers", _depth, ((518, 518), (392, 784))),
    *_by_name("segmentation", "raft_large", _flow, ((368, 768), (520, 960))),
]
ENTRIES = [*DETECTION, *SEGMENTATION]

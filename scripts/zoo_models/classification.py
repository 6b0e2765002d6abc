"""Networks that classify images, from torchvision and timm."""

from __future__ import annotations

import functools
from typing import Any

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.traced import images, meta, package, traced

BATCHES = (32, 128)
IMAGES = ((224, 224), (288, 288))
# Family: networks. One line per family.
TORCHVISION = """
alexnet: alexnet
vgg: vgg16 vgg11_bn
squeezenet: squeezenet1_1
googlenet: googlenet
inception_v3: inception_v3
resnet: resnet18 resnet50 wide_resnet50_2
resnext: resnext50_32x4d resnext101_64x4d
densenet: densenet121 densenet161
regnet: regnet_x_3_2gf regnet_y_8gf
shufflenet_v2: shufflenet_v2_x1_0
mobilenet_v2: mobilenet_v2
mobilenet_v3: mobilenet_v3_large
mnasnet: mnasnet1_0
efficientnet: efficientnet_b0 efficientnet_b4
efficientnet_v2: efficientnet_v2_s
convnext: convnext_tiny
swin: swin_t
vit: vit_b_16
"""
TIMM = """
mobilenet_v1: mobilenetv1_100
mobilenet_v4: mobilenetv4_conv_small mobilenetv4_conv_medium
ghostnet: ghostnet_100 ghostnetv2_100
repvgg: repvgg_b1
res2net: res2net50_26w_4s
resnest: resnest50d
nfnet: nfnet_f0
dpn: dpn92 dpn68b
xception: xception65
inception_v4: inception_v4
cspdarknet: cspdarknet53
dla: dla34
hrnet: hrnet_w18
mixnet: mixnet_l
poolformer: poolformer_s12
convformer: convformer_s18
edgenext: edgenext_small
fastvit: fastvit_s12
repvit: repvit_m1_0
starnet: starnet_s1
inception_next: inception_next_tiny
convmixer: convmixer_768_32
vovnet: ese_vovnet39b
rexnet: rexnet_100
focalnet: focalnet_tiny_srf
mobileone: mobileone_s1
lcnet: lcnet_100
skresnet: skresnet50
hgnet: hgnetv2_b2
pvt: pvt_v2_b2
levit: levit_192
coatnet: coatnet_0_rw_224
res2next: res2next50
regnetz: regnetz_c16
cspresnext: cspresnext50
condconv: tf_efficientnet_cc_b0_4e
mobilevit: mobilevit_s
nextvit: nextvit_small
efficientvit: efficientvit_b1
resnext: resnext26ts
"""
SIZED = {"vit_b_16": "image_size", "levit_192": "img_size", "coatnet_0_rw_224": "img_size"}


def _trace(name: str, from_timm: bool, batch: int, image: Lengths) -> Trace:
    def make() -> Any:
        size = {SIZED[name]: image[0]} if name in SIZED else {}
        if from_timm:
            return package("timm").create_model(name, **size)
        models = package("torchvision").models
        more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return models.get_model(name, **size, **more)

    model = meta(make)
    return traced(lambda: model(images(batch, 3, image)))


def _entries(table: str, source: str) -> list[Entry]:
    found = []
    for line in table.split("\n")[1:-1]:
        family, _, names = line.partition(": ")
        for name in names.split(" "):
            sizes = ((299, 299), (448, 448)) if name.startswith(("inception_v", "xception")) else IMAGES
            sizes = ((224, 224), (256, 256)) if name.startswith("levit") else sizes
            trace = functools.partial(_trace, name, source == "timm")
            found.append(Entry(name, "classification", family, source, BATCHES, sizes, trace))
    return found


ENTRIES = [*_entries(TORCHVISION, "torchvision"), *_entries(TIMM, "timm")]

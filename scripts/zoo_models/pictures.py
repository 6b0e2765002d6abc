"""Networks of pictures that no package has, from their papers."""

from __future__ import annotations

from collections.abc import Callable

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.layers import Net, channels, pool, scale


def alex_net(batch: int, image: Lengths) -> Trace:
    """AlexNet as published, in two groups (Krizhevsky et al., 2012, ImageNet classification with deep convolutional
    neural networks, section 3.5)."""
    net = Net()
    x = pool(net.conv((batch, 3, *image), 96, 11, 4, pad=0), 3, 2)
    x = pool(net.conv(x, 256, 5, groups=2), 3, 2)
    x = net.conv(net.conv(x, 384, 3), 384, 3, groups=2)
    net.conv(x, 256, 3, groups=2)
    return net.trace


def shuffle_net(batch: int, image: Lengths) -> Trace:
    """ShuffleNet 1x in three groups (Zhang et al., 2018, ShuffleNet, table 1 and figure 2)."""
    net = Net()
    x = pool(net.conv((batch, 3, *image), 24, 3, 2), 3, 2, 1)
    for width, depth in ((240, 4), (480, 8), (960, 4)):
        for block in range(depth):
            inner, stride = width // 4, 2 if block == 0 else 1
            y = net.conv(x, inner, 1, groups=1 if x[1] == 24 else 3)
            y = net.conv(y, inner, 3, stride, groups=inner)
            y = net.conv(y, width - x[1] if block == 0 else width, 1, groups=3)
            x = channels(y, width)
    return net.trace


def unet(batch: int, image: Lengths) -> Trace:
    """U-Net (Ronneberger et al., 2015, U-Net, figure 1): valid 3x3 convolutions."""
    net, x, skips = Net(), (batch, 1, *image), []
    for level in range(5):
        x = net.conv(net.conv(x, 64 << level, 3, pad=0), 64 << level, 3, pad=0)
        skips.append(x)
        x = pool(x, 2, 2) if level < 4 else x
    for skip in reversed(skips[:-1]):
        x = net.up(x, skip[1], 2, 2)
        x = net.conv(net.conv(channels(x, 2 * skip[1]), skip[1], 3, pad=0), skip[1], 3, pad=0)
    net.conv(x, 2, 1)
    return net.trace


def yolo_v3(batch: int, image: Lengths) -> Trace:
    """YOLOv3 (Redmon and Farhadi, 2018, YOLOv3, table 1 and section 2.3): Darknet-53 and three heads of 80 classes."""
    net = Net()
    x, skips = net.conv((batch, 3, *image), 32, 3), []
    for depth in (1, 2, 8, 8, 4):
        x = net.conv(x, 2 * x[1], 3, 2)
        for _ in range(depth):
            x = net.conv(net.conv(x, x[1] // 2, 1), x[1], 3)
        skips.append(x)
    for width, skip in ((512, None), (256, skips[3]), (128, skips[2])):
        if skip is not None:
            x = scale(net.conv(x, width, 1), 2)
            x = channels(x, width + skip[1])
        for _ in range(2):
            x = net.conv(net.conv(x, width, 1), 2 * width, 3)
        x = net.conv(x, width, 1)
        net.conv(net.conv(x, 2 * width, 3), 255, 1)
    return net.trace


def _entry(
    name: str,
    domain: str,
    paper: str,
    batches: Lengths,
    sizes: Lengths,
    trace: Callable[[int, Lengths], Trace],
    family: str = "",
) -> Entry:
    return Entry(name, domain, family or name, paper, batches, tuple((edge, edge) for edge in sizes), trace)


ENTRIES = [
    _entry("alexnet_2012", "classification", "Krizhevsky et al. 2012", (32, 128), (227, 291), alex_net, "alexnet"),
    _entry("shufflenet_v1_g3", "classification", "Zhang et al. 2018", (32, 128), (224, 288), shuffle_net),
    _entry("unet", "segmentation", "Ronneberger et al. 2015", (1, 8), (380, 572), unet),
    _entry("yolo_v3", "detection", "Redmon and Farhadi 2018", (4, 32), (416, 608), yolo_v3),
]

"""Networks of video: those of torchvision, and three from their papers."""

from __future__ import annotations

import functools
from collections.abc import Callable

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.layers import Net, channels, pool
from zoo_models.traced import images, meta, package, traced

CLIPS = ((16, 112, 112), (16, 224, 224))


def _torchvision(name: str, batch: int, image: Lengths) -> Trace:
    model = meta(lambda: getattr(package("torchvision").models.video, name)())
    return traced(lambda: model(images(batch, 3, image)))


def c3d(batch: int, image: Lengths) -> Trace:
    """C3D (Tran et al., 2015, Learning spatiotemporal features with 3D convolutional networks, figure 3)."""
    net, x = Net(), (batch, 3, *image)
    for stage, widths in enumerate(((64,), (128,), (256, 256), (512, 512), (512, 512))):
        for width in widths:
            x = net.conv(x, width, 3)
        edge = (1, 2, 2) if stage == 0 else (2, 2, 2)
        x = pool(x, edge, edge)
    return net.trace


def slow_fast(batch: int, image: Lengths) -> Trace:
    """SlowFast 4x16, R50 (Feichtenhofer et al., 2019, SlowFast networks for video recognition, table 1): a clip of 32
    frames for the fast pathway, every eighth for the slow one."""
    net, frames = Net(), 2 * image[0]
    slow = net.conv((batch, 3, frames // 8, *image[1:]), 64, (1, 7, 7), (1, 2, 2))
    fast = net.conv((batch, 3, frames, *image[1:]), 8, (5, 7, 7), (1, 2, 2))
    slow, fast = (pool(x, (1, 3, 3), (1, 2, 2), (0, 1, 1)) for x in (slow, fast))
    for stage, depth in enumerate((3, 4, 6, 3)):
        joined = net.conv(fast, 2 * fast[1], (5, 1, 1), (8, 1, 1), pad=(2, 0, 0))
        slow = channels(slow, slow[1] + joined[1])
        slow = _stage(net, slow, 64 << stage, depth, stage, 1 if stage < 2 else 3)
        fast = _stage(net, fast, 8 << stage, depth, stage, 3)
    return net.trace


def _stage(net: Net, x: Lengths, width: int, depth: int, stage: int, taps: int) -> Lengths:
    for block in range(depth):
        stride = 2 if block == 0 and stage > 0 else 1
        if block == 0:
            net.conv(x, 4 * width, 1, (1, stride, stride))
        x = net.conv(x, width, (taps, 1, 1))
        x = net.conv(x, width, (1, 3, 3), (1, stride, stride))
        x = net.conv(x, 4 * width, 1)
    return x


def x3d_m(batch: int, image: Lengths) -> Trace:
    """X3D-M (Feichtenhofer, 2020, X3D: expanding architectures for efficient video recognition, table 3)."""
    net = Net()
    x = net.conv((batch, 3, *image), 24, (1, 3, 3), (1, 2, 2))
    x = net.conv(x, 24, (5, 1, 1), groups=24)
    for width, depth in ((24, 3), (48, 5), (96, 11), (192, 7)):
        inner = width * 9 // 4
        for block in range(depth):
            stride = 2 if block == 0 else 1
            if block == 0:
                net.conv(x, width, 1, (1, stride, stride))
            x = net.conv(x, inner, 1)
            x = net.conv(x, inner, 3, (1, stride, stride), groups=inner)
            if block % 2 == 0:  # squeeze and excite
                squeezed = net.conv((batch, inner, 1, 1, 1), max(8, inner // 16 // 8 * 8), 1)
                net.conv(squeezed, inner, 1)
            x = net.conv(x, width, 1)
    net.conv(x, 432, 1)
    net.conv((batch, 432, 1, 1, 1), 2048, 1)
    return net.trace


def _entry(name: str, family: str, source: str, trace: Callable[[int, Lengths], Trace]) -> Entry:
    sizes = ((16, 224, 224), (16, 256, 256)) if name in ("s3d", "slowfast_r50", "x3d_m") else CLIPS
    return Entry(name, "video", family, source, (4, 16), sizes, trace)


ENTRIES = [
    *(
        _entry(name, family, "torchvision", functools.partial(_torchvision, name))
        for name, family in (
            ("r3d_18", "r3d"),
            ("mc3_18", "mc3"),
            ("r2plus1d_18", "r2plus1d"),
            ("s3d", "s3d"),
            ("swin3d_t", "swin3d"),
        )
    ),
    _entry("c3d", "c3d", "Tran et al. 2015", c3d),
    _entry("slowfast_r50", "slowfast", "Feichtenhofer et al. 2019", slow_fast),
    _entry("x3d_m", "x3d", "Feichtenhofer 2020", x3d_m),
]

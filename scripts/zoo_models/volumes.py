"""Networks of medical volumes, from their papers."""

from __future__ import annotations

from collections.abc import Callable

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.layers import Net, channels, pool, scale

CUBES = ((96,) * 3, (128,) * 3)


def unet_3d(batch: int, image: Lengths) -> Trace:
    """3D U-Net (Cicek et al., 2016, 3D U-Net, figure 2), with pads so that sizes stay."""
    net, x, skips = Net(), (batch, 3, *image), []
    for level in range(4):
        x = net.conv(net.conv(x, 32 << level, 3), 64 << level, 3)
        skips.append(x)
        x = pool(x, 2, 2) if level < 3 else x
    for skip in reversed(skips[:-1]):
        x = net.up(x, x[1], 2, 2)
        x = net.conv(channels(x, x[1] + skip[1]), skip[1], 3)
        x = net.conv(x, skip[1], 3)
    net.conv(x, 3, 1)
    return net.trace


def v_net(batch: int, image: Lengths) -> Trace:
    """V-Net (Milletari et al., 2016, V-Net, figure 2): filters of 5, strided convolutions of 2 between levels."""
    net, x, depths = Net(), (batch, 1, *image), (1, 2, 3, 3, 3)
    for level, depth in enumerate(depths):
        for _ in range(depth):
            x = net.conv(x, 16 << level, 5)
        x = net.conv(x, 2 * x[1], 2, 2, pad=0) if level < 4 else x
    for level, depth in zip((4, 3, 2, 1), (3, 3, 2, 1), strict=True):
        x = net.up(x, 16 << level - 1, 2, 2)
        x = channels(x, x[1] + (16 << level - 1))
        for _ in range(depth):
            x = net.conv(x, 16 << level, 5)
    net.conv(x, 2, 1)
    return net.trace


def nn_unet(batch: int, image: Lengths) -> Trace:
    """nnU-Net, 3-D full resolution (Isensee et al., 2021, nnU-Net, methods): strided convolutions, at most 320
    channels, as many levels as the patch allows."""
    net, x, skips = Net(), (batch, 1, *image), []
    levels = (min(image) // 4).bit_length()
    for level in range(levels):
        width = min(320, 32 << level)
        x = net.conv(net.conv(x, width, 3, 1 if level == 0 else 2), width, 3)
        skips.append(x)
    for skip in reversed(skips[:-1]):
        x = net.up(x, skip[1], 2, 2)
        x = net.conv(net.conv(channels(x, 2 * skip[1]), skip[1], 3), skip[1], 3)
        net.conv(x, 3, 1)  # deep supervision
    return net.trace


def attention_unet_3d(batch: int, image: Lengths) -> Trace:
    """Attention U-Net (Oktay et al., 2018, Attention U-Net, figures 1 and 2), 3-D, first width 16."""
    net, x, skips = Net(), (batch, 1, *image), []
    for level in range(5):
        x = net.conv(net.conv(x, 16 << level, 3), 16 << level, 3)
        skips.append(x)
        x = pool(x, 2, 2) if level < 4 else x
    for skip in reversed(skips[:-1]):
        net.conv(skip, skip[1], 2, 2, pad=0)  # the gate: features and signal to one size, then one map
        gate = net.conv(x, skip[1], 1)
        net.conv(gate, 1, 1)
        net.conv(skip, skip[1], 1)
        x = net.conv(channels(scale(x, 2), x[1] + skip[1]), skip[1], 3)
        x = net.conv(x, skip[1], 3)
    net.conv(x, 2, 1)
    return net.trace


def med_next(batch: int, image: Lengths) -> Trace:
    """MedNeXt S (Roy et al., 2023, MedNeXt, figure 1): depthwise filters of 5 and an expansion of 2, two blocks per
    level, down- and upsampling inside the blocks."""
    net = Net()
    x, widths = net.conv((batch, 1, *image), 32, 1), []
    for level in range(4):
        x = _med_blocks(net, x, 2)
        widths.append(x[1])
        net.conv(x, 2 * x[1], 1, 2)
        x = net.conv(net.conv(net.conv(x, x[1], 5, 2, groups=x[1]), 2 * x[1], 1), 64 << level, 1)
    x = _med_blocks(net, x, 2)
    for width in reversed(widths):
        net.up(x, width, 1, 2, extra=1)
        spread = net.up(x, x[1], 5, 2, 2, extra=1, groups=x[1])
        x = net.conv(net.conv(spread, 2 * x[1], 1), width, 1)
        x = _med_blocks(net, x, 2)
    net.conv(x, 4, 1)
    return net.trace


def _med_blocks(net: Net, x: Lengths, depth: int) -> Lengths:
    for _ in range(depth):
        net.conv(net.conv(net.conv(x, x[1], 5, groups=x[1]), 2 * x[1], 1), x[1], 1)
    return x


def med_3d_resnet(batch: int, image: Lengths) -> Trace:
    """A 3-D ResNet-50 for volumes (Chen et al., 2019, Med3D, section 3.2): dilations of 2 and 4 instead of the last two
    strides."""
    net = Net()
    x = pool(net.conv((batch, 1, *image), 64, 7, 2), 3, 2, 1)
    for stage, (depth, stride, dilation) in enumerate(((3, 1, 1), (4, 2, 1), (6, 1, 2), (3, 1, 4))):
        width = 64 << stage
        for block in range(depth):
            if block == 0:
                net.conv(x, 4 * width, 1, stride)
            x = net.conv(x, width, 1)
            x = net.conv(x, width, 3, stride if block == 0 else 1, dilation=dilation, pad=dilation)
            x = net.conv(x, 4 * width, 1)
    return net.trace


def _entry(
    name: str, paper: str, batches: Lengths, trace: Callable[[int, Lengths], Trace], sizes: tuple[Lengths, ...] = CUBES
) -> Entry:
    return Entry(name, "volume", name, paper, batches, sizes, trace)


ENTRIES = [
    _entry("unet_3d", "Cicek et al. 2016", (1, 4), unet_3d),
    _entry("v_net", "Milletari et al. 2016", (1, 4), v_net, ((64, 128, 128), (128,) * 3)),
    _entry("nn_unet", "Isensee et al. 2021", (2, 4), nn_unet),
    _entry("attention_unet_3d", "Oktay et al. 2018", (1, 4), attention_unet_3d),
    _entry("mednext_s", "Roy et al. 2023", (2, 4), med_next),
    _entry("med3d_resnet50", "Chen et al. 2019", (2, 8), med_3d_resnet),
]

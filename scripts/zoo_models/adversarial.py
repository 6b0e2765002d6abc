"""Generators and discriminators, and restoration networks, from their papers."""

from __future__ import annotations

from collections.abc import Callable

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.layers import Net, channels, pool, scale


def dcgan(batch: int, image: Lengths) -> Trace:
    """DCGAN (Radford et al., 2016, Unsupervised representation learning with deep convolutional GANs, figure 1):
    generator, then a mirrored discriminator; each doubling of the image halves the channels."""
    net, widths = Net(), [1024 >> i for i in range((image[0] // 8).bit_length())]
    x = net.up((batch, 100, 1, 1), widths[0], 4, 1)
    for width in (*widths[1:-1], 3):
        x = net.up(x, width, 4, 2, 1)
    for width in reversed(widths[:-1]):
        x = net.conv(x, width, 4, 2, pad=1)
    net.conv(x, 1, 4, pad=0)
    return net.trace


def style_gan2(batch: int, image: Lengths) -> Trace:
    """StyleGAN2, configuration F (Karras et al., 2020, Analyzing and improving the image quality of StyleGAN, section 2
    and appendix B). The weights of the generator differ per image: all images together are one grouped convolution."""
    net, edge = Net(), 4
    generated = _styled(net, batch, 512, edge, 512, 3)
    _styled(net, batch, generated, edge, 3, 1)
    while edge < image[0]:
        width, edge = min(512, 32768 // (2 * edge)), 2 * edge
        # A modulated transposed convolution; a blur follows.
        net.up((1, batch * generated, edge // 2, edge // 2), batch * width, 3, 2, groups=batch)
        generated = _styled(net, batch, width, edge, width, 3)
        _styled(net, batch, generated, edge, 3, 1)
    return _style_critic(net, batch, image)


def _styled(net: Net, batch: int, c: int, edge: int, k: int, filter: int) -> int:
    net.conv((1, batch * c, edge, edge), batch * k, filter, groups=batch)
    return k


def _style_critic(net: Net, batch: int, image: Lengths) -> Trace:
    """The discriminator: residual blocks with a blur before each convolution of stride 2."""
    edge = image[0]
    x = net.conv((batch, 3, *image), min(512, 32768 // edge), 1)
    while edge > 4:
        edge //= 2
        width = min(512, 32768 // edge)
        net.conv((*x[:2], 2 * edge - 1, 2 * edge - 1), width, 1, 2)  # the shortcut, after its blur
        x = net.conv(x, x[1], 3)
        x = net.conv((*x[:2], 2 * edge + 1, 2 * edge + 1), width, 3, 2, pad=0)
    net.conv(channels(x, 513), 512, 3)
    return net.trace


def big_gan(batch: int, image: Lengths) -> Trace:
    """BigGAN (Brock et al., 2019, Large scale GAN training, tables 4 to 6): residual blocks of 96 channels and an
    attention block at 64x64, generator and discriminator."""
    widths = {128: (16, 8, 4, 2, 1), 256: (16, 8, 8, 4, 2, 1)}[image[0]]
    net = Net()
    x: Lengths = (batch, 16 * 96, 4, 4)
    for factor in widths:
        wide = scale(x, 2)
        net.conv(wide, 96 * factor, 1)
        x = net.conv(net.conv(wide, 96 * factor, 3), 96 * factor, 3)
        x = _attention(net, x) if x[2] == 64 else x
    x = net.conv(x, 3, 3)
    for factor in (*widths[::-1], 16):
        last = x[2] == 4
        y = net.conv(net.conv(x, 96 * factor, 3), 96 * factor, 3)
        net.conv(pool(x, 2, 2) if x[1] == 3 else x, 96 * factor, 1)
        x = y if last else pool(y, 2, 2)
        x = _attention(net, x) if x[2] == 64 else x
    return net.trace


def _attention(net: Net, x: Lengths) -> Lengths:
    for width in (x[1] // 8, x[1] // 8, x[1] // 2):
        net.conv(x, width, 1)
    return net.conv(channels(x, x[1] // 2), x[1], 1)


def cycle_gan(batch: int, image: Lengths) -> Trace:
    """CycleGAN (Zhu et al., 2017, Unpaired image-to-image translation, appendix 7.2): a generator of nine residual
    blocks with reflection pads, and a discriminator of 70x70 patches."""
    net = Net()
    x = net.conv((batch, 3, image[0] + 6, image[1] + 6), 64, 7, pad=0)
    for width in (128, 256):
        x = net.conv(x, width, 3, 2)
    for _ in range(18):
        x = net.conv((*x[:2], x[2] + 2, x[3] + 2), 256, 3, pad=0)
    for width in (128, 64):
        x = net.up(x, width, 3, 2, 1, extra=1)
    net.conv((*x[:2], x[2] + 6, x[3] + 6), 3, 7, pad=0)
    return _patches(net, (batch, 3, *image))


def _patches(net: Net, x: Lengths) -> Trace:
    for width, stride in ((64, 2), (128, 2), (256, 2), (512, 1), (1, 1)):
        x = net.conv(x, width, 4, stride, pad=1)
    return net.trace


def pix2pix(batch: int, image: Lengths) -> Trace:
    """pix2pix (Isola et al., 2017, Image-to-image translation with conditional adversarial networks, appendix 6.1): a
    U-Net of eight levels with 4x4 filters, and a discriminator of image pairs."""
    net, x = Net(), (batch, 3, *image)
    widths = (64, 128, 256, 512, 512, 512, 512, 512)
    for width in widths:
        x = net.conv(x, width, 4, 2, pad=1)
    for level, width in enumerate((*widths[-2::-1], 3)):
        x = net.up(x if level == 0 else channels(x, 2 * x[1]), width, 4, 2, 1)
    return _patches(net, (batch, 6, *image))


def esrgan(batch: int, image: Lengths) -> Trace:
    """ESRGAN (Wang et al., 2018, Enhanced super-resolution GANs, section 3.1): 23 blocks of three dense blocks, then
    two doublings of the image."""
    net = Net()
    x = net.conv((batch, 3, *image), 64, 3)
    for _ in range(23 * 3):
        for number in range(5):
            net.conv(channels(x, 64 + 32 * number), 32 if number < 4 else 64, 3)
    x = net.conv(x, 64, 3)
    for _ in range(2):
        x = net.conv(scale(x, 2), 64, 3)
    net.conv(net.conv(x, 64, 3), 3, 3)
    return net.trace


def edsr(batch: int, image: Lengths) -> Trace:
    """EDSR for a factor of 2 (Lim et al., 2017, Enhanced deep residual networks for super-resolution, section 4)."""
    net = Net()
    x = net.conv((batch, 3, *image), 256, 3)
    for _ in range(65):
        x = net.conv(x, 256, 3)
    x = channels(scale(net.conv(x, 1024, 3), 2), 256)
    net.conv(x, 3, 3)
    return net.trace


def naf_net(batch: int, image: Lengths) -> Trace:
    """NAFNet of width 32 (Chen et al., 2022, Simple baselines for image restoration, figure 2 and section 5): four
    levels of gated blocks with depthwise filters."""
    net = Net()
    x = net.conv((batch, 3, *image), 32, 3)
    for depth in (2, 2, 4, 8):
        x = _gated(net, x, depth)
        x = net.conv(x, 2 * x[1], 2, 2, pad=0)
    x = _gated(net, x, 12)
    for _ in range(4):
        x = channels(scale(net.conv(x, 2 * x[1], 1), 2), x[1] // 2)
        x = _gated(net, x, 2)
    net.conv(x, 3, 3)
    return net.trace


def _gated(net: Net, x: Lengths, depth: int) -> Lengths:
    width = x[1]
    for _ in range(depth):
        net.conv(net.conv(x, 2 * width, 1), 2 * width, 3, groups=2 * width)
        net.conv((x[0], width, 1, 1), width, 1)  # channel attention
        net.conv(net.conv(x, width, 1), 2 * width, 1)
        net.conv(x, width, 1)
    return x


def _entry(
    name: str, paper: str, batches: Lengths, sizes: Lengths, trace: Callable[[int, Lengths], Trace], family: str = ""
) -> Entry:
    return Entry(name, "gan", family or name, paper, batches, tuple((edge, edge) for edge in sizes), trace)


ENTRIES = [
    _entry("dcgan", "Radford et al. 2016", (32, 128), (64, 128), dcgan),
    _entry("stylegan2", "Karras et al. 2020", (4, 16), (256, 512), style_gan2),
    _entry("biggan", "Brock et al. 2019", (16, 64), (128, 256), big_gan),
    _entry("cyclegan", "Zhu et al. 2017", (1, 8), (128, 256), cycle_gan),
    _entry("pix2pix", "Isola et al. 2017", (1, 16), (256, 512), pix2pix),
    _entry("esrgan", "Wang et al. 2018", (4, 16), (32, 64), esrgan),
    _entry("edsr", "Lim et al. 2017", (4, 16), (48, 96), edsr),
    _entry("nafnet_32", "Chen et al. 2022", (8, 32), (128, 256), naf_net),
]

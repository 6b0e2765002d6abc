"""Networks of sound and other signals, from their papers."""

from __future__ import annotations

from collections.abc import Callable

from zoo_models.entry import Entry, Lengths, Trace
from zoo_models.layers import Net, channels


def wave_net(batch: int, image: Lengths) -> Trace:
    """WaveNet as vocoder (van den Oord et al., 2016, WaveNet; channels of Shen et al., 2018, Tacotron 2, section 2.3):
    causal dilated convolutions with gates, three cycles of ten."""
    net = Net()
    x = net.causal((batch, 256, *image), 64, 2)
    for layer in range(30):
        net.causal(x, 128, 2, dilation=1 << layer % 10)
        net.conv((batch, 80, *image), 128, 1)  # local conditioning
        net.conv(x, 64, 1)
        net.conv(x, 256, 1)
    net.conv(net.conv(channels(x, 256), 256, 1), 256, 1)
    return net.trace


def conv_tas_net(batch: int, image: Lengths) -> Trace:
    """Conv-TasNet (Luo and Mesgarani, 2019, Surpassing ideal time-frequency magnitude masking, table II): N 512, L 16,
    B 128, H 512, P 3, X 8, R 3, two speakers."""
    net = Net()
    waves = net.conv((batch, 1, *image), 512, 16, 8, pad=0)
    x = net.conv(waves, 128, 1)
    for layer in range(24):
        inner = net.conv(net.conv(x, 512, 1), 512, 3, dilation=1 << layer % 8, groups=512)
        net.conv(inner, 128, 1)
        net.conv(inner, 128, 1)
    net.conv(x, 1024, 1)
    net.up((2 * batch, 512, waves[2]), 1, 16, 8)
    return net.trace


def demucs(batch: int, image: Lengths) -> Trace:
    """Demucs (Defossez et al., 2019, Music source separation in the waveform domain, section 4): six levels with
    filters of 8 and strides of 4, stereo, four sources."""
    net = Net()
    length = image[0]
    for _ in range(6):  # pad the sound to a length that every level divides
        length = -(-(length - 8) // 4) + 1
    for _ in range(6):
        length = (length - 1) * 4 + 8
    x: Lengths = (batch, 2, length)
    for level in range(6):
        x = net.conv(x, 64 << level, 8, 4, pad=0)
        net.conv(x, 2 * x[1], 1)
    for level in reversed(range(6)):
        net.conv(x, 2 * x[1], 3)
        x = net.up(x, 64 << level - 1 if level else 8, 8, 4)
    return net.trace


def conformer(batch: int, image: Lengths) -> Trace:
    """Conformer L (Gulati et al., 2020, Conformer, table 1): two convolutions of stride 2, then the convolution module
    with depthwise filters of 32 frames in 17 layers. The input has 80 channels of a spectrogram as its other edge."""
    net = Net()
    x = net.conv(net.conv((batch, 1, image[0], 80), 512, 3, 2, pad=0), 512, 3, 2, pad=0)
    frames = (batch, 512, x[2])
    for _ in range(17):
        net.conv(frames, 1024, 1)
        net.conv((*frames[:2], frames[2] + 31), 512, 32, pad=0, groups=512)
        net.conv(frames, 512, 1)
    return net.trace


def quartz_net(batch: int, image: Lengths) -> Trace:
    """QuartzNet 15x5 (Kriman et al., 2020, QuartzNet, table 1): depthwise filters of 33 to 87 frames and 1x1
    convolutions."""
    net = Net()
    x = net.conv(net.conv((batch, 64, *image), 64, 33, 2, groups=64), 256, 1)
    for width, filter in ((256, 33), (256, 39), (512, 51), (512, 63), (512, 75)):
        for _ in range(3):
            net.conv(x, width, 1)  # the shortcut of a block
            for _ in range(5):
                x = net.conv(net.conv(x, x[1], filter, groups=x[1]), width, 1)
    x = net.conv(net.conv(x, 512, 87, dilation=2, groups=512), 512, 1)
    net.conv(net.conv(x, 1024, 1), 29, 1)
    return net.trace


def hifi_gan(batch: int, image: Lengths) -> Trace:
    """HiFi-GAN V1 (Kong et al., 2020, HiFi-GAN, appendix A): the generator for frames of 256 samples, and the
    discriminators of periods and scales on its sound."""
    net = Net()
    x = net.conv((batch, 80, *image), 512, 7)
    for rate, filter in ((8, 16), (8, 16), (2, 4), (2, 4)):
        x = net.up(x, x[1] // 2, filter, rate, (filter - rate) // 2)
        for taps in (3, 7, 11):
            for dilation in (1, 3, 5):
                net.conv(net.conv(x, x[1], taps, dilation=dilation), x[1], taps)
    sound = net.conv(x, 1, 7)
    for period in (2, 3, 5, 7, 11):
        y: Lengths = (batch, 1, -(-sound[2] // period), period)
        for width, stride in ((32, 3), (128, 3), (512, 3), (1024, 3), (1024, 1)):
            y = net.conv(y, width, (5, 1), (stride, 1))
        net.conv(y, 1, (3, 1))
    for half in range(3):
        y = (batch, 1, sound[2] >> half)
        rows = (
            (128, 15, 1, 1),
            (128, 41, 2, 4),
            (256, 41, 2, 16),
            (512, 41, 4, 16),
            (1024, 41, 4, 16),
            (1024, 41, 1, 16),
        )
        for width, taps, stride, groups in (*rows, (1024, 5, 1, 1), (1, 3, 1, 1)):
            y = net.conv(y, width, taps, stride, groups=groups)
    return net.trace


def en_codec(batch: int, image: Lengths) -> Trace:
    """EnCodec at 24 kHz (Defossez et al., 2022, High fidelity neural audio compression, section 3.1): causal
    convolutions, strides of 2, 4, 5 and 8, and the mirrored decoder."""
    net = Net()
    x = net.causal((batch, 1, *image), 32, 7)
    for stride in (2, 4, 5, 8):
        x = net.causal(net.causal(x, x[1], 3), x[1], 3)
        x = net.conv((*x[:2], x[2] + stride), 2 * x[1], 2 * stride, stride, pad=0)
    x = net.causal(net.causal(x, 128, 7), 512, 7)
    for stride in (8, 5, 4, 2):
        length = x[2] * stride  # the transposed convolution makes more, which is cut off
        x = (*net.up(x, x[1] // 2, 2 * stride, stride)[:2], length)
        x = net.causal(net.causal(x, x[1], 3), x[1], 3)
    net.causal(x, 1, 7)
    return net.trace


def tcn(batch: int, image: Lengths) -> Trace:
    """TCN for polyphonic music (Bai et al., 2018, An empirical evaluation of generic convolutional and recurrent
    networks, table 2): four levels of 150 channels with filters of 5."""
    net, x = Net(), (batch, 88, *image)
    net.conv(x, 150, 1)
    for level in range(4):
        for _ in range(2):
            x = net.causal(x, 150, 5, dilation=1 << level)
    return net.trace


def light_conv(batch: int, image: Lengths) -> Trace:
    """The causal depthwise convolutions of a decoder of lightweight convolutions (Wu et al., 2019, Pay less attention
    with lightweight and dynamic convolutions, section 4.3): filters of 3 to 31 words, 1024 channels."""
    net = Net()
    for filter in (3, 7, 15, 31, 31, 31, 31):
        net.causal((batch, 1024, *image), 1024, filter, groups=1024)
    return net.trace


def tacotron2(batch: int, image: Lengths) -> Trace:
    """Tacotron 2 (Shen et al., 2018, Natural TTS synthesis, section 2.2): three convolutions of the encoder on a fifth
    as many characters as frames, five of the network after the decoder."""
    net, words = Net(), (batch, 512, image[0] // 5)
    for _ in range(3):
        net.conv(words, 512, 5)
    x: Lengths = (batch, 80, *image)
    for width in (512, 512, 512, 512, 80):
        x = net.conv(x, width, 5)
    return net.trace


def mamba(batch: int, image: Lengths) -> Trace:
    """Mamba 130M (Gu and Dao, 2023, Mamba: linear-time sequence modeling, section 3.4): in each of 24 blocks a causal
    depthwise convolution of 4 words. It has pads on both sides, and what is too long is cut off."""
    net = Net()
    for _ in range(24):
        net.conv((batch, 1536, *image), 1536, 4, pad=3, groups=1536)
    return net.trace


def eeg_net(batch: int, image: Lengths) -> Trace:
    """EEGNet-8,2 (Lawhern et al., 2018, EEGNet, table 2): filters along time, then along 64 electrodes with a depth
    multiplier of 2. The input is padded by a separate operation."""
    net, electrodes, time = Net(), 64, image[0]
    net.conv((batch, 1, electrodes, time + 63), 8, (1, 64), pad=0)
    x = net.conv((batch, 8, electrodes, time), 16, (electrodes, 1), pad=0, groups=8)
    x = net.conv((batch, 16, 1, x[3] // 4 + 15), 16, (1, 16), pad=0, groups=16)
    net.conv(x, 16, 1)
    return net.trace


def _entry(
    name: str, paper: str, batches: Lengths, sizes: Lengths, trace: Callable[[int, Lengths], Trace], family: str = ""
) -> Entry:
    return Entry(name, "signal", family or name, paper, batches, tuple((edge,) for edge in sizes), trace)


ENTRIES = [
    _entry("mamba_130m", "Gu and Dao 2023", (4, 16), (512, 2048), mamba),
    _entry("wavenet", "van den Oord et al. 2016", (4, 16), (8000, 16000), wave_net),
    _entry("conv_tasnet", "Luo and Mesgarani 2019", (4, 16), (16000, 32000), conv_tas_net),
    _entry("demucs", "Defossez et al. 2019", (4, 16), (44100, 220500), demucs),
    _entry("conformer_l", "Gulati et al. 2020", (4, 32), (400, 1600), conformer),
    _entry("quartznet_15x5", "Kriman et al. 2020", (8, 32), (400, 1600), quartz_net),
    _entry("hifigan_v1", "Kong et al. 2020", (4, 16), (32, 128), hifi_gan, "hifigan"),
    _entry("encodec_24khz", "Defossez et al. 2022", (4, 16), (24000, 96000), en_codec),
    _entry("tcn_music", "Bai et al. 2018", (8, 32), (256, 1024), tcn),
    _entry("lightconv", "Wu et al. 2019", (8, 32), (64, 512), light_conv),
    _entry("eegnet", "Lawhern et al. 2018", (16, 64), (128, 512), eeg_net),
    _entry("tacotron2", "Shen et al. 2018", (16, 64), (200, 800), tacotron2),
]

"""Rules of family depthwise; those of types and specializations are family depthwise_tma's too."""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.families.rules.shared import LDS_BYTES
from ckgen.operations.operation import BWD_DATA

DEPTHWISE_DTYPE = Rule(
    id="depthwise-dtype",
    scope="domain",
    condition="elem_bytes >= 2 and as_stored == 1",
    sentence="tensors are f16, bf16 or f32, and their elements are multiplied as they are",
    message="{family} has no {dtype} instances",
    help="use f16, bf16, f32 or bf16_f32_bf16, or family xdl",
    reason="Lanes multiply elements as f32, which int8 would overflow, straight from memory without rounding them.",
    blame=("dtype",),
)
DEPTHWISE_SPEC = Rule(
    id="depthwise-spec",
    scope="domain",
    condition="not pointwise and not generic",
    sentence="conv_spec is Default and the instance not generic",
    message="{family} has no generic instances and no conv_spec but Default",
    help="use conv_spec Default and leave `generic` out",
    reason="The kernel takes groups of one input channel only, with every filter.",
    blame=("conv_spec", "generic"),
)
RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    DEPTHWISE_DTYPE,
    DEPTHWISE_SPEC,
    Rule(
        id="depthwise-layout",
        scope="domain",
        condition="n_per_block == 1 or (channels_last and not groups_outermost)",
        sentence="the groups are beside each other in memory, as in NHWGC, or the tile has one group",
        message="{family} has no tile of {n_per_block} groups in {layout}",
        help="use NWGC, NHWGC or NDHWGC, in backward data NWGK, NHWGK or NDHWGK; or a tile of one group, such as 3x1",
        reason="Neighbouring lanes read neighbouring groups, or neighbouring positions of one group.",
        blame=("layout", "tile"),
    ),
    Rule(
        id="depthwise-vector",
        scope="domain",
        condition=("b_vector == 1 and c_vector == 1 and 16 % (a_vector * elem_bytes) == 0"),
        sentence="a lane accesses a power of two of groups, at most 16 bytes, and single weights",
        message="vectors {a_vector}x{b_vector}x{c_vector} of {elem_bytes} bytes",
        help="use an a vector of a power of two up to 16 bytes; leave the others 1",
        reason="The widest vector memory instruction moves 16 bytes per lane.",
        blame=("vector",),
    ),
    Rule(
        id="depthwise-waves",
        scope="domain",
        condition="load_waves == 0 and math_waves == 4 and m_per_xdl == 1",
        sentence="a workgroup has four waves and no matrix atom",
        message="{load_waves} load and {math_waves} math waves, m_per_xdl {m_per_xdl}",
        help="leave `m_per_xdl` out; block_size is 256",
        reason="Values pass from memory to registers; sums of all threads of 256 fit LDS.",
        blame=("block_size", "m_per_xdl"),
    ),
    Rule(
        id="depthwise-stages",
        scope="domain",
        condition="stages >= 1 and stages <= 9 and (stages == 1 or ndim > 1)",
        sentence="a sweep has sums for 1 to 9 filter rows, in one dimension for 1",
        message="{stages} stages in {ndim} dimensions",
        help="use the rows of the filter, or 1 for filters of any size",
        reason="The sums of all taps of these rows are in registers.",
        blame=("stages", "layout"),
    ),
    Rule(
        id="depthwise-tile",
        scope="tile",
        condition=(
            "m_per_block >= 1 and m_per_block <= 16 and n_per_block % a_vector == 0"
            " and (channel_threads == 1 or channel_threads == 2 or channel_threads == 4 or channel_threads == 8"
            " or channel_threads == 16 or channel_threads == 32"
            " or channel_threads == 64)"
        ),
        sentence="the tile is 1 to 16 taps by 1, 2, 4, 8, 16, 32 or 64 vectors of groups",
        message="the tile is {m_per_block}x{n_per_block} with vectors of {a_vector}",
        help="use a tile such as 3x64: taps of a filter row, and groups",
        reason="The products of all taps of a part of a row are summed in registers.",
        blame=("tile", "vector"),
    ),
    Rule(
        id="depthwise-window",
        scope="tile",
        condition="2 * thread_positions + m_per_block <= 34",
        sentence="the taps of a strip read at most 32 positions",
        message="{thread_positions} positions per thread and {m_per_block} taps",
        help="use a smaller k_per_block",
        reason="A word has a bit for each position that a strip reads.",
        blame=("k_per_block", "tile"),
    ),
    Rule(
        id="depthwise-positions",
        scope="tile",
        condition="k_per_block % position_threads == 0 and thread_positions >= 1 and thread_positions <= 16",
        sentence="a thread computes 1 to 16 positions at once",
        message="{k_per_block} positions for {position_threads} threads",
        help="use a k_per_block that is 1 to 16 times the threads that have the same groups",
        reason="The positions of a strip are summed in registers.",
        blame=("k_per_block", "tile"),
    ),
    Rule(
        id="depthwise-weights",
        scope="tile",
        condition="m_per_block * n_per_block * 4 <= lds_bytes",
        sentence="the weights of a tile's taps and groups fit LDS as f32",
        message="{m_per_block} taps of {n_per_block} groups, and {lds_bytes} bytes of LDS",
        help="use fewer taps or a smaller a vector, such as 8x512 or 16x64",
        reason="Backward data multiplies from LDS; more taps of a filter row follow one after the other.",
        blame=("tile", "vector"),
        operations=(BWD_DATA,),
    ),
)

"""`limits:` of a spec: upper limits for the machine code of instances, for `ckgen isa --check`.

    defaults:
      limits: {spills: 0, scratch: 0}
      wavelet:
        limits: {math: {valu_per_matrix: 0.5}, load: {valu_per_tile: 130}}

The value of a key comes from the group if that gives it, else from its family's defaults, else from the defaults.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ckgen.spec.types import Model

AtMost = Annotated[int, Field(ge=0)]
Ratio = Annotated[float, Field(ge=0)]


class LoopLimits(Model):
    """Limits of one role's loop, on the path that nearly all iterations take."""

    valu_per_matrix: Ratio | None = Field(None, description="VALU instructions per matrix instruction, at most.")
    valu_per_tile: Ratio | None = Field(None, description="VALU instructions of a wave per tile, at most.")
    exposed_loads: AtMost | None = Field(None, description="Loads waited for in the iteration that starts them.")


class Limits(Model):
    """Limits for the machine code of an instance, on every AMD architecture in its archs."""

    spills: AtMost | None = Field(None, description="Registers written to memory for want of others, at most.")
    scratch: AtMost | None = Field(None, description="Bytes of scratch memory per lane, at most.")
    vgprs: AtMost | None = Field(None, description="Vector registers per lane, AGPRs among them, at most.")
    lds_bytes: AtMost | None = Field(None, description="Bytes of LDS per workgroup, at most.")
    code_bytes: AtMost | None = Field(None, description="Bytes of machine code, at most.")
    waves: Ratio | None = Field(None, description="Waves that a SIMD holds, at least.")
    main: LoopLimits | None = Field(None, description="The loop of family xdl.")
    math: LoopLimits | None = Field(None, description="The loop of the wavelet's math waves.")
    load: LoopLimits | None = Field(None, description="The loop of the wavelet's load waves.")

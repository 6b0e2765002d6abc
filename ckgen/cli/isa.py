"""ckgen isa: registers, occupancy and loops of compiled instances, shown or checked against limits without a GPU."""

from __future__ import annotations

import click

from ckgen.cli.common.declared import declared_by
from ckgen.cli.run.isa_options import IsaOptions


@click.command("isa", short_help="Show or check registers, occupancy and loops of compiled code.")
@declared_by(IsaOptions)
def isa_command(options: IsaOptions) -> int:
    """Compile instances for AMD GPUs and analyse the machine code; no GPU is needed. For FILTER see `ckgen list
    --help`.

    Prints registers, spills, scratch, LDS, waves per SIMD and code size, and the instruction mix per iteration on the
    hot path of the main loop (for wavelet: of both the load loop and the math loop). docs/isa.md explains the columns.
    The assembly is kept below build/. --check compares a table only if it was written with the same compiler release;
    it always checks the limits.

    For NVIDIA architectures, prints what ptxas reports: registers, spills and shared memory, and how many blocks fit
    on a multiprocessor.

    \b
    Examples:
      ckgen isa '*wavelet*' dtype=f16 --arch gfx942
      ckgen isa tile=128x128 --arch gfx90a --arch gfx950 --loops
      ckgen isa tile=128x128 dtype=f16 ndim=2 --arch gfx942 --simulate
      ckgen isa --set ci --check
    """
    from ckgen.cli.run.isa_run import isa

    return isa(options)

// Names of CK's pipelines of a kernel's loop.
#pragma once

namespace ck {

enum struct LoopScheduler { Default, Interwave };
inline constexpr LoopScheduler make_default_loop_scheduler() { return LoopScheduler::Default; }

enum struct PipelineVersion { v1, v2, v4, weight_only };

enum struct BlockGemmPipelineScheduler { Intrawave, Interwave };
enum struct BlockGemmPipelineVersion { v1, v2, v3, v4, v5 };

}  // namespace ck

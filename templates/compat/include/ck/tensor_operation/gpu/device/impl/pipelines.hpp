// CK's names for the pipelines of a kernel's loop.
#pragma once

#include <string>

namespace ck {

enum struct LoopScheduler { Default, Interwave };
inline constexpr LoopScheduler make_default_loop_scheduler() { return LoopScheduler::Default; }

enum struct PipelineVersion { v1, v2, v4, weight_only };

enum struct BlockGemmPipelineScheduler { Intrawave, Interwave };
enum struct BlockGemmPipelineVersion { v1, v2, v3, v4, v5 };

namespace of_arguments {

constexpr int number_of(BlockGemmPipelineVersion version) { return static_cast<int>(version) + 1; }
constexpr int buffers_of(BlockGemmPipelineVersion version) { return version == BlockGemmPipelineVersion::v4 ? 2 : 1; }

// The words of type strings.
inline std::string word_of(BlockGemmPipelineVersion version) {
    return "BlkGemmPipelineVersion: v" + std::to_string(number_of(version));
}
inline std::string word_of(BlockGemmPipelineScheduler scheduler) {
    const bool interwave = scheduler == BlockGemmPipelineScheduler::Interwave;
    return std::string("BlkGemmPipelineScheduler: ") + (interwave ? "Interwave" : "Intrawave");
}

}  // namespace of_arguments

}  // namespace ck

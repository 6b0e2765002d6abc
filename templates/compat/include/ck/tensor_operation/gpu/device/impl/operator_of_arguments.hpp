// Operators of CK's class templates: a kernel that the program itself compiles, with the values that the
// template arguments give and those that follow from them.
#pragma once

#include <memory>
#include <sstream>
#include <type_traits>
#include <utility>

#include "ck/ck.hpp"
#include "ck/host_utility/device_prop.hpp"
#include "ck/tensor_operation/gpu/device/impl/data_types.hpp"
#include "ck/tensor_operation/gpu/device/impl/pipelines.hpp"
#include "ck/utility/sequence.hpp"
#include "ckgen/atom/select.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/library/device_arch.hpp"
#include "ckgen/op/device_base.hpp"
#include "ckgen/platform/platform.hpp"

namespace ck::of_arguments {

#if CKGEN_PLATFORM_AMD
// Unit: the matrix unit that the kernel needs. For architectures without it the code is empty, and unit_reason()
// refuses the device.
template <class Kernel, int Unit>
__attribute__((global))
__attribute__((amdgpu_flat_work_group_size(Kernel::launch_threads, Kernel::launch_threads))) void
kernel(typename Kernel::Args args) {
#if CKGEN_DEVICE_PASS
    if constexpr(atom::kMatrixUnit<Unit>) {
        static __attribute__((shared)) __attribute__((aligned(16))) char lds[Kernel::lds_bytes];
        platform::Thread thread((platform::Thread::LdsPointer)lds);
        Kernel::run(args, thread);
    }
#endif
    static_cast<void>(args);
}
template <class Kernel, int Unit = atom::kDotUnit>
const void* entry() {
    return reinterpret_cast<const void*>(&kernel<Kernel, Unit>);
}
#else
template <class Kernel, int Unit = atom::kDotUnit>
platform::KernelEntry entry() {
    static_assert(CKGEN_PLATFORM_HOST, "class templates make kernels for the host and for AMD GPUs only");
#if CKGEN_PLATFORM_HOST
    return platform::entry_of<Kernel>();
#else
    return {};
#endif
}
#endif

// Why the current device cannot run kernels that need a matrix unit; empty if it can or if there is no device.
template <int Unit>
std::string unit_reason() {
#if CKGEN_PLATFORM_AMD
    const std::string arch = device_arch();
    const bool has_mfma = arch.compare(0, 4, "gfx9") == 0;
    const bool has_wmma = arch.compare(0, 5, "gfx11") == 0 || arch.compare(0, 5, "gfx12") == 0;
    if(!arch.empty() && Unit != atom::kDotUnit && !(Unit == atom::kWmmaUnit ? has_wmma : has_mfma))
        return "[arch] " + arch + " does not have the matrix unit of this class";
#endif
    return {};
}

// The data type set with these types of tensors and of operands; void if no instance has them.
template <class In, class Wei, class Out, class ComputeA, class ComputeB, class... Known>
struct DataTypeOf {
    using type = void;
};
template <class In, class Wei, class Out, class ComputeA, class ComputeB, class First, class... Others>
struct DataTypeOf<In, Wei, Out, ComputeA, ComputeB, First, Others...>
    : std::conditional_t<std::is_same_v<In, typename First::In> && std::is_same_v<Wei, typename First::Wei> &&
                             std::is_same_v<Out, typename First::Out> &&
                             std::is_same_v<ComputeA, typename First::ComputeA> &&
                             std::is_same_v<ComputeB, typename First::ComputeB>,
                         std::common_type<First>, DataTypeOf<In, Wei, Out, ComputeA, ComputeB, Others...>> {};
template <class In, class Wei, class Out, class ComputeA, class ComputeB>
using data_type_of = typename with_data_types<DataTypeOf, In, Wei, Out, ComputeA, ComputeB>::type;

// The type in which the sums of a data type set are kept.
template <class DataType>
struct AccumulatorOf {
    using type = typename DataType::Accumulator;
};
template <>
struct AccumulatorOf<void> {
    using type = void;
};

// The types of CK's class template: of the tensors, of the sums and of the operands, with the data type set that has
// them.
template <class InData, class WeiData, class OutData, class Sums, class OperandA, class OperandB = OperandA>
struct Types {
    using In = InData;
    using Wei = WeiData;
    using Out = OutData;
    using ComputeA = OperandA;
    using ComputeB = OperandB;
    using DataType = data_type_of<In, Wei, Out, ComputeA, ComputeB>;
    static_assert(!std::is_void_v<DataType>,
                  "no data type of ckgen has these types of tensors and operands: docs/support.md lists them");
    static_assert(std::is_same_v<Sums, typename AccumulatorOf<DataType>::type>,
                  "ckgen accumulates in f32, products of int8 in i32");
};

template <index_t NDim, class In, class Wei, class Out>
struct LayoutOf {
    using type = layout::Triple<NDim, In, Wei, Out>;
};

// The vector of a tile's reads: as given, or narrower where a write to LDS would have less than 4 bytes.
constexpr index_t narrowed(index_t vector, index_t elements, index_t bytes) {
    while(vector > 1 && elements / vector * bytes < 4)
        vector /= 2;
    return vector;
}

// The fields of an instance that both operations have; docs/rules.md explains the rules. ATransposed: A is transposed
// on its way to LDS, as B always is. Wave: the threads of a wave, 32 for WMMA.
template <index_t BlockSize, index_t MPerBlock, index_t NPerBlock, index_t KPerBlock, index_t MPerXdl, index_t NPerXdl,
          index_t AVector, index_t BVector, index_t CVector, index_t Stages, bool Pointwise, bool ATransposed,
          index_t Bytes, index_t Pipeline = 0, bool Interwave = false, index_t Wave = 64>
struct Tile {
    static_assert(BlockSize % Wave == 0, "BlockSize is a whole number of waves");
    static_assert(MPerXdl == NPerXdl, "ckgen's matrix atoms are square: MPerXdl and NPerXdl must be equal");
    static constexpr ConvSpec conv_spec = Pointwise ? ConvSpec::Filter1x1Stride1Pad0 : ConvSpec::Default;
    static constexpr int m_per_block = MPerBlock, n_per_block = NPerBlock, k_per_block = KPerBlock;
    static constexpr int m_per_xdl = MPerXdl, load_waves = 0, math_waves = BlockSize / Wave, stages = Stages;
    static constexpr int a_vector = ATransposed ? narrowed(AVector, MPerBlock* KPerBlock / BlockSize, Bytes) : AVector;
    static constexpr int b_vector = narrowed(BVector, NPerBlock* KPerBlock / BlockSize, Bytes), c_vector = CVector;
    static constexpr int pipeline_version = Pipeline;
    static constexpr bool interwave = Interwave, generic = false;
};

// A tile that has several groups.
template <index_t Groups, class OneGroup>
struct MergedTile : OneGroup {
    static constexpr int groups_to_merge = Groups;
};

// CK's type string: a name and values in angle brackets.
template <class First, class... Values>
std::string type_string(const std::string& name, const First& first, const Values&... values) {
    std::ostringstream text;
    text << name << '<' << first;
    ((text << ", " << values), ...);
    text << '>';
    return text.str();
}

// The number of elements in a piece of a tile whose lengths are in a Sequence.
template <class Lengths>
struct Elements;
template <index_t... Lengths>
struct Elements<Sequence<Lengths...>> {
    static constexpr index_t value = (1 * ... * Lengths);
};

struct NoLimits {
    static std::string reason(const tensor_operation::device::BaseArgument*) { return {}; }
};

// An operator with CK's functions that pass arguments and invokers by value. Make::make() returns the operator
// that does the work, Make::unit is the matrix unit that it needs; the virtual MakeArgumentPointer is left to the
// class. Limits::reason(argument) says why CK's class refuses an argument that the kernel would take, or is empty.
template <class Interface, class Make, class Limits = NoLimits>
class Operator : public Interface {
    using BaseArgument = tensor_operation::device::BaseArgument;

protected:
    static Interface& planned() {
        static const std::unique_ptr<Interface> made = Make::make();
        return *made;
    }

public:
    struct Argument : BaseArgument {
        explicit Argument(std::unique_ptr<BaseArgument> made) : planned_argument(std::move(made)) {}
        std::size_t GetWorkspaceSizeBytes() const { return planned().GetWorkSpaceSize(planned_argument.get()); }
        std::unique_ptr<BaseArgument> planned_argument;
    };

    struct Invoker : tensor_operation::device::BaseInvoker {
        float Run(const Argument& argument, const StreamConfig& config = StreamConfig{}) {
            return Run(static_cast<const BaseArgument*>(&argument), config);
        }
        float Run(const BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return planned().MakeInvokerPointer()->Run(planned_of(argument), config);
        }
    };

    template <class... Values>
    static Argument MakeArgument(const Values&... values) {
        return Argument(planned().MakeArgumentPointer(values...));
    }
    static Invoker MakeInvoker() { return {}; }
    std::unique_ptr<tensor_operation::device::BaseInvoker> MakeInvokerPointer() override {
        return std::make_unique<Invoker>();
    }

    using Interface::IsSupportedArgument;
    static bool IsSupportedArgument(const Argument& argument) { return reason(&argument).empty(); }
    std::string GetUnsupportedReason(const BaseArgument* argument) const override { return reason(argument); }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        return planned().GetWorkSpaceSize(planned_of(argument));
    }
    void SetWorkSpacePointer(BaseArgument* argument, void* workspace,
                             const StreamConfig& config = StreamConfig{}) const override {
        tensor_operation::device::BaseOperator::SetWorkSpacePointer(argument, workspace, config);
        auto* const own = dynamic_cast<Argument*>(argument);
        planned().SetWorkSpacePointer(own == nullptr ? argument : own->planned_argument.get(), workspace, config);
    }
    std::string GetTypeString() const override { return planned().GetTypeString(); }
    std::string GetIdentity() const override { return planned().GetIdentity(); }

private:
    static std::string reason(const BaseArgument* argument) {
        const BaseArgument* const given = planned_of(argument);
        const std::string without_unit = unit_reason<Make::unit>();
        const std::string refused = without_unit.empty() ? Limits::reason(given) : without_unit;
        return refused.empty() ? planned().GetUnsupportedReason(given) : refused;
    }
    static const BaseArgument* planned_of(const BaseArgument* argument) {
        const auto* own = dynamic_cast<const Argument*>(argument);
        if(own == nullptr)
            return argument;
        own->planned_argument->p_workspace_ = own->p_workspace_;
        return own->planned_argument.get();
    }
};

}  // namespace ck::of_arguments

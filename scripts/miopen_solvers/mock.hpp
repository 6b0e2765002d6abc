// A stand-in for MIOpen, for the code of its grouped solvers that calls CK: problem.hpp, and the classes whose members
// that code defines.
#pragma once

#include "problem.hpp"

namespace miopen {
namespace solver {

namespace conv {

using Described = miopen::conv::ProblemDescription;
#define CKGEN_SOLVER(NAME)                                                                                             \
    struct PerformanceConfigHipImplicitGemm##NAME##Xdlops {                                                            \
        int index = 0, split_k = 1;                                                                                    \
        std::string kernel_id;                                                                                         \
        std::vector<std::string> valid_kernels;                                                                        \
        template <class DataType>                                                                                      \
        void Init(const Described&);                                                                                   \
        template <class DataType>                                                                                      \
        bool CheckIsSupportCKArgs(const Described&) const;                                                             \
    };                                                                                                                 \
    struct ConvHipImplicitGemm##NAME##Xdlops {                                                                         \
        template <class DataType>                                                                                      \
        bool CheckCKApplicability(const Described&) const;                                                             \
    };
CKGEN_SOLVER(GroupWrw)
CKGEN_SOLVER(3DGroupWrw)
CKGEN_SOLVER(GroupBwd)
CKGEN_SOLVER(3DGroupBwd)
#undef CKGEN_SOLVER

}  // namespace conv
}  // namespace solver
}  // namespace miopen

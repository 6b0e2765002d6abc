// A plan of the gradients of one problem. It comes from Python as a list of integers, see words() in
// ckgen/torch/candidates.py:
//     for the input's and the weight's gradient:
//         kind: 0 not computed here, 1 zeros, 2 by the library
//         strides of the result (count and values)
//         kind 2: strides of the final copy (count 0: none); strides of the copies that are read of grad_output and of
//             the other tensor (count 0: read in place); the addresses of ckgen_start, ckgen_transpose,
//             ckgen_last_error, ckgen_release (0: Python keeps the run) and the ckgen_prepared; bytes of workspace
#pragma once

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ckgen_torch {

using Words = std::vector<int64_t>;

// The functions of a library's C API that run a plan.
using Start = int32_t (*)(const void* prepared, void* in, void* wei, const void* out, void* workspace, void* stream);
using Transpose = int32_t (*)(const void* source, void* target, int64_t images, int64_t rows, int64_t columns,
                              int32_t element_bytes, void* stream);
using LastError = const char* (*)();
using Release = void (*)(void* prepared);

struct Step {
    enum Kind : int64_t { Absent, Zeros, Library } kind = Absent;
    Words strides, reordered;
    Words copies[2];  // of grad_output and the other tensor
    Start start = nullptr;
    Transpose transpose = nullptr;
    LastError last_error = nullptr;
    std::shared_ptr<void> prepared;
    int64_t workspace_bytes = 0;
};

struct Plan {
    Step steps[2];  // the gradients of input and weight
};

struct Reader {
    c10::IntArrayRef words;
    size_t at = 0;

    int64_t next() {
        TORCH_CHECK(at < words.size(), "ckgen: a plan ends too early");
        return words[at++];
    }
    Words list() {
        Words values(next());
        for(auto& value : values)
            value = next();
        return values;
    }
    template <class Pointer>
    Pointer pointer() {
        return reinterpret_cast<Pointer>(static_cast<intptr_t>(next()));
    }
};

inline Plan read_plan(c10::IntArrayRef words) {
    Reader reader{words};
    Plan plan;
    for(auto& step : plan.steps) {
        step.kind = static_cast<Step::Kind>(reader.next());
        if(step.kind == Step::Absent)
            continue;
        step.strides = reader.list();
        if(step.kind == Step::Zeros)
            continue;
        step.reordered = reader.list();
        for(auto& copy : step.copies)
            copy = reader.list();
        step.start = reader.pointer<Start>();
        step.transpose = reader.pointer<Transpose>();
        step.last_error = reader.pointer<LastError>();
        const auto release = reader.pointer<Release>();
        step.prepared = {reader.pointer<void*>(), [release](void* run) { release == nullptr ? void() : release(run); }};
        step.workspace_bytes = reader.next();
    }
    return plan;
}

}  // namespace ckgen_torch

// Copied by ckgen from templates/include/ckgen/library/registry.hpp. Do not edit; run: ckgen generate
// Every instance of a library by identity. Each factory has a table of its instances; src/library/registry.cpp, which
// is generated, names the factories.
#pragma once

#include <memory>
#include <vector>

#include "ckgen/library/factory.hpp"
#include "ckgen/library/measured.hpp"
#include "ckgen/op/device_base.hpp"

namespace ckgen {

struct RegistryEntry {
    const char* name;
    std::unique_ptr<tensor_operation::device::BaseOperator> (*make)();
};

struct InstanceFields {
    const char *name, *operation, *family, *layout, *dtype, *function;
    const char* archs;                         // separated by blanks; empty: all
    bool amd_only;                             // no kernel of its family exists for NVIDIA GPUs
    int tile_rows, tile_columns, k_per_block;  // of the result, and of a step along GEMM-K
    int values;                                // read per term of a tile's sums
    int macs;                                  // per term and tap, if they may take longer than reading; else 0
    int a_vector, b_vector, c_vector;
    bool given_copy;  // the spec gives its LDS writes or K1, as for CK's rows
    int weight_rows;  // rows of GEMM-K that stay in LDS: family stationary, else 0
    bool any_filter;  // its conv_spec is Default
    bool all_taps;    // a tile's columns are those of every tap
    bool all_groups;  // a tile's columns run over the groups
    int groups_to_merge;
    bool exchange;  // its product is that of Extents with input and output exchanged
    bool generic;
    int elem_bytes, c_bytes;                      // per element that is read, and written
    int waves, threads;                           // that multiply; of a workgroup
    int lds_bytes, registers;                     // of a workgroup; of a lane, estimated
    double pace;                                  // time of a product in multiples of that at the family's rate
    int tap_step;                                 // K or C channels that a tap of data or weight takes whole numbers of
    int sweep_rows, sweep_columns, sweep_groups;  // taps and groups that a family of sweeps multiplies at once, else 0
    int sweep_positions;                          // that one of its workgroups takes at least, else 0
    // Elements that rows of the output, and of the input or the weight, whichever is operand B, must fill, or the
    // tensor is copied first; 0: never, -1: always.
    int out_unit, b_unit;
    bool overlaps;      // a workgroup stores one tile while it multiplies the next
    bool splits;        // split_k divides its work
    bool sums_columns;  // it computes the products of the problem in conv/col2im.hpp
};

// One instance in the table of a factory; `make` is null if the library leaves the instance out on its platform.
struct FactoryRow {
    InstanceFields fields;
    std::unique_ptr<tensor_operation::device::BaseOperator> (*make)();
};

// Both are in the order of names. Only instance_fields() has the instances that the library leaves out on its platform.
const std::vector<RegistryEntry>& registry();
const std::vector<InstanceFields>& instance_fields();

}  // namespace ckgen

// A row of a factory's table: the name, then the other fields. Use the first after CKGEN_DECLARE_INSTANCE.
#define CKGEN_INSTANCE_ROW(NAME, ...)                                                                                  \
    {{#NAME, __VA_ARGS__}, []() -> std::unique_ptr<::ckgen::tensor_operation::device::BaseOperator> {                  \
         return ::ckgen::instances::make_##NAME();                                                                     \
     }}
#define CKGEN_LEFT_OUT_ROW(NAME, ...) {{#NAME, __VA_ARGS__}, nullptr}

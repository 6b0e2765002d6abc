// Copied by ckgen from templates/src/library/selector.cpp. Do not edit; run: ckgen generate
// The selector: the candidates of a problem in the order of ckgen/selection/candidates.py, without those that this
// library lacks or that do not support the problem.
#include "ckgen/library/selector.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "ckgen/library/device_arch.hpp"
#include "ckgen/library/measured.hpp"
#include "ckgen/library/registry.hpp"
#include "ckgen/library/time_model.hpp"
#include "ckgen/op/operations.hpp"
#include "ckgen/op/runner.hpp"

namespace ckgen::tensor_operation::device::instance {
namespace {

using conv::divide_up;
using conv::Extents;
using conv::saturated;
using Sizes = conv::ProblemSizes;

constexpr int64 kTapSlot = 8;      // K channels that a tap takes at least in backward data: a slot of 16-bit elements
constexpr int64 kMacsAValue = 64;  // products of mma.sync in the time of one value from the cache, on an H200

struct Candidate {
    int fields;  // position in instance_fields()
    int64 split_k;
    SelectedBy source;
    float microseconds;
};

std::array<int64, 3> spatial(const int64* values, int ndim) {
    std::array<int64, 3> result{};
    std::copy_n(values, ndim, result.begin());
    return result;
}

Sizes sizes_of(const conv::Problem& p) {
    const int n = p.ndim;
    return {n,
            p.groups(),
            p.images(),
            p.out_channels(),
            p.in_channels(),
            spatial(&p.wei.lengths[3], n),
            spatial(&p.in.lengths[3], n),
            spatial(p.strides.data(), n),
            spatial(p.dilations.data(), n),
            spatial(p.left_pads.data(), n),
            spatial(p.right_pads.data(), n)};
}

Sizes sizes_of(const MeasuredProblem& p) {
    const auto all = [&](const int64* values) { return spatial(values, p.ndim); };
    return {p.ndim,           p.groups,         p.batch,          p.k, p.c, all(p.filter), all(p.input), all(p.strides),
            all(p.dilations), all(p.left_pads), all(p.right_pads)};
}

// For an operation that does not exist, which no instance has: any sizes.
Extents extents_of(const std::string& operation, const Sizes& p) {
#define CKGEN_EXTENTS(OPERATION)                                                                                       \
    if(operation == OPERATION::name)                                                                                   \
        return OPERATION::extents(p);
    CKGEN_EACH_OPERATION(CKGEN_EXTENTS)
#undef CKGEN_EXTENTS
    return {1, 1, 1, 1, 0};
}

Roles roles_of(const std::string& operation) {
#define CKGEN_ROLES(OPERATION)                                                                                         \
    if(operation == OPERATION::name)                                                                                   \
        return OPERATION::roles;
    CKGEN_EACH_OPERATION(CKGEN_ROLES)
#undef CKGEN_ROLES
    return {};
}

// True if sums are longer than the part of the weight that stays in LDS, so that the kernel writes partials.
bool overflows(const InstanceFields& i, const Extents& own) { return i.weight_rows > 0 && own.k > i.weight_rows; }

// Tiles of the results of all groups, as if each group were one matrix product.
int64 tiles(const InstanceFields& i, const Extents& own, int64 groups) {
    const int64 merged = std::min<int64>(i.groups_to_merge, groups);
    const int64 rows = divide_up(saturated(own.m, own.tap_channels > 0 ? 1 : merged), i.tile_rows);
    const int64 columns = saturated(own.n, i.all_taps ? 1 : own.taps);
    if(i.all_groups)
        return saturated(rows, divide_up(saturated(columns, groups), i.tile_columns));
    return saturated(saturated(rows, divide_up(groups, merged)), divide_up(saturated(columns, merged), i.tile_columns));
}

// Values that a tile reads per term of its sums.
int64 values_per_term(const InstanceFields& i, const Extents& own, const Sizes& sizes) {
    const int64 values = std::max<int64>(i.values, saturated(i.macs, sizes.taps()) / kMacsAValue);
    const int64 merged = std::min<int64>(i.groups_to_merge, sizes.groups);
    if(merged == 1 || own.tap_channels == 0)
        return values;
    // A tap of merged groups has the channels of all. One group's take at least a slot of LDS.
    return saturated(values, divide_up(saturated(own.tap_channels, merged), kTapSlot)) /
           divide_up(own.tap_channels, kTapSlot);
}

// A GPU of compute capability 9.0 runs code for sm_90a.
std::string plain(const std::string& arch) {
    return arch.rfind("sm_", 0) == 0 ? arch.substr(0, arch.find_last_not_of('a') + 1) : arch;
}

bool runs_on(const InstanceFields& i, const std::string& arch) {
    if(i.amd_only && arch.rfind("sm_", 0) == 0)
        return false;
    const std::string archs = i.archs;
    bool nvidia_only = true;
    for(std::size_t at = 0; at < archs.size();) {
        const std::size_t end = std::min(archs.find(' ', at), archs.size());
        const std::string own = archs.substr(at, end - at);
        if(plain(own) == plain(arch))
            return true;
        nvidia_only = nvidia_only && own.rfind("sm_", 0) == 0;
        at = end + 1;
    }
    return archs.empty() || (arch.rfind("gfx", 0) != 0 && !nvidia_only);
}

// Positions in the registry of the instances in instance_fields(); -1 for those that this library left out.
const std::vector<int>& registered() {
    static const std::vector<int> positions = [] {
        std::unordered_map<std::string, int> known;
        for(const RegistryEntry& entry : registry())
            known.emplace(entry.name, static_cast<int>(known.size()));
        std::vector<int> found;
        for(const InstanceFields& fields : instance_fields()) {
            const auto at = known.find(fields.name);
            found.push_back(at == known.end() ? -1 : at->second);
        }
        return found;
    }();
    return positions;
}

// Positions in instance_fields() of the instances in measured_names(); both are in the order of names.
const std::vector<std::size_t>& candidate_positions() {
    static const std::vector<std::size_t> positions = [] {
        std::vector<std::size_t> found;
        std::size_t at = 0;
        for(const char* name : measured_names()) {
            while(std::strcmp(instance_fields()[at].name, name) != 0)
                ++at;
            found.push_back(at);
        }
        return found;
    }();
    return positions;
}

// For each instance by position: true if it may be selected at all.
std::vector<bool> eligible(const SelectionQuery& query, const std::string& arch) {
    std::vector<bool> result;
    for(const InstanceFields& i : instance_fields())
        result.push_back(registered()[result.size()] >= 0 && query.operation == i.operation &&
                         query.layout == i.layout && query.dtype == i.dtype && query.function == i.function &&
                         runs_on(i, arch));
    return result;
}

// Adds the candidates of the problem's row in a table. A generic instance counts only if it was measured.
void add_listed(const SelectionQuery& query, const std::string& arch, const Sizes& sizes, std::vector<bool>& own,
                std::vector<Candidate>& found) {
    for(const MeasuredProblem& row : measured_problems()) {
        if(query.operation != row.operation || plain(row.arch) != plain(arch) || query.layout != row.layout ||
           query.dtype != row.dtype || sizes_of(row).key() != sizes.key())
            continue;
        for(const MeasuredCandidate& c : row.candidates) {
            const std::size_t position = candidate_positions()[static_cast<std::size_t>(c.instance)];
            if(!own[position] || (row.predicted && instance_fields()[position].generic))
                continue;
            own[position] = false;
            found.push_back({static_cast<int>(position), c.split_k,
                             row.predicted ? SelectedBy::Predicted : SelectedBy::Measured, c.microseconds});
        }
    }
}

// The positions that a tap of backward data reaches are those of one of so many matrix products along a dimension.
int64 sub_gemms(const Sizes& p, int d) { return p.strides[d] / std::gcd(p.strides[d], p.dilations[d]); }

// 1 if the rows of a tensor do not begin at lines of the cache.
double breaks_lines(const InstanceFields& i, const Sizes& p, TensorName tensor) {
    const std::string layout = i.layout;  // of input, weight and output
    int64 pitch = p.c;
    if(tensor == TensorName::in)
        pitch = layout[layout.find('/') - 1] == 'C' ? p.groups * p.c : p.input_positions() / p.batch;
    else if(tensor == TensorName::out)
        pitch = layout.back() == 'K' ? p.groups * p.k : p.output_positions() / p.batch;
    return static_cast<double>(pitch * i.elem_bytes % time_model::kLineBytes > 0);
}

// Times that a family of sweeps multiplies each position by a unit of taps; 0 for matrix products.
int64 passes(const InstanceFields& i, const Extents& own, const Sizes& p) {
    if(i.sweep_groups == 0)
        return 0;
    return p.product(p.k, [&](int d) {
        const int64 unit = d == p.ndim - 1 ? i.sweep_columns : d == p.ndim - 2 ? i.sweep_rows : 1;
        return divide_up(own.tap_channels > 0 ? divide_up(p.filter[d], sub_gemms(p, d)) : p.filter[d], unit);
    });
}

time_model::Numbers numbers_of(const InstanceFields& i, const Extents& own, const Sizes& p) {
    const auto real = [](int64 value) { return static_cast<double>(value); };
    const Roles roles = roles_of(i.operation);
    const int64 a = p.elements(roles.a), b = p.elements(roles.b), c = p.elements(roles.c);
    time_model::Numbers n{};
    n.rows = i.tile_rows, n.columns = i.tile_columns, n.k_per_block = i.k_per_block, n.values = i.values;
    n.a_vector = i.a_vector, n.b_vector = i.b_vector, n.elem_bytes = i.elem_bytes, n.c_bytes = i.c_bytes;
    n.waves = i.waves, n.threads = i.threads, n.lds_bytes = i.lds_bytes, n.registers = i.registers;
    n.gathered = i.any_filter && i.layout[std::strlen(i.layout) - 1] != 'K';
    n.tap_step = i.tap_step, n.sweep_taps = i.sweep_rows * i.sweep_columns, n.sweep_groups = std::max(1, i.sweep_groups);
    n.tiles = real(tiles(i, own, p.groups)), n.groups = real(p.groups), n.terms = real(own.k);
    n.tap_channels = real(own.tap_channels * std::min<int64>(i.groups_to_merge, p.groups));
    n.mean_taps = real(p.taps()) / real(p.product(1, [&](int d) { return sub_gemms(p, d); }));
    n.tile_taps = real(i.all_taps ? own.taps : 1), n.result_columns = real(own.n);
    n.written = real(c), n.compulsory = real((a + b) * i.elem_bytes + c * i.c_bytes), n.a_bytes = real(a * i.elem_bytes);
    n.a_lines = breaks_lines(i, p, roles.a), n.b_lines = breaks_lines(i, p, roles.b);
    n.positions = real(p.product(
        p.batch, [&](int d) { return own.tap_channels > 0 ? p.input[d] : std::max(p.input[d], p.output(d)); }));
    n.passes = real(passes(i, own, p));
    return n;
}

// The candidate with the fastest of the split-K factors that ckgen/selection/time_model.py compares, and its time.
std::pair<double, Candidate> timed(int position, const time_model::Device& device, const time_model::Row& row, const Extents& own,
                                   const Sizes& p) {
    const InstanceFields& i = instance_fields()[static_cast<std::size_t>(position)];
    time_model::Numbers numbers = numbers_of(i, own, p);
    const int64 least = i.splits ? divide_up(own.k, i.weight_rows > 0 ? i.weight_rows : own.k) : 1;
    const int64 most = i.splits ? std::min<int64>(divide_up(own.k, i.k_per_block), time_model::kMostSplits) : 1;
    std::pair<double, int64> best{std::numeric_limits<double>::infinity(), least};
    const auto compare = [&](int64 factor) {
        numbers.split_k = static_cast<double>(factor);
        best = std::min(best, std::pair{time_model::evaluate(numbers, device, row), factor});
    };
    compare(least);
    for(int at = 0; at < time_model::kPowers + time_model::kFills; ++at) {
        const int64 fill = (at - time_model::kPowers + 1) * static_cast<int64>(device.units) / tiles(i, own, p.groups);
        const int64 factor = at < time_model::kPowers ? int64{1} << at : fill;
        if(factor >= least && factor <= most)
            compare(factor);
    }
    const SelectedBy source = std::strncmp(row.arch, "sm_", 3) == 0 ? SelectedBy::Model : SelectedBy::Predicted;
    return {best.first, {position, i.splits ? best.second : -1, source, static_cast<float>(best.first)}};
}

// Adds the candidates that the model of time has coefficients for, in the order of predicted times. LDS writes of the
// spec are not in the model.
void add_timed(const SelectionQuery& query, const std::string& arch, const Sizes& sizes, const Extents& extents,
               std::vector<bool>& own, std::vector<Candidate>& found) {
    std::vector<std::tuple<double, bool, Candidate>> candidates;
    for(std::size_t position = 0; position < own.size(); ++position) {
        const InstanceFields& i = instance_fields()[position];
        if(!own[position] || i.generic || i.given_copy)
            continue;
        for(const time_model::Row& row : time_model::all_rows()) {
            if(plain(row.arch) != plain(arch) || query.operation != row.operation || query.dtype != row.dtype ||
               std::strcmp(i.family, row.family) != 0)
                continue;
            const time_model::Device* device = time_model::all_devices().begin();
            while(std::strcmp(device->arch, row.arch) != 0)
                ++device;
            const auto [time, candidate] = timed(static_cast<int>(position), *device, row, extents, sizes);
            candidates.emplace_back(time, i.any_filter, candidate);
            own[position] = false;
        }
    }
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
        const auto order = [](const auto& one) {
            return std::make_tuple(std::get<0>(one), std::get<1>(one), std::get<2>(one).fields);
        };
        return order(a) < order(b);
    });
    for(const auto& candidate : candidates)
        found.push_back(std::get<2>(candidate));
}

// Sort key of an instance for which nothing was measured. Vectors of the tensors that are read count before those of
// the tensor that is written, which the main loop does not access.
auto rule_order(int position, const Extents& own, const Sizes& sizes) {
    const InstanceFields& i = instance_fields()[static_cast<std::size_t>(position)];
    const int64 values = values_per_term(i, own, sizes);
    const int read_vectors = i.a_vector + i.b_vector;
    // Tiles of a matrix product that are filled with single elements are no better than the generic instance unless
    // they move less. Family depthwise, whose tiles are single positions, wastes nothing.
    const bool single = read_vectors + i.c_vector == 3 && i.tile_rows * i.tile_columns > 1;
    // Merged groups that share GEMM-K: those of one channel are left to family depthwise; of equal traffic more groups
    // come first, whose rows of memory are longer.
    const int64 merged = own.tap_channels > 0 ? std::min<int64>(i.groups_to_merge, sizes.groups) : 1;
    return std::make_tuple(i.generic || single || (merged > 1 && sizes.c == 1), overflows(i, own),
                           saturated(tiles(i, own, sizes.groups), values), -merged, i.given_copy, -read_vectors,
                           -i.c_vector, i.any_filter, position);
}

std::vector<Candidate> chain(const SelectionQuery& query, const std::string& arch) {
    const Sizes sizes = sizes_of(query.problem);
    const Extents extents = extents_of(query.operation, sizes);
    std::vector<bool> own = eligible(query, arch);
    std::vector<Candidate> found;
    add_listed(query, arch, sizes, own, found);
    add_timed(query, arch, sizes, extents, own, found);
    std::vector<int> rest;
    for(std::size_t position = 0; position < own.size(); ++position)
        if(own[position])
            rest.push_back(static_cast<int>(position));
    std::sort(rest.begin(), rest.end(),
              [&](int a, int b) { return rule_order(a, extents, sizes) < rule_order(b, extents, sizes); });
    for(const int position : rest)
        found.push_back(
            {position, -1,
             instance_fields()[static_cast<std::size_t>(position)].generic ? SelectedBy::Generic : SelectedBy::Rule,
             0.f});
    return found;
}

// Empty if the candidate supports the problem.
std::string refusal(const Candidate& candidate, const SelectionQuery& query) {
    const std::unique_ptr<BaseOperator> op =
        registry()[static_cast<std::size_t>(registered()[static_cast<std::size_t>(candidate.fields)])].make();
    conv::Problem problem = query.problem;
    problem.split_k = static_cast<int>(candidate.split_k);
    const auto argument = dynamic_cast<ConvRunner&>(*op).MakeProblemArgument(
        problem, query.fusion, const_cast<void*>(query.p_in), const_cast<void*>(query.p_wei), query.p_out);
    return op->GetUnsupportedReason(argument.get());
}

// True if the chain can be computed. Instances refuse all other problems.
bool sound(const conv::Problem& p) {
    bool result = p.ndim >= 1 && p.ndim <= 3;
    for(int at = 0; result && at < 3 + p.ndim; ++at)
        result = p.in.lengths[at] > 0 && p.wei.lengths[at] > 0 && p.out.lengths[at] > 0;
    for(int d = 0; result && d < p.ndim; ++d)
        result = p.strides[d] > 0 && p.dilations[d] > 0;
    return result;
}

}  // namespace

std::vector<SelectedInstance> SelectInstances(const SelectionQuery& query, std::size_t most, std::string* reason) {
    const std::string arch = query.arch.empty() ? device_arch() : query.arch;
    std::string why = "[instance] there is none for " + query.layout + " " + query.dtype + " on " + arch;
    if(query.operation != operations::default_name)
        why += " that does " + query.operation + " with " + query.function;
    const bool whole = sound(query.problem);
    if(!whole)
        why = "[lengths] lengths, strides and dilations must be positive, in 1 to 3 dimensions";
    std::vector<SelectedInstance> found;
    for(const Candidate& candidate : whole ? chain(query, arch) : std::vector<Candidate>{}) {
        if(found.size() >= most)
            break;
        std::string refused = refusal(candidate, query);
        if(refused.empty())
            found.push_back({instance_fields()[static_cast<std::size_t>(candidate.fields)].name,
                             registered()[static_cast<std::size_t>(candidate.fields)],
                             static_cast<index_t>(candidate.split_k), candidate.source, candidate.microseconds});
        else
            why = std::move(refused);
    }
    if(reason != nullptr)
        *reason = std::move(why);
    return found;
}

SelectedInstance SelectInstance(const SelectionQuery& query) {
    std::string reason;
    const std::vector<SelectedInstance> found = SelectInstances(query, 1, &reason);
    if(found.empty())
        throw std::invalid_argument(reason);
    return found.front();
}

}  // namespace ckgen::tensor_operation::device::instance

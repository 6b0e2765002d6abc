// Copied by ckgen from templates/src/library/selector.cpp. Do not edit; run: ckgen generate
// The selector: the candidates of a problem in the order of ckgen/selection/candidates.py, without those that this
// library lacks or that do not support the problem.
#include "ckgen/library/selector.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "ckgen/library/device_arch.hpp"
#include "ckgen/library/measured.hpp"
#include "ckgen/library/registry.hpp"
#include "ckgen/library/timed.hpp"
#include "ckgen/op/operations.hpp"
#include "ckgen/op/runner.hpp"

namespace ckgen::tensor_operation::device::instance {
namespace {

using conv::divide_up;
using conv::Extents;
using conv::saturated;
using time_model::tiles;
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

// Those of the problem whose products the instance computes. For an operation that does not exist, which no instance
// has: any sizes.
Extents extents_of(const InstanceFields& i, const Sizes& p) {
    const std::string operation = i.operation;
    const Sizes seen = time_model::counted(i, p);
#define CKGEN_EXTENTS(OPERATION)                                                                                       \
    if(operation == OPERATION::name)                                                                                   \
        return OPERATION::extents(seen, i.exchange);
    CKGEN_EACH_OPERATION(CKGEN_EXTENTS)
#undef CKGEN_EXTENTS
    return {1, 1, 1, 1, 0};
}

Roles roles_of(const InstanceFields& i) {
    const std::string operation = i.operation;
#define CKGEN_ROLES(OPERATION)                                                                                         \
    if(operation == OPERATION::name)                                                                                   \
        return i.exchange ? Roles{OPERATION::roles.b, OPERATION::roles.a, OPERATION::roles.c} : OPERATION::roles;
    CKGEN_EACH_OPERATION(CKGEN_ROLES)
#undef CKGEN_ROLES
    return {};
}

// True if sums are longer than the part of the weight that stays in LDS, so that the kernel writes partials.
bool overflows(const InstanceFields& i, const Extents& own) { return i.weight_rows > 0 && own.k > i.weight_rows; }

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

// A GPU of compute capability 9.0 runs code for sm_90a; features after a colon (gfx90a:xnack+) do not count.
std::string plain(const std::string& arch) {
    return arch.substr(0, arch.rfind("sm_", 0) == 0 ? arch.find_last_not_of('a') + 1 : arch.find(':'));
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

std::string kind_of(const std::string& operation, const std::string& layout, const std::string& dtype,
                    const std::string& function) {
    return operation + ' ' + layout + ' ' + dtype + ' ' + function;
}

// Positions in instance_fields() of the instances that are in the registry, by kind.
const std::unordered_map<std::string, std::vector<std::size_t>>& held_by_kind() {
    static const std::unordered_map<std::string, std::vector<std::size_t>> positions = [] {
        std::unordered_map<std::string, std::vector<std::size_t>> found;
        for(std::size_t position = 0; position < instance_fields().size(); ++position) {
            const InstanceFields& i = instance_fields()[position];
            if(registered()[position] >= 0)
                found[kind_of(i.operation, i.layout, i.dtype, i.function)].push_back(position);
        }
        return found;
    }();
    return positions;
}

// For each instance by position: true if it may be selected at all.
std::vector<bool> eligible(const SelectionQuery& query, const std::string& arch) {
    std::vector<bool> result(instance_fields().size());
    const auto held = held_by_kind().find(kind_of(query.operation, query.layout, query.dtype, query.function));
    if(held != held_by_kind().end())
        for(const std::size_t position : held->second)
            result[position] = runs_on(instance_fields()[position], arch);
    return result;
}

// Adds the candidates of the problem's row in a table. A generic instance counts only if it was measured.
void add_listed(const SelectionQuery& query, const std::string& arch, const Sizes& sizes, std::vector<bool>& own,
                std::vector<Candidate>& found) {
    for(const MeasuredProblem& row : measured_problems()) {
        if(row.k != sizes.k || row.c != sizes.c || row.batch != sizes.batch || sizes_of(row).key() != sizes.key() ||
           query.operation != row.operation || query.layout != row.layout || query.dtype != row.dtype ||
           plain(row.arch) != plain(arch))
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

// The coefficients of an operation and a data type on an architecture, with its numbers: one row per family.
std::vector<std::pair<const time_model::Row*, const time_model::Device*>> rows_of(const SelectionQuery& query,
                                                                                  const std::string& arch) {
    std::vector<std::pair<const time_model::Row*, const time_model::Device*>> found;
    for(const time_model::Device& device : time_model::all_devices())
        if(plain(device.arch) == plain(arch))
            for(const time_model::Row& row : time_model::all_rows())
                if(std::strcmp(row.arch, device.arch) == 0 && query.operation == row.operation &&
                   query.dtype == row.dtype)
                    found.emplace_back(&row, &device);
    return found;
}

// Adds the candidates that the model of time has coefficients for, in the order of predicted times. LDS writes of the
// spec are not in the model.
void add_timed(const SelectionQuery& query, const std::string& arch, const Sizes& sizes, std::vector<bool>& own,
               std::vector<Candidate>& found) {
    const auto rows = rows_of(query, arch);
    const SelectedBy source = arch.rfind("sm_", 0) == 0 ? SelectedBy::Model : SelectedBy::Predicted;
    std::vector<std::tuple<double, bool, Candidate>> candidates;
    for(std::size_t position = 0; position < own.size(); ++position) {
        const InstanceFields& i = instance_fields()[position];
        if(!own[position] || i.generic || i.given_copy)
            continue;
        for(const auto& [row, device] : rows) {
            if(std::strcmp(i.family, row->family) != 0)
                continue;
            const auto [time, split_k] =
                time_model::fastest(i, *device, *row, roles_of(i), extents_of(i, sizes), sizes);
            candidates.emplace_back(time, i.any_filter,
                                    Candidate{static_cast<int>(position), split_k, source, static_cast<float>(time)});
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
auto rule_order(int position, const Sizes& sizes) {
    const InstanceFields& i = instance_fields()[static_cast<std::size_t>(position)];
    const Extents own = extents_of(i, sizes);
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
    std::vector<bool> own = eligible(query, arch);
    std::vector<Candidate> found;
    add_listed(query, arch, sizes, own, found);
    add_timed(query, arch, sizes, own, found);
    std::vector<decltype(rule_order(0, sizes))> rest;
    for(std::size_t position = 0; position < own.size(); ++position)
        if(own[position])
            rest.push_back(rule_order(static_cast<int>(position), sizes));
    std::sort(rest.begin(), rest.end());
    for(const auto& order : rest) {
        const int position = std::get<std::tuple_size<std::decay_t<decltype(order)>>::value - 1>(order);
        const bool generic = instance_fields()[static_cast<std::size_t>(position)].generic;
        found.push_back({position, -1, generic ? SelectedBy::Generic : SelectedBy::Rule, 0.f});
    }
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

// Copied by ckgen from templates/src/library/selector.cpp. Do not edit; run: ckgen generate
// The selector: the candidates of a problem in the order of ckgen/selection/candidates.py, without those that this
// library lacks or that do not support the problem. It uses integers only, so that Python and C++ agree.
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
#include "ckgen/op/operations.hpp"
#include "ckgen/op/runner.hpp"

namespace ckgen::tensor_operation::device::instance {
namespace {

using conv::divide_up;
using conv::Extents;
using conv::saturated;
using Sizes = conv::ProblemSizes;

constexpr int64 kOctave = 16;  // the unit of distances is a sixteenth of a factor of two
constexpr int64 kFarthest = 6 * kOctave;
constexpr std::size_t kNeighbours = 3;
constexpr int64 kMostSplits = 65536;  // that instances take
constexpr int64 kTapSlot = 8;      // K channels that a tap takes at least in backward data: a slot of 16-bit elements
constexpr int64 kMacsAValue = 64;  // products of mma.sync in the time of one value from the cache, on an H200

struct Candidate {
    int fields;  // position in instance_fields()
    int64 split_k;
    SelectedBy source;
    float microseconds;
};

struct Neighbour {
    bool exact, predicted;
    int64 distance;
    Sizes sizes;
    std::vector<MeasuredCandidate> candidates;  // instance: position in instance_fields()
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
Extents extents_of(const InstanceFields& i, const Sizes& p) {
    const std::string operation = i.operation;
#define CKGEN_EXTENTS(OPERATION)                                                                                       \
    if(operation == OPERATION::name)                                                                                   \
        return OPERATION::extents(p, i.exchange);
    CKGEN_EACH_OPERATION(CKGEN_EXTENTS)
#undef CKGEN_EXTENTS
    return {1, 1, 1, 1, 0};
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

// log2 in sixteenths, linear between powers of two.
int64 octaves(int64 value) {
    value = std::max<int64>(value, 1);  // an empty output; instances refuse it
    int whole = 0;
    while(value >> (whole + 1) != 0)
        ++whole;
    return kOctave * whole + ((kOctave * value) >> whole) - kOctave;
}

int64 distance(const Sizes& a, const Sizes& b) {
    const auto apart = [](int64 x, int64 y) { return std::abs(octaves(x) - octaves(y)); };
    return apart(a.groups, b.groups) + apart(a.k, b.k) + apart(a.c, b.c) + apart(a.taps(), b.taps()) +
           apart(a.output_positions(), b.output_positions());
}

// The split_k for this problem: as many workgroups as in the measurement, sums that are no longer than those of correct
// runs, and at least one GEMM-K tile per workgroup.
int64 scaled(const MeasuredCandidate& candidate, const InstanceFields& i, const Sizes& measured, const Sizes& p) {
    const Extents extents = extents_of(i, p);
    const int64 workgroups = candidate.split_k * tiles(i, extents_of(i, measured), measured.groups);
    const int64 own = tiles(i, extents, p.groups);
    const int64 terms = extents.k;
    int64 wanted = (2 * workgroups + own) / (2 * own);  // rounded to the nearest integer
    wanted = std::max({wanted, divide_up(terms, std::max<int64>(1, candidate.longest_sum)), int64{1}});
    return std::min({wanted, divide_up(terms, i.k_per_block), kMostSplits});
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

std::vector<Neighbour> neighbours(const SelectionQuery& query, const std::string& arch, const Sizes& sizes,
                                  const std::vector<bool>& own) {
    std::vector<Neighbour> found;
    for(const MeasuredProblem& row : measured_problems()) {
        if(query.operation != row.operation || plain(row.arch) != plain(arch) || query.layout != row.layout ||
           query.dtype != row.dtype)
            continue;
        const Sizes other = sizes_of(row);
        Neighbour neighbour{other.key() == sizes.key(), row.predicted, distance(sizes, other), other, {}};
        for(MeasuredCandidate c : row.candidates) {
            const std::size_t position = candidate_positions()[static_cast<std::size_t>(c.instance)];
            c.instance = static_cast<int>(position);
            const bool measured = neighbour.exact && !row.predicted;
            if(own[position] && (measured || !instance_fields()[position].generic))
                neighbour.candidates.push_back(c);
        }
        const bool near = (other.taps() == 1) == (sizes.taps() == 1) && neighbour.distance <= kFarthest;
        if(!neighbour.candidates.empty() && (neighbour.exact || near))
            found.push_back(std::move(neighbour));
    }
    std::stable_sort(found.begin(), found.end(), [](const Neighbour& a, const Neighbour& b) {
        return std::make_tuple(!a.exact, a.distance) < std::make_tuple(!b.exact, b.distance);
    });
    found.resize(std::min(found.size(), kNeighbours));
    return found;
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
    for(const Neighbour& neighbour : neighbours(query, arch, sizes, own))
        for(const MeasuredCandidate& c : neighbour.candidates) {
            const auto position = static_cast<std::size_t>(c.instance);
            const InstanceFields& fields = instance_fields()[position];
            if(!own[position] || (!neighbour.exact && overflows(fields, extents_of(fields, sizes))))
                continue;
            own[position] = false;
            found.push_back({c.instance, neighbour.exact ? c.split_k : scaled(c, fields, neighbour.sizes, sizes),
                             neighbour.predicted ? SelectedBy::Predicted
                             : neighbour.exact   ? SelectedBy::Measured
                                                 : SelectedBy::Neighbour,
                             neighbour.exact ? c.microseconds : 0.f});
        }
    std::vector<int> rest;
    for(std::size_t position = 0; position < own.size(); ++position)
        if(own[position])
            rest.push_back(static_cast<int>(position));
    std::sort(rest.begin(), rest.end(), [&](int a, int b) { return rule_order(a, sizes) < rule_order(b, sizes); });
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

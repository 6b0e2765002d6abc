// Tensors in host memory: lengths, strides and elements.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ck/library/utility/algorithm.hpp"
#include "ck/library/utility/numeric.hpp"
#include "ck/utility/data_type.hpp"

template <class Range>
std::ostream& LogRange(std::ostream& stream, Range&& range, std::string separator) {
    std::string before;
    for(auto&& value : range) {
        stream << before << value;
        before = separator;
    }
    return stream;
}

template <class T, class Range>
std::ostream& LogRangeAsType(std::ostream& stream, Range&& range, std::string separator) {
    std::string before;
    for(auto&& value : range) {
        stream << before << static_cast<T>(value);
        before = separator;
    }
    return stream;
}

// Without strides the tensor is packed, its last dimension innermost.
struct HostTensorDescriptor {
    HostTensorDescriptor() = default;
    template <class Number, class = std::enable_if_t<std::is_convertible_v<Number, std::size_t>>>
    HostTensorDescriptor(std::initializer_list<Number> lengths)
        : mLens(lengths.begin(), lengths.end()), mStrides(packed(mLens)) {}
    template <class Number, class Step, class = std::enable_if_t<std::is_convertible_v<Step, std::size_t>>>
    HostTensorDescriptor(std::initializer_list<Number> lengths, std::initializer_list<Step> strides)
        : mLens(lengths.begin(), lengths.end()), mStrides(strides.begin(), strides.end()) {}
    // For lists of numbers of several types.
    HostTensorDescriptor(std::initializer_list<ck::long_index_t> lengths)
        : mLens(lengths.begin(), lengths.end()), mStrides(packed(mLens)) {}
    HostTensorDescriptor(std::initializer_list<ck::long_index_t> lengths,
                         std::initializer_list<ck::long_index_t> strides)
        : mLens(lengths.begin(), lengths.end()), mStrides(strides.begin(), strides.end()) {}
    template <class Lengths,
              class = std::enable_if_t<std::is_convertible_v<ck::ranges::range_value_t<const Lengths>, std::size_t>>>
    HostTensorDescriptor(const Lengths& lengths)
        : mLens(std::begin(lengths), std::end(lengths)), mStrides(packed(mLens)) {}
    template <class Lengths, class Strides,
              class = std::enable_if_t<std::is_convertible_v<ck::ranges::range_value_t<const Strides>, std::size_t>>>
    HostTensorDescriptor(const Lengths& lengths, const Strides& strides)
        : mLens(std::begin(lengths), std::end(lengths)), mStrides(std::begin(strides), std::end(strides)) {}

    const std::vector<std::size_t>& GetLengths() const { return mLens; }
    const std::vector<std::size_t>& GetStrides() const { return mStrides; }
    std::size_t GetNumOfDimension() const { return mLens.size(); }
    std::size_t GetElementSize() const {
        std::size_t count = 1;
        for(const std::size_t length : mLens)
            count *= length;
        return count;
    }
    // Elements of the memory that the tensor covers, gaps included.
    std::size_t GetElementSpaceSize() const {
        std::size_t last = 0;
        for(std::size_t i = 0; i < mLens.size(); ++i) {
            if(mLens[i] == 0)
                return 0;
            last += (mLens[i] - 1) * mStrides[i];
        }
        return last + 1;
    }
    std::size_t GetOffsetFromMultiIndex(const std::vector<std::size_t>& index) const {
        std::size_t offset = 0;
        for(std::size_t i = 0; i < index.size(); ++i)
            offset += index[i] * mStrides[i];
        return offset;
    }
    template <class... Indices, class = std::enable_if_t<(std::is_convertible_v<Indices, std::size_t> && ...)>>
    std::size_t GetOffsetFromMultiIndex(Indices... indices) const {
        std::size_t offset = 0, i = 0;
        ((offset += static_cast<std::size_t>(indices) * mStrides[i++]), ...);
        return offset;
    }

    friend std::ostream& operator<<(std::ostream& stream, const HostTensorDescriptor& tensor) {
        stream << "dim " << tensor.mLens.size() << ", lengths {";
        LogRange(stream, tensor.mLens, ", ") << "}, strides {";
        return LogRange(stream, tensor.mStrides, ", ") << "}";
    }

private:
    static std::vector<std::size_t> packed(const std::vector<std::size_t>& lengths) {
        std::vector<std::size_t> strides(lengths.size());
        std::size_t step = 1;
        for(std::size_t i = lengths.size(); i-- > 0; step *= lengths[i])
            strides[i] = step;
        return strides;
    }

    std::vector<std::size_t> mLens;
    std::vector<std::size_t> mStrides;
};

template <class T>
struct Tensor {
    using Descriptor = HostTensorDescriptor;
    using Data = std::vector<T>;

    Tensor() = delete;
    Tensor(const Descriptor& descriptor) : mDesc(descriptor), mData(descriptor.GetElementSpaceSize()) {}
    template <class Number, class = std::enable_if_t<std::is_convertible_v<Number, std::size_t>>>
    Tensor(std::initializer_list<Number> lengths) : Tensor(Descriptor(lengths)) {}
    template <class Number, class Step, class = std::enable_if_t<std::is_convertible_v<Step, std::size_t>>>
    Tensor(std::initializer_list<Number> lengths, std::initializer_list<Step> strides)
        : Tensor(Descriptor(lengths, strides)) {}
    template <class Lengths, class Strides>
    Tensor(const Lengths& lengths, const Strides& strides) : Tensor(Descriptor(lengths, strides)) {}

    template <class U>
    Tensor<U> CopyAsType() const {
        Tensor<U> copy(mDesc);
        ck::ranges::transform(mData, copy.mData.begin(), [](T value) { return ck::type_convert<U>(value); });
        return copy;
    }

    const std::vector<std::size_t>& GetLengths() const { return mDesc.GetLengths(); }
    const std::vector<std::size_t>& GetStrides() const { return mDesc.GetStrides(); }
    std::size_t GetNumOfDimension() const { return mDesc.GetNumOfDimension(); }
    std::size_t GetElementSize() const { return mDesc.GetElementSize(); }
    std::size_t GetElementSpaceSize() const { return mDesc.GetElementSpaceSize(); }
    std::size_t GetElementSpaceSizeInBytes() const { return sizeof(T) * GetElementSpaceSize(); }

    template <class... Indices>
    std::size_t GetOffsetFromMultiIndex(Indices... indices) const {
        return mDesc.GetOffsetFromMultiIndex(indices...);
    }
    template <class... Indices>
    T& operator()(Indices... indices) {
        return mData[mDesc.GetOffsetFromMultiIndex(indices...)];
    }
    template <class... Indices>
    const T& operator()(Indices... indices) const {
        return mData[mDesc.GetOffsetFromMultiIndex(indices...)];
    }

    // Calls work(tensor, index) for every element, the last index fastest.
    template <class Work>
    void ForEach(Work&& work) {
        visit(*this, work);
    }
    template <class Work>
    void ForEach(Work&& work) const {
        visit(*this, work);
    }
    // Every element becomes generator(indices...). The values do not depend on the number of threads, as there is one.
    template <class Generator>
    void GenerateTensorValue(Generator generator, std::size_t = 1) {
        visit(*this, [&](Tensor& tensor, const std::vector<std::size_t>& index) {
            tensor(index) = generated(generator, index, std::integral_constant<std::size_t, kMaxRank>{});
        });
    }
    void SetZero() { ck::ranges::fill(mData, ck::type_convert<T>(0.f)); }

    auto begin() { return mData.begin(); }
    auto end() { return mData.end(); }
    auto begin() const { return mData.begin(); }
    auto end() const { return mData.end(); }
    auto data() { return mData.data(); }
    auto data() const { return mData.data(); }
    std::size_t size() const { return mData.size(); }

    Descriptor mDesc;
    Data mData;

private:
    static constexpr std::size_t kMaxRank = 12;

    template <class Self, class Work>
    static void visit(Self& self, Work&& work) {
        const std::vector<std::size_t>& lengths = self.mDesc.GetLengths();
        std::vector<std::size_t> index(lengths.size());
        for(std::size_t left = self.mDesc.GetElementSize(); left > 0; --left) {
            work(self, index);
            for(std::size_t i = index.size(); i-- > 0 && ++index[i] == lengths[i];)
                index[i] = 0;
        }
    }
    template <class Generator, std::size_t Rank>
    static T generated(Generator& generator, const std::vector<std::size_t>& index,
                       std::integral_constant<std::size_t, Rank>) {
        if constexpr(Rank > 0)
            if(index.size() < Rank)
                return generated(generator, index, std::integral_constant<std::size_t, Rank - 1>{});
        return unpacked(generator, index, std::make_index_sequence<Rank>{});
    }
    template <class Generator, std::size_t... I>
    static T unpacked(Generator& generator, const std::vector<std::size_t>& index, std::index_sequence<I...>) {
        return ck::type_convert<T>(generator(index[I]...));
    }
};

// Device memory that is released with its owner.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "ck/host_utility/hip_check_error.hpp"

struct DeviceMem {
    DeviceMem() = default;
    explicit DeviceMem(std::size_t bytes) { Realloc(bytes); }
    DeviceMem(const DeviceMem&) = delete;
    DeviceMem& operator=(const DeviceMem&) = delete;
    ~DeviceMem() { static_cast<void>(hipFree(mpDeviceBuf)); }

    // Contents are lost.
    void Realloc(std::size_t bytes) {
        hip_check_error(hipFree(mpDeviceBuf));
        mpDeviceBuf = nullptr;
        mMemSize = bytes;
        if(bytes > 0)
            hip_check_error(hipMalloc(&mpDeviceBuf, bytes));
    }
    void* GetDeviceBuffer() const { return mpDeviceBuf; }
    std::size_t GetBufferSize() const { return mMemSize; }

    void ToDevice(const void* host) const { ToDevice(host, mMemSize); }
    void ToDevice(const void* host, std::size_t bytes) const {
        if(bytes > 0)
            hip_check_error(hipMemcpy(mpDeviceBuf, host, bytes, hipMemcpyHostToDevice));
    }
    void FromDevice(void* host) const { FromDevice(host, mMemSize); }
    void FromDevice(void* host, std::size_t bytes) const {
        if(bytes > 0)
            hip_check_error(hipMemcpy(host, mpDeviceBuf, bytes, hipMemcpyDeviceToHost));
    }
    void SetZero() const {
        if(mMemSize > 0)
            hip_check_error(hipMemset(mpDeviceBuf, 0, mMemSize));
    }
    template <class T>
    void SetValue(T value) const {
        if(mMemSize % sizeof(T) != 0)
            throw std::runtime_error("DeviceMem::SetValue: the memory is not a multiple of the value");
        const std::vector<T> values(mMemSize / sizeof(T), value);
        ToDevice(values.data());
    }

    void* mpDeviceBuf = nullptr;
    std::size_t mMemSize = 0;
};

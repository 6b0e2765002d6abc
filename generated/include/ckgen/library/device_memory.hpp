// Copied by ckgen from templates/include/ckgen/library/device_memory.hpp. Do not edit; run: ckgen generate
// Device memory with automatic release, like SimpleDeviceMem of CK's client examples.
#pragma once

#include <cstddef>

#include "ckgen/platform/runtime.hpp"

namespace ckgen {

// `bytes` of memory that kernels can access; zero bytes give a null pointer. Throws platform::LaunchError if the
// allocation fails. Contents are undefined until written.
class SimpleDeviceMem {
public:
    explicit SimpleDeviceMem(std::size_t bytes) : bytes_(bytes), memory_(platform::allocate(bytes)) {}
    SimpleDeviceMem(const SimpleDeviceMem&) = delete;
    SimpleDeviceMem& operator=(const SimpleDeviceMem&) = delete;
    ~SimpleDeviceMem() { platform::release(memory_); }

    void* GetDeviceBuffer() const { return memory_; }
    std::size_t GetBufferSize() const { return bytes_; }
    void ToDevice(const void* host) const { platform::copy_to_device(memory_, host, bytes_); }
    void FromDevice(void* host) const { platform::copy_from_device(host, memory_, bytes_); }

private:
    std::size_t bytes_;
    void* memory_;
};

}  // namespace ckgen

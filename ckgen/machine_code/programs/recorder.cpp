// The part of a HIP runtime that a host program calls to launch kernels. Nothing runs: each launch, and each memset, is
// a line in the file that the environment variable CKGEN_LAUNCHES names:
//     launch <kernel> <grid x> <y> <z> <block x> <y> <z> <dynamic LDS> <bytes of each argument in hexadecimal, or ->...
//     fill <address> <byte> <bytes>
// CKGEN_ARGUMENTS names a file with a line per kernel: its name, then the bytes of each of its arguments.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Extents {  // dim3
    std::uint32_t x = 1, y = 1, z = 1;
};

struct Configuration {
    Extents grid, block;
    std::size_t lds = 0;
    void* stream = nullptr;
};

Configuration configuration;

std::map<const void*, std::string>& names() {
    static std::map<const void*, std::string> known;
    return known;
}

[[noreturn]] void end(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(3);
}

const char* needed(const char* variable) {
    const char* value = std::getenv(variable);
    if(value == nullptr)
        end(std::string(variable) + " is not set");
    return value;
}

std::ofstream& file() {
    static std::ofstream stream(needed("CKGEN_LAUNCHES"));
    return stream;
}

std::vector<std::size_t> sizes_of(const std::string& kernel) {
    std::ifstream known(needed("CKGEN_ARGUMENTS"));
    for(std::string line; std::getline(known, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        if(name != kernel)
            continue;
        std::vector<std::size_t> sizes;
        for(std::size_t size; words >> size;)
            sizes.push_back(size);
        return sizes;
    }
    end("the device code has no kernel " + kernel);
}

int fill(void* to, int value, std::size_t bytes) {
    file() << "fill " << reinterpret_cast<std::uintptr_t>(to) << ' ' << (value & 0xff) << ' ' << bytes << std::endl;
    return 0;
}

}  // namespace

extern "C" {

// Symbols of clang's host code; the device code is in a file of its own.
char __hip_fatbin[1], __hip_fatbin_[1];
void* __hip_gpubin_handle_;

void** __hipRegisterFatBinary(const void*) {
    static void* handle;
    return &handle;
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterVar(void**, void*, char*, char*, int, std::size_t, int, int) {}
void __hipRegisterFunction(void**, const void* host, char*, const char* device, unsigned, void*, void*, void*, void*,
                           int*) {
    names()[host] = device;
}
int __hipPushCallConfiguration(Extents grid, Extents block, std::size_t lds, void* stream) {
    configuration = {grid, block, lds, stream};
    return 0;
}
int __hipPopCallConfiguration(Extents* grid, Extents* block, std::size_t* lds, void** stream) {
    *grid = configuration.grid, *block = configuration.block;
    *lds = configuration.lds, *stream = configuration.stream;
    return 0;
}
int hipLaunchKernel(const void* function, Extents grid, Extents block, void** arguments, std::size_t lds, void*) {
    const std::string& name = names()[function];
    file() << "launch " << name;
    for(const Extents& of : {grid, block})
        file() << ' ' << of.x << ' ' << of.y << ' ' << of.z;
    file() << ' ' << lds;
    for(const std::size_t size : sizes_of(name)) {
        const auto* bytes = static_cast<const unsigned char*>(*arguments++);
        file() << ' ';
        for(std::size_t at = 0; at < size; ++at)
            file() << "0123456789abcdef"[bytes[at] >> 4] << "0123456789abcdef"[bytes[at] & 15];
    }
    file() << std::endl;
    return 0;
}
int hipMemset(void* to, int value, std::size_t bytes) { return fill(to, value, bytes); }
int hipMemsetAsync(void* to, int value, std::size_t bytes, void*) { return fill(to, value, bytes); }

int hipGetDevice(int* device) {
    *device = 0;
    return 0;
}
int hipGetLastError() { return 0; }
const char* hipGetErrorString(int) { return "no error"; }
int hipDeviceSynchronize() { return 0; }
int hipStreamSynchronize(void*) { return 0; }
// There is no memory to hand out, and nothing takes any time.
int hipMalloc(void**, std::size_t) { end("the program allocates memory"); }
int hipFree(void*) { return 0; }
int hipMemcpy(void*, const void*, std::size_t, int) { end("the program copies memory"); }
int hipEventCreate(void**) { end("the program measures time"); }
int hipEventDestroy(void*) { return 0; }
int hipEventRecord(void*, void*) { return 0; }
int hipEventSynchronize(void*) { return 0; }
int hipEventElapsedTime(float*, void*, void*) { return 0; }
}

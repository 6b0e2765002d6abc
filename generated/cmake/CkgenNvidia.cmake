# Copied by ckgen from templates/cmake/CkgenNvidia.cmake. Do not edit; run: ckgen generate
# Platform nvidia: nvcc compiles the sources with kernels as CUDA, the C++ compiler compiles all others in a fraction of
# the time. The CUDA runtime is linked statically, so that the library works on another machine.
set(GPU_TARGETS "${GPU_TARGETS}" CACHE STRING "NVIDIA architectures to compile for, as in sm_80;sm_90a")
set(CKGEN_GPU_TARGETS "${GPU_TARGETS}")
if(NOT CKGEN_GPU_TARGETS)
    set(CKGEN_GPU_TARGETS sm_90a)
endif()
# sm_90a is machine code for that architecture only; compute_80 is PTX, which the driver compiles for later ones.
set(CKGEN_CUDA_ARCHITECTURES "")
foreach(_ckgen_gpu IN LISTS CKGEN_GPU_TARGETS)
    if(NOT _ckgen_gpu MATCHES "^(sm|compute)_([0-9]+)([af]?)$" OR CMAKE_MATCH_2 LESS 80)
        message(FATAL_ERROR "GPU_TARGETS has \"${_ckgen_gpu}\"; NVIDIA's are sm_80 and up, as in sm_80;sm_90a "
                            "(compute_80 for PTX)")
    endif()
    string(REGEX REPLACE "^sm_(.*)$" "\\1-real" _ckgen_gpu "${_ckgen_gpu}")
    string(REGEX REPLACE "^compute_(.*)$" "\\1-virtual" _ckgen_gpu "${_ckgen_gpu}")
    list(APPEND CKGEN_CUDA_ARCHITECTURES ${_ckgen_gpu})
endforeach()

set(CMAKE_CUDA_ARCHITECTURES ${CKGEN_CUDA_ARCHITECTURES})
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
find_package(Threads REQUIRED)

# ckgen_cuda_objects(TARGET "ARCHS" SOURCE...): an object library of sources with kernels, for all of GPU_TARGETS or, if
# ARCHS are NVIDIA's, only for those of ARCHS. CMake supports unity files for CUDA only since 3.31, so they are written
# here: a few instances per file, because nvcc spends most of its time in the headers.
function(ckgen_cuda_objects target archs)
    set(architectures ${CKGEN_CUDA_ARCHITECTURES})
    if(archs MATCHES "^sm_")
        list(TRANSFORM archs REPLACE "^sm_(.*)$" "\\1-real")
        set(others ${architectures})
        list(REMOVE_ITEM others ${archs})
        if(others)
            list(REMOVE_ITEM architectures ${others})
        endif()
    endif()
    set(files "")
    set(batch "")
    set(number 0)
    foreach(source IN LISTS ARGN)
        string(APPEND batch "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
        math(EXPR number "${number} + 1")
        math(EXPR rest "${number} % ${CKGEN_INSTANCES_PER_FILE}")
        list(LENGTH ARGN count)
        if(rest EQUAL 0 OR number EQUAL count)
            set(file "${CMAKE_CURRENT_BINARY_DIR}/cuda/${target}_${number}.cu")
            file(CONFIGURE OUTPUT "${file}" CONTENT "${batch}" @ONLY)
            list(APPEND files "${file}")
            set(batch "")
        endif()
    endforeach()
    add_library(${target} OBJECT ${files})
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}"
        CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
endfunction()

# find_package(composable_kernel [COMPONENTS device_conv_operations ...]) for programs written for CK: the package of
# ckgen under CK's names. The other components of CK are empty, so that projects that name them configure; a program
# that uses such an operation does not compile.
include(CMakeFindDependencyMacro)
find_dependency(ckgen_conv CONFIG HINTS "${CMAKE_CURRENT_LIST_DIR}/../ckgen_conv" NO_DEFAULT_PATH)
foreach(_ckgen_name IN ITEMS device_conv_operations utility device_other_operations device_gemm_operations
                             device_reduction_operations device_contraction_operations device_mha_operations)
    if(NOT TARGET composable_kernel::${_ckgen_name})
        add_library(composable_kernel::${_ckgen_name} INTERFACE IMPORTED)
    endif()
    set(composable_kernel_${_ckgen_name}_FOUND TRUE)
endforeach()
unset(_ckgen_name)
foreach(_ckgen_name IN ITEMS device_conv_operations utility)
    set_target_properties(composable_kernel::${_ckgen_name} PROPERTIES INTERFACE_LINK_LIBRARIES ckgen_conv::ckgen_conv)
endforeach()
unset(_ckgen_name)
foreach(_ckgen_component IN LISTS composable_kernel_FIND_COMPONENTS)
    if(composable_kernel_FIND_REQUIRED_${_ckgen_component} AND NOT composable_kernel_${_ckgen_component}_FOUND)
        set(composable_kernel_FOUND FALSE)
        set(composable_kernel_NOT_FOUND_MESSAGE "neither CK nor ckgen has a component ${_ckgen_component}")
    endif()
endforeach()
unset(_ckgen_component)

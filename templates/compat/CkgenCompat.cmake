# CK's include paths, and its CMake package and target names, over this library.
set(_ckgen_compat "${PROJECT_SOURCE_DIR}/compat")
target_include_directories(${CKGEN_LIBRARY_NAME}_headers INTERFACE "$<BUILD_INTERFACE:${_ckgen_compat}/include>")
if(NOT CKGEN_PLATFORM STREQUAL "amd")
    target_include_directories(${CKGEN_LIBRARY_NAME}_headers INTERFACE
        "$<BUILD_INTERFACE:${_ckgen_compat}/no_hip>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ckgen_no_hip>")
endif()
foreach(_ckgen_name IN ITEMS device_conv_operations utility)
    add_library(composable_kernel_${_ckgen_name} INTERFACE)
    add_library(composable_kernel::${_ckgen_name} ALIAS composable_kernel_${_ckgen_name})
    target_link_libraries(composable_kernel_${_ckgen_name} INTERFACE ${CKGEN_LIBRARY_NAME}::ckgen_conv)
endforeach()

if(CKGEN_INSTALL)
    include(CMakePackageConfigHelpers)
    set(_ckgen_package "${CMAKE_INSTALL_LIBDIR}/cmake/composable_kernel")
    install(DIRECTORY "${_ckgen_compat}/include/ck" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    if(NOT CKGEN_PLATFORM STREQUAL "amd")
        install(DIRECTORY "${_ckgen_compat}/no_hip/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ckgen_no_hip")
    endif()
    # Programs ask for a version of CK.
    write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/composable_kernelConfigVersion.cmake"
        VERSION 1.1.0 COMPATIBILITY AnyNewerVersion)
    install(FILES "${_ckgen_compat}/composable_kernelConfig.cmake"
        "${CMAKE_CURRENT_BINARY_DIR}/composable_kernelConfigVersion.cmake" DESTINATION "${_ckgen_package}")
endif()

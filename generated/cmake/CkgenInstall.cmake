# Copied by ckgen from templates/cmake/CkgenInstall.cmake. Do not edit; run: ckgen generate
# Install rules: libraries, headers with the config.h and contents.h they were built with, and the package that find_package reads.
include(CMakePackageConfigHelpers)
set(_ckgen_package "${CMAKE_INSTALL_LIBDIR}/cmake/ckgen_conv")
get_property(_ckgen_libraries GLOBAL PROPERTY CKGEN_LIBRARIES_${CKGEN_LIBRARY_NAME})

install(TARGETS ${_ckgen_libraries} ${CKGEN_LIBRARY_NAME}_headers EXPORT ckgen_conv-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY include/ckgen DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" PATTERN "*.in" EXCLUDE)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/include/ckgen/config.h" "${CMAKE_CURRENT_BINARY_DIR}/include/ckgen/contents.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/ckgen")
install(FILES manifest.json DESTINATION "${CMAKE_INSTALL_DATADIR}/ckgen_conv")
install(EXPORT ckgen_conv-targets NAMESPACE ckgen_conv:: DESTINATION "${_ckgen_package}")

# The package is for an installed library: in this folder find_package does not find it.
set(_ckgen_config "${CMAKE_CURRENT_BINARY_DIR}/to_install")
configure_package_config_file(cmake/ckgen_conv-config.cmake.in
    "${_ckgen_config}/ckgen_conv-config.cmake" INSTALL_DESTINATION "${_ckgen_package}")
write_basic_package_version_file("${_ckgen_config}/ckgen_conv-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${_ckgen_config}/ckgen_conv-config.cmake" "${_ckgen_config}/ckgen_conv-config-version.cmake"
    cmake/CkgenInstanceLibrary.cmake DESTINATION "${_ckgen_package}")

# Copied by ckgen from templates/cmake/CkgenInstanceLibrary.cmake. Do not edit; run: ckgen generate
# ckgen_add_instance_library(TARGET name SPEC spec.yaml [SET set] [FILTER filter...])
#
# Generates an instance library from a spec with the `ckgen` command and adds it as targets `name` (everything and the C
# API) and `name_<operation>`. CKGEN_EXECUTABLE is the command's path; its default is found on PATH.
#
# A build graph must know its files, and the files of a spec are known only after it is read. Generation is therefore
# part of configuring. The spec and every file of the generator (templates, headers, Python modules: `ckgen generate
# --list-inputs`) are dependencies of the build system itself: if one of them is newer, a build first configures again,
# in the same invocation. ckgen writes only files that changed, so nothing else is compiled again.
function(ckgen_add_instance_library)
    cmake_parse_arguments(PARSE_ARGV 0 ARG "" "TARGET;SPEC;SET" "FILTER")
    if(NOT ARG_TARGET OR NOT ARG_SPEC OR ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "use: ckgen_add_instance_library(TARGET name SPEC spec.yaml [SET set] [FILTER filter...])")
    endif()
    find_program(CKGEN_EXECUTABLE ckgen DOC "the ckgen command")
    if(NOT CKGEN_EXECUTABLE)
        message(FATAL_ERROR "ckgen is not on PATH: pip install ckgen, or set CKGEN_EXECUTABLE")
    endif()
    get_filename_component(spec "${ARG_SPEC}" ABSOLUTE)
    set(arguments ${ARG_FILTER} --spec "${spec}")
    if(ARG_SET)
        list(APPEND arguments --set "${ARG_SET}")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${ARG_TARGET}.ckgen")
    file(MAKE_DIRECTORY "${folder}")

    ckgen_run("${folder}" inputs generate --list-inputs ${arguments})
    string(REPLACE "\n" ";" inputs "${inputs}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${spec}" ${inputs})
    ckgen_run("${folder}" said generate ${arguments} --out tree)
    message(STATUS "${ARG_TARGET}: ${said}")

    set(CKGEN_LIBRARY_NAME ${ARG_TARGET})
    set(CKGEN_INSTALL OFF)
    set(CKGEN_BUILD_EXAMPLES OFF)
    add_subdirectory("${folder}/tree" "${folder}/build" EXCLUDE_FROM_ALL)
endfunction()

# ckgen_run(FOLDER RESULT ARGUMENT...): RESULT gets the output of ckgen. A failure ends the configuration with ckgen's
# message.
function(ckgen_run folder result)
    execute_process(COMMAND "${CKGEN_EXECUTABLE}" ${ARGN} WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code
        OUTPUT_VARIABLE said ERROR_VARIABLE complaint OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT code EQUAL 0)
        message(FATAL_ERROR "ckgen failed (${code}):\n${complaint}")
    endif()
    set(${result} "${said}" PARENT_SCOPE)
endfunction()

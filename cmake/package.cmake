# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# `cmake --install`: libraries, headers and a relocatable package for find_package(executorch).
include(CMakePackageConfigHelpers)
# find_package(executorch) and find_package(ExecuTorch) search this folder below a prefix. share/cmake is documented too.
set(package_folder lib/cmake/ExecuTorch)

et_other_name(extension_module_static extension_module)
et_other_name(optimized_native_cpu_ops_lib portable_ops_lib optimized_ops_lib)
get_property(libraries GLOBAL PROPERTY EXECUTORCH_LIBRARIES)
get_property(aten_libraries GLOBAL PROPERTY EXECUTORCH_ATEN_LIBRARIES)
set(roots ${aten_libraries})
executorch_leave_out(libraries)
include(cmake/documented_targets.cmake)

install(TARGETS executorch_headers ${libraries} ${collections} EXPORT executorch-targets ARCHIVE DESTINATION lib COMPONENT sdk)
install(EXPORT executorch-targets NAMESPACE executorch:: DESTINATION ${package_folder} COMPONENT sdk)

# Libraries for at::Tensor are a separate component, find_package(executorch COMPONENTS aten), which requires torch. They can
# be installed beside the libraries of a wheel.
if(aten_libraries)
  install(TARGETS ${aten_libraries} EXPORT executorch-aten-targets ARCHIVE DESTINATION lib COMPONENT aten_sdk)
  install(EXPORT executorch-aten-targets NAMESPACE executorch:: DESTINATION ${package_folder} COMPONENT aten_sdk)
endif()

foreach(folder runtime extension kernels devtools)
  install(
    DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/
    DESTINATION include/executorch/${folder}
    COMPONENT sdk
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "pybindings" EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/extension/pybindings/pybindings_data_loader.h
        DESTINATION include/executorch/extension/pybindings COMPONENT sdk)
if(TARGET xnnpack_backend)
  install(FILES ${PROJECT_SOURCE_DIR}/backends/xnnpack/runtime/XNNPACKBackend.h
          DESTINATION include/executorch/backends/xnnpack/runtime COMPONENT sdk)
endif()
install(
  DIRECTORY ${EXECUTORCH_GENERATED_ROOT}/executorch/kernels
  DESTINATION include/executorch
  COMPONENT sdk
  FILES_MATCHING
  PATTERN "*.h")

install(FILES ${EXECUTORCH_GENERATED_ROOT}/executorch/version.h DESTINATION include/executorch COMPONENT sdk)
install(FILES ${EXECUTORCH_GENERATED_ROOT}/executorch/runtime/core/version.h
        DESTINATION include/executorch/runtime/core COMPONENT sdk)
install(FILES ${PROJECT_SOURCE_DIR}/test/utils/DeathTest.h ${PROJECT_SOURCE_DIR}/test/utils/alignment.h
        DESTINATION include/executorch/test/utils COMPONENT sdk)

# Files for selective builds: the generator, the operator tables, the kernel sources to compile for fewer dtypes.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/codegen DESTINATION . COMPONENT sdk FILES_MATCHING PATTERN "*.py" PATTERN
        "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/util/__init__.py ${PROJECT_SOURCE_DIR}/util/exit_code.py DESTINATION util COMPONENT sdk)
install(
  DIRECTORY ${PROJECT_SOURCE_DIR}/kernels
  DESTINATION .
  COMPONENT sdk
  FILES_MATCHING
  PATTERN "functions.yaml"
  PATTERN "sources.json"
  PATTERN "in_place.json"
  REGEX "/kernels/(portable|quantized|loops|gemm|recurrent|spatial)/.*\\.cpp$")
foreach(helpers Utils Codegen Test)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/cmake/${helpers}.cmake DESTINATION tools/cmake COMPONENT sdk)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/tools/cmake/common/preset.cmake DESTINATION tools/cmake/common COMPONENT sdk)
install(FILES ${PROJECT_SOURCE_DIR}/runtime/schema/program.fbs DESTINATION runtime/schema COMPONENT sdk)

# Not in the root of the build folder: where that is the install prefix too (cmake-out), find_package would take these files.
set(package_files ${PROJECT_BINARY_DIR}/package_files)
configure_package_config_file(cmake/executorch-config.cmake.in ${package_files}/executorch-config.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${package_files}/executorch-config-version.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${package_files}/executorch-config.cmake ${package_files}/executorch-config-version.cmake
        ${PROJECT_SOURCE_DIR}/cmake/kernel_libraries.cmake ${PROJECT_SOURCE_DIR}/cmake/embedded_programs.cmake
        ${PROJECT_SOURCE_DIR}/cmake/aten_torch.cmake
  DESTINATION ${package_folder}
  COMPONENT sdk)
file(WRITE ${package_files}/documented/executorch-config.cmake
     "include(\"\${CMAKE_CURRENT_LIST_DIR}/../../${package_folder}/executorch-config.cmake\")\n")
install(
  FILES ${package_files}/documented/executorch-config.cmake ${package_files}/executorch-config-version.cmake
  DESTINATION share/cmake
  COMPONENT sdk)

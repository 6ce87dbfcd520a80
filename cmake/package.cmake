# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# `cmake --install`: libraries, headers and a relocatable package for find_package(executorch).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY EXECUTORCH_LIBRARIES)
install(TARGETS executorch_headers ${libraries} EXPORT executorch-targets ARCHIVE DESTINATION lib COMPONENT sdk)
install(EXPORT executorch-targets NAMESPACE executorch:: DESTINATION share/cmake COMPONENT sdk)

foreach(folder runtime extension kernels)
  install(
    DIRECTORY ${CMAKE_SOURCE_DIR}/${folder}/
    DESTINATION include/executorch/${folder}
    COMPONENT sdk
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "pybindings" EXCLUDE)
endforeach()
install(
  DIRECTORY ${EXECUTORCH_GENERATED_ROOT}/executorch/kernels
  DESTINATION include/executorch
  COMPONENT sdk
  FILES_MATCHING
  PATTERN "*.h")

configure_package_config_file(cmake/executorch-config.cmake.in ${CMAKE_BINARY_DIR}/executorch-config.cmake
                              INSTALL_DESTINATION share/cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/executorch-config-version.cmake COMPATIBILITY SameMajorVersion)
install(
  FILES ${CMAKE_BINARY_DIR}/executorch-config.cmake ${CMAKE_BINARY_DIR}/executorch-config-version.cmake
  DESTINATION share/cmake
  COMPONENT sdk)

# Install rules: headers under include/cambrian, libraries, the program, the launch files and a package
# that find_package(cambrian) finds.
include_guard()
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY CAMBRIAN_MODULES)
install(TARGETS ${modules} EXPORT cambrianTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS cambrian cambrian_scaling RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module engine gpu evolve distributed launch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cambrian
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl")
endforeach()
install(PROGRAMS ${PROJECT_SOURCE_DIR}/launch/mpi ${PROJECT_SOURCE_DIR}/launch/slurm.sbatch
  DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/launch)
file(GLOB experiments ${PROJECT_SOURCE_DIR}/configs/*.json)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs
  PATTERN build EXCLUDE)
install(FILES ${experiments} DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cambrian)
install(EXPORT cambrianTargets NAMESPACE cambrian:: DESTINATION ${package_directory})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cambrianConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cambrianConfig.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cambrianConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cambrianConfig.cmake ${PROJECT_BINARY_DIR}/cambrianConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/CambrianDependencies.cmake ${CMAKE_CURRENT_LIST_DIR}/cambrianPlugin.cmake DESTINATION ${package_directory})

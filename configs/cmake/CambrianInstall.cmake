# Install rules: headers under include/cambrian, libraries, the program, the launch files and a package
# that find_package(cambrian) finds.
include_guard()
include(CMakePackageConfigHelpers)
# To install, or to pack, is not to build tests and benchmarks before.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

get_property(modules GLOBAL PROPERTY CAMBRIAN_MODULES)
install(TARGETS ${modules} EXPORT cambrianTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS cambrian cambrian_scaling RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module engine gpu evolve distributed launch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cambrian
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl")
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/launch/contrib DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/launch)
install(FILES ${PROJECT_SOURCE_DIR}/configs/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs)
install(PROGRAMS ${PROJECT_SOURCE_DIR}/launch/mpi ${PROJECT_SOURCE_DIR}/launch/slurm.sbatch
  DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/launch)
# The program tells shells and man of itself; a build for another machine cannot ask it.
if(NOT CMAKE_CROSSCOMPILING)
  set(texts ${PROJECT_BINARY_DIR}/shell_texts)
  add_custom_command(OUTPUT ${texts}/cambrian.1 ${texts}/cambrian ${texts}/_cambrian ${texts}/cambrian.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${texts}
    COMMAND cambrian completion bash > ${texts}/cambrian
    COMMAND cambrian completion zsh > ${texts}/_cambrian
    COMMAND cambrian completion fish > ${texts}/cambrian.fish
    COMMAND cambrian manual > ${texts}/cambrian.1
    DEPENDS cambrian COMMENT "Writing the manual page and shell completions" VERBATIM)
  add_custom_target(cambrian_shell_texts ALL DEPENDS ${texts}/cambrian.1)
  if(TARGET cambrian_tests)
    add_dependencies(cambrian_tests cambrian_shell_texts)
  endif()
  install(FILES ${texts}/cambrian.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${texts}/cambrian DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${texts}/_cambrian DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${texts}/cambrian.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
file(GLOB experiments ${PROJECT_SOURCE_DIR}/configs/*.json)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/plugins DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs
  PATTERN build EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs/python DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs
  PATTERN __pycache__ EXCLUDE)
install(FILES ${experiments} DESTINATION ${CMAKE_INSTALL_DATADIR}/cambrian/configs)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/cambrian)
install(EXPORT cambrianTargets NAMESPACE cambrian:: DESTINATION ${package_directory})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cambrianConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cambrianConfig.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cambrianConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cambrianConfig.cmake ${PROJECT_BINARY_DIR}/cambrianConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/CambrianDependencies.cmake ${CMAKE_CURRENT_LIST_DIR}/cambrianPlugin.cmake DESTINATION ${package_directory})

# cpack -G DEB in the build tree: one package with program, library, headers and files.
set(CPACK_PACKAGE_NAME cambrian)
set(CPACK_PACKAGE_VENDOR Cambrian)
set(CPACK_PACKAGE_CONTACT "Cambrian maintainers <maintainers@cambrian.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Evolves neural networks, on one rank or many, and trains them")
set(CPACK_PACKAGE_DESCRIPTION_FILE ${PROJECT_SOURCE_DIR}/README.md)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, mesa-vulkan-drivers | nvidia-vulkan-icd")
include(CPack)

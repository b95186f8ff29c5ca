# The Vulkan tests that need a process of their own.

# A loader whose calls fail, found in place of the real one.
find_file(CAMBRIAN_REAL_LOADER libvulkan.so.1
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib64 /usr/lib /usr/local/lib)
if(CAMBRIAN_REAL_LOADER)
  add_library(cambrian_faulty_loader MODULE faulty_loader/faulty_loader.cpp)
  target_link_libraries(cambrian_faulty_loader PRIVATE cambrian_vulkan_headers ${CMAKE_DL_LIBS})
  target_compile_definitions(cambrian_faulty_loader PRIVATE
    CAMBRIAN_REAL_LOADER="${CAMBRIAN_REAL_LOADER}")
  set(CAMBRIAN_FAULTY_LOADER_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/faulty_loader)
  set_target_properties(cambrian_faulty_loader PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CAMBRIAN_FAULTY_LOADER_DIRECTORY} PREFIX "" OUTPUT_NAME libvulkan SUFFIX .so.1)
  add_dependencies(cambrian_tests cambrian_faulty_loader)
  set(faulty_loader "LD_LIBRARY_PATH=${CAMBRIAN_FAULTY_LOADER_DIRECTORY};CAMBRIAN_FAULTY_LOADER=1;CAMBRIAN_TEST_VALIDATION=0")
  add_test(NAME gpu.faulty_loader COMMAND cambrian_gpu_tests --gtest_filter=FaultTest.*)
  set_tests_properties(gpu.faulty_loader PROPERTIES LABELS gpu TIMEOUT 900 PROCESSORS 2 ${makes_pipelines} ENVIRONMENT "${faulty_loader}")
  cambrian_long_test(gpu.faulty_loader gpu FaultTest.* "${faulty_loader};CAMBRIAN_ALL_CASES=1")
endif()

# No loader: a file that is none is found in place of it.
set(no_loader ${CMAKE_CURRENT_BINARY_DIR}/no_loader)
file(WRITE ${no_loader}/libvulkan.so.1 "")
add_test(NAME gpu.no_loader COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:cambrian>
  -D CONFIG=${PROJECT_SOURCE_DIR}/configs/xor.json -D RUN=${no_loader}/run -P ${CMAKE_CURRENT_SOURCE_DIR}/faulty_loader/no_loader.cmake)
set_tests_properties(gpu.no_loader PROPERTIES LABELS gpu ENVIRONMENT_MODIFICATION "LD_LIBRARY_PATH=path_list_prepend:${no_loader}")

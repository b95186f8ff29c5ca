# cmake -D PROGRAM=cambrian -D CONFIG=FILE -D RUN=DIRECTORY -P no_loader.cmake
# Fails unless the program says what to install where there is no Vulkan loader, and ends with 4.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} evolve ${CONFIG} --set engine.backend=vulkan --set run.directory=${RUN}
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 4 OR NOT said MATCHES "libvulkan.so.1 was not found\\) install the package libvulkan1")
  message(FATAL_ERROR "without a loader the program ended with ${code} and said: ${said}")
endif()

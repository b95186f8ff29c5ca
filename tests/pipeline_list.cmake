# How many distinct Vulkan pipelines the whole suite makes, in all of its processes. A layer between the
# tests and the driver lists them; the test that counts them runs after all that make any.
set(CAMBRIAN_PIPELINES ${CMAKE_CURRENT_BINARY_DIR}/pipelines.txt)
set(max_pipelines 424)

add_library(cambrian_pipeline_list MODULE pipeline_list/pipeline_list.cpp)
target_link_libraries(cambrian_pipeline_list PRIVATE cambrian_vulkan_headers cambrian_warnings)
set(CAMBRIAN_PIPELINE_LAYER ${CMAKE_CURRENT_BINARY_DIR}/pipeline_list)
file(GENERATE OUTPUT ${CAMBRIAN_PIPELINE_LAYER}/pipeline_list.json CONTENT [[
{
  "file_format_version": "1.0.0",
  "layer": {
    "name": "VK_LAYER_CAMBRIAN_pipeline_list",
    "type": "GLOBAL",
    "library_path": "$<TARGET_FILE:cambrian_pipeline_list>",
    "api_version": "1.3.0",
    "implementation_version": "1",
    "description": "Lists the compute pipelines of a process"
  }
}
]])

add_test(NAME pipelines.begin COMMAND ${CMAKE_COMMAND} -E rm -f ${CAMBRIAN_PIPELINES})
set_tests_properties(pipelines.begin PROPERTIES LABELS gpu FIXTURES_SETUP pipelines)
add_test(NAME pipelines.count COMMAND ${CMAKE_COMMAND} -D LIST=${CAMBRIAN_PIPELINES} -D MAX=${max_pipelines}
  -D TESTS=$<TARGET_FILE:cambrian_gpu_tests> -P ${CMAKE_CURRENT_SOURCE_DIR}/pipeline_list/count.cmake)
set_tests_properties(pipelines.count PROPERTIES LABELS gpu FIXTURES_CLEANUP pipelines)

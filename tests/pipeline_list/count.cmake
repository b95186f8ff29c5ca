# cmake -D LIST=FILE -D MAX=NUMBER -D TESTS=PROGRAM -P count.cmake
# Fails when the file lists more pipelines than that, and says which processes were the first to make them.
cmake_minimum_required(VERSION 3.25)

if(DEFINED ENV{CAMBRIAN_TEST_DEVICE})
  message("not counted: the limit is that of the software device, whose kernels are of one width")
  return()
endif()

# Whatever tests were chosen to run, this one makes two.
execute_process(COMMAND ${TESTS} --gtest_filter=PipelineTest.IsMadeOnceForEqualCodeAndConstants
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${LIST})
  message(FATAL_ERROR "no pipelines are listed (the layer VK_LAYER_CAMBRIAN_pipeline_list was not loaded) "
                      "run the tests by ctest, and with VK_INSTANCE_LAYERS and VK_ADD_LAYER_PATH unset")
endif()

set(makers "")
set(count 0)
file(STRINGS ${LIST} lines)
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([0-9]+)\t(.*)$")
    message(FATAL_ERROR "${LIST} holds the line \"${line}\" (not a number and a program) run the tests again")
  endif()
  set(key ${CMAKE_MATCH_1})
  set(maker "${CMAKE_MATCH_2}")
  if(NOT DEFINED seen_${key})
    set(seen_${key} TRUE)
    math(EXPR count "${count} + 1")
    string(MD5 id "${maker}")
    if(NOT DEFINED made_by_${id})
      set(made_by_${id} 0)
      list(APPEND makers "${maker}")
    endif()
    math(EXPR made_by_${id} "${made_by_${id}} + 1")
  endif()
endforeach()

message("${count} distinct pipelines, at most ${MAX}")
if(count GREATER MAX)
  foreach(maker IN LISTS makers)
    string(MD5 id "${maker}")
    message("${made_by_${id}} more by ${maker}")
  endforeach()
  message(FATAL_ERROR "the tests make ${count} distinct pipelines (at most ${MAX}: drivers compile slowly) "
                      "let equal structures share a text: numbers and extents belong into the push block")
endif()

# Read by ctest before the tests run: every suite of a program becomes one test, so that one process makes what its
# tests share. Expects PROGRAM, PREFIX, LONG (a filter of tests for the nightly run; may be empty) and PROPERTIES.
if(NOT EXISTS ${PROGRAM})
  add_test(${PREFIX}not_built ${PROGRAM})
  return()
endif()
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${result}")
endif()
# All were skipped, and nothing failed: what did would be told last.
set(skipped "\\[  PASSED  \\] 0 tests\\.\n\\[  SKIPPED \\] [^\n]*, listed below:\n(\\[  SKIPPED \\] [^\n]*\n)+$")
# A suite stands at the start of a line and ends in a dot; its tests are indented.
string(REGEX MATCHALL "(^|\n)[^ \n][^ \n]*\\.( |\n)" suites "${listed}")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" suite "${suite}")
  add_test("${PREFIX}${suite}" ${PROGRAM} "--gtest_filter=${suite}.*-${LONG}")
  set_tests_properties("${PREFIX}${suite}" PROPERTIES ${PROPERTIES} SKIP_REGULAR_EXPRESSION "${skipped}")
endforeach()

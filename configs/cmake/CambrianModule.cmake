# cambrian_module(<name> PUBLIC <targets> PRIVATE <targets> EXCLUDE <patterns> ONLY <pattern> ALONE <patterns>
# TOGETHER <lists of folders> BRIEF <folders>): the library cambrian::<name> from every source below its folder, with the
# project's warnings and arithmetic flags. ALONE and TOGETHER: see cambrian_batch. BRIEF are folders, or the first ones
# of lists, whose code never runs for longer than the compiler would think about it: -Og in batches of release builds.
include_guard()

add_library(cambrian_warnings INTERFACE)
target_compile_options(cambrian_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -Wdouble-promotion -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>
  # In a batch a local name meets the private names of its neighbours; the dev preset compiles every file alone.
  $<$<NOT:$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wshadow>
  # A view of a graph's node outlives the handle that it was read through; GCC 13 and later cannot know.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-dangling-reference>
  # GCC 12 reports these falsely inside its own std::string, std::variant and std::ranges at -O3.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized>
  # A batch includes its sources, and GCC takes what is included for a header, where a private type would be a mistake.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>)

# Bits must not depend on the machine that compiles: no contraction, one instruction set. Nobody reads
# the floating-point exception flags or errno; saying so lets selects become vector code.
add_library(cambrian_arithmetic INTERFACE)
target_compile_options(cambrian_arithmetic INTERFACE -ffp-contract=off -fno-trapping-math -fno-math-errno)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(default_architecture x86-64-v3)
endif()
set(CAMBRIAN_ARCHITECTURE "${default_architecture}" CACHE STRING
  "The -march of the build, e.g. x86-64-v3 (AVX2 and FMA) or x86-64 (any such processor, slower); empty: the compiler's own")
if(CAMBRIAN_ARCHITECTURE)
  target_compile_options(cambrian_arithmetic INTERFACE -march=${CAMBRIAN_ARCHITECTURE})
endif()
if(NOT CAMBRIAN_ARCHITECTURE MATCHES "^x86-64-v[34]$")
  # How calls pass vectors that the processor has not; nobody outside passes ours.
  target_compile_options(cambrian_arithmetic INTERFACE -Wno-psabi)
endif()

# cambrian_batch(<target> <files a batch> <patterns> <lists>): batches for CMAKE_UNITY_BUILD, of neighbours in one folder,
# or in those of a list such as "core backend root", where root is the module's own. Headers are read and templates
# instantiated once a batch; a change of one file compiles its batch, so batches stay small. Sources that match a pattern
# are compiled alone.
function(cambrian_batch target size alone together)
  get_target_property(sources ${target} SOURCES)
  get_target_property(root ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    foreach(pattern IN LISTS alone)
      if(source MATCHES ${pattern})
        set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${root} OUTPUT_VARIABLE relative)
    set(folder root)
    if(relative MATCHES "^([^/]+)/")
      set(folder ${CMAKE_MATCH_1})
    endif()
    foreach(list IN LISTS together)
      separate_arguments(folders UNIX_COMMAND "${list}")
      if(folder IN_LIST folders)
        list(GET folders 0 folder)
      endif()
    endforeach()
    if(NOT DEFINED "count_${folder}")
      set("count_${folder}" 0)
    endif()
    math(EXPR batch "${count_${folder}} / ${size}")
    math(EXPR "count_${folder}" "${count_${folder}} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

function(cambrian_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ONLY" "PUBLIC;PRIVATE;EXCLUDE;ALONE;TOGETHER;BRIEF")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(arg_ONLY)
    list(FILTER sources INCLUDE REGEX ${arg_ONLY})
  endif()
  add_library(cambrian_${name} STATIC ${sources})
  add_library(cambrian::${name} ALIAS cambrian_${name})
  set_target_properties(cambrian_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_features(cambrian_${name} PUBLIC cxx_std_20)
  target_include_directories(cambrian_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/configs/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(cambrian_${name} PUBLIC ${arg_PUBLIC}
    PRIVATE ${arg_PRIVATE} $<BUILD_INTERFACE:cambrian_warnings> $<BUILD_INTERFACE:cambrian_arithmetic>)
  cambrian_batch(cambrian_${name} 34 "${arg_ALONE}" "${arg_TOGETHER}")
  foreach(folder IN LISTS arg_BRIEF)
    foreach(batch RANGE 9)
      set_source_files_properties(
        ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/cambrian_${name}.dir/Unity/unity_${folder}_${batch}_cxx.cxx
        PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-Og>)
    endforeach()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY CAMBRIAN_MODULES cambrian_${name})
endfunction()

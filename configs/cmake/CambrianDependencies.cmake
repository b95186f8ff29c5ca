# Every dependency of the build, each named with the Debian 12 package that provides it.
include_guard()

function(cambrian_require target package)
  if(NOT TARGET ${target})
    # An installed package reads this file, too, which has no launch/packages.
    set(or_all "")
    if(EXISTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../launch/packages")
      set(or_all ", or run ./launch/packages for all of them")
    endif()
    message(FATAL_ERROR "${target} was not found (it is needed to build with cambrian): "
                        "install the package ${package}${or_all}")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(cereal QUIET)
cambrian_require(cereal::cereal libcereal-dev)
find_package(nlohmann_json QUIET)
cambrian_require(nlohmann_json::nlohmann_json nlohmann-json3-dev)
find_package(fmt QUIET)
cambrian_require(fmt::fmt libfmt-dev)
find_package(spdlog QUIET)
cambrian_require(spdlog::spdlog libspdlog-dev)
find_package(CLI11 QUIET)
cambrian_require(CLI11::CLI11 libcli11-dev)
find_package(ZLIB QUIET)
cambrian_require(ZLIB::ZLIB zlib1g-dev)

# Libraries whose Debian packages ship no CMake configuration of their own.
function(cambrian_find_library name header library package)
  find_path(${name}_INCLUDE_DIR NAMES ${header} PATH_SUFFIXES ${ARGN})
  find_library(${name}_LIBRARY NAMES ${library} PATH_SUFFIXES ${ARGN})
  if(${name}_INCLUDE_DIR AND ${name}_LIBRARY AND NOT TARGET cambrian_${name})
    add_library(cambrian_${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(cambrian_${name} INTERFACE ${${name}_INCLUDE_DIR})
    target_link_libraries(cambrian_${name} INTERFACE ${${name}_LIBRARY})
  endif()
  cambrian_require(cambrian_${name} ${package})
endfunction()

cambrian_find_library(xxhash xxhash.h xxhash libxxhash-dev)
cambrian_find_library(zstd zstd.h zstd libzstd-dev)
cambrian_find_library(httplib httplib.h cpp-httplib libcpp-httplib-dev)
# Its classes lie in memory as these words say: the same ones as when the library was compiled.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(httplib_words QUIET cpp-httplib)
  target_compile_options(cambrian_httplib INTERFACE ${httplib_words_CFLAGS_OTHER})
endif()
if(NOT httplib_words_FOUND)
  target_compile_definitions(cambrian_httplib INTERFACE
    CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
endif()
if(CAMBRIAN_JEMALLOC)
  cambrian_find_library(jemalloc jemalloc/jemalloc.h jemalloc libjemalloc-dev)
endif()
if(CAMBRIAN_BENCHMARKS)
  # What our products are set beside; the serial variant, because benchmarks spread calls themselves.
  cambrian_find_library(openblas cblas.h openblas libopenblas-serial-dev openblas-serial
                        x86_64-linux-gnu/openblas-serial)
endif()

if(CAMBRIAN_VULKAN)
  # Headers only: the loader is opened at run time.
  find_path(vulkan_INCLUDE_DIR NAMES vulkan/vulkan.h)
  if(vulkan_INCLUDE_DIR)
    add_library(cambrian_vulkan_headers INTERFACE IMPORTED GLOBAL)
    target_include_directories(cambrian_vulkan_headers INTERFACE ${vulkan_INCLUDE_DIR})
  endif()
  cambrian_require(cambrian_vulkan_headers libvulkan-dev)
  # Sources only, compiled with the module: they open the loader at run time.
  find_path(volk_INCLUDE_DIR NAMES volk.h)
  if(volk_INCLUDE_DIR)
    add_library(cambrian_volk INTERFACE IMPORTED GLOBAL)
    target_include_directories(cambrian_volk INTERFACE ${volk_INCLUDE_DIR})
    target_link_libraries(cambrian_volk INTERFACE cambrian_vulkan_headers)
    # Also in batches of files, whichever of them names Vulkan first.
    target_compile_definitions(cambrian_volk INTERFACE VK_NO_PROTOTYPES=1)
  endif()
  cambrian_require(cambrian_volk libvulkan-volk-dev)

  # In the order a static link needs them.
  find_path(glslang_INCLUDE_DIR NAMES SPIRV/GlslangToSpv.h PATH_SUFFIXES glslang)
  set(glslang_libraries "")
  foreach(name SPIRV glslang MachineIndependent GenericCodeGen OSDependent OGLCompiler
               glslang-default-resource-limits SPIRV-Tools-opt SPIRV-Tools)
    find_library(${name}_LIBRARY NAMES ${name})
    list(APPEND glslang_libraries ${${name}_LIBRARY})
  endforeach()
  if(glslang_INCLUDE_DIR AND NOT glslang_libraries MATCHES "NOTFOUND")
    cmake_path(GET glslang_INCLUDE_DIR PARENT_PATH glslang_PARENT_DIR)
    add_library(cambrian_glslang INTERFACE IMPORTED GLOBAL)
    target_include_directories(cambrian_glslang INTERFACE ${glslang_PARENT_DIR} ${glslang_INCLUDE_DIR})
    target_link_libraries(cambrian_glslang INTERFACE ${glslang_libraries})
  endif()
  cambrian_require(cambrian_glslang "glslang-dev spirv-tools")
endif()

if(CAMBRIAN_MPI)
  find_package(MPI QUIET COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "MPI was not found (CAMBRIAN_MPI is ON): install the packages libopenmpi-dev "
                        "and openmpi-bin, or configure with -DCAMBRIAN_MPI=OFF")
  endif()
endif()

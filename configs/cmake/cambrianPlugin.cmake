# cambrian_plugin(<name> <sources>): the plug-in <name>.so, which CAMBRIAN_PLUGIN defines in one of the sources
# (evolve/plugins/plugin.hpp). It has a copy of the library and shows nothing of it; no product and sum become one.
include_guard()

function(cambrian_plugin name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE cambrian::evolve)
  target_compile_options(${name} PRIVATE -ffp-contract=off)
  set_target_properties(${name} PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

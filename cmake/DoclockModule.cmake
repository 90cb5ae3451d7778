# The stores on MongoDB and PostgreSQL as modules: libraries that are loaded when one of their URLs is opened. A program that
# opens others does not load libmongoc, which takes longer than a lock in a SQLite file.
#
# doclock_settle_modules() sets, here and in the folder above, doclock_modules: the stores of this build that are modules.
#
#   doclock_add_store_module(<store> <source>)      makes the module, which defines what open/store_module.h asks for
#   doclock_load_modules_of_program(<target>)       <target>, a program, finds its modules by its own place, and opens stores
#                                                   by a table of its own instead of the umbrella's
#   doclock_load_modules_of_library(<component>)    so does a shared library
#
# The command exports the core to its modules if it is linked statically: there is one core in each process.

set(doclock_default_module OFF)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(doclock_default_module COMMAND)
endif()
set(DOCLOCK_STORE_MODULES ${doclock_default_module}
    CACHE STRING "Load the stores on servers at their first use: OFF, COMMAND (the command does) or ALL (the shared libraries too)")
set_property(CACHE DOCLOCK_STORE_MODULES PROPERTY STRINGS OFF COMMAND ALL)
if(NOT DOCLOCK_STORE_MODULES MATCHES "^(OFF|COMMAND|ALL)$")
  message(FATAL_ERROR "DOCLOCK_STORE_MODULES is \"${DOCLOCK_STORE_MODULES}\"; it must be OFF, COMMAND or ALL")
endif()
if(NOT DOCLOCK_STORE_MODULES STREQUAL "OFF" AND NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "DOCLOCK_STORE_MODULES is ${DOCLOCK_STORE_MODULES}; this needs Linux")
endif()
if(DOCLOCK_STORE_MODULES STREQUAL "ALL" AND NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "DOCLOCK_STORE_MODULES is ALL; this needs BUILD_SHARED_LIBS: a static library has no place to find a module by")
endif()

if(DOCLOCK_STORE_MODULES STREQUAL "ALL" AND DOCLOCK_BUILD_TESTS)
  message(FATAL_ERROR "DOCLOCK_STORE_MODULES is ALL; the tests link the stores: DOCLOCK_BUILD_TESTS=OFF")
endif()

macro(doclock_settle_modules)
  set(doclock_modules)
  if(DOCLOCK_STORE_MODULES STREQUAL "ALL" OR (DOCLOCK_STORE_MODULES STREQUAL "COMMAND" AND DOCLOCK_BUILD_CLI))
    foreach(store IN ITEMS mongodb postgresql)
      if(store IN_LIST doclock_stores)
        list(APPEND doclock_modules ${store})
      endif()
    endforeach()
  endif()
  set(doclock_modules ${doclock_modules} PARENT_SCOPE)
endmacro()

# What a module and its host must have in common, as text: the version, and a hash of the compiler, its flags (which can
# change how a class is laid out) and all headers, since a Store is passed as it is.
function(doclock_module_build result)
  file(GLOB_RECURSE headers "${PROJECT_SOURCE_DIR}/include/*.h" "${PROJECT_SOURCE_DIR}/src/*.h")
  list(SORT headers)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(hashes "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${Boost_VERSION} ${nlohmann_json_VERSION}")
  string(APPEND hashes " ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  foreach(header IN LISTS headers)
    file(SHA256 "${header}" hash)
    string(APPEND hashes " ${hash}")
  endforeach()
  string(SHA256 hash "${hashes}")
  string(SUBSTRING ${hash} 0 16 hash)
  set(${result} "${PROJECT_VERSION} ${hash}" PARENT_SCOPE)
endfunction()

# From a folder with a file that loads modules to the folder of the modules, both as they are installed.
function(doclock_module_place from result)
  set(modules "${CMAKE_INSTALL_LIBDIR}/doclock")
  if(NOT IS_ABSOLUTE "${modules}" AND NOT IS_ABSOLUTE "${from}")
    file(RELATIVE_PATH modules "/prefix/${from}" "/prefix/${modules}")
  endif()
  set(${result} "${modules}" PARENT_SCOPE)
endfunction()

function(doclock_load_modules target from)
  doclock_module_build(build)
  doclock_module_place("${from}" place)
  target_compile_definitions(${target} PRIVATE DOCLOCK_MODULE_BUILD="${build}" DOCLOCK_MODULE_PLACE="${place}" ${ARGN})
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endfunction()

# Where a module is in the build tree: as far from its host as it will be installed.
function(doclock_put_modules folder from)
  doclock_module_place("${from}" place)
  if(NOT IS_ABSOLUTE "${place}")
    foreach(module IN LISTS doclock_modules)
      set_target_properties(doclock_${module}_module PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${folder}/${place}")
    endforeach()
  endif()
endfunction()

function(doclock_load_modules_of_library component)
  doclock_load_modules(doclock_${component}_objects "${CMAKE_INSTALL_LIBDIR}")
  doclock_library_name(${component} library)
  target_link_libraries(${library} PRIVATE ${CMAKE_DL_LIBS})
  doclock_put_modules("${CMAKE_CURRENT_BINARY_DIR}" "${CMAKE_INSTALL_LIBDIR}")
endfunction()

function(doclock_load_modules_of_program target)
  set(table "${CMAKE_CURRENT_BINARY_DIR}/built_in_schemes.cpp")
  doclock_scheme_table("${table}" ${doclock_modules})
  set(open "${PROJECT_SOURCE_DIR}/src/open")
  target_sources(${target} PRIVATE "${open}/open_store.cpp" "${open}/load_store_module.cpp" "${table}")
  doclock_load_modules(${target} "${CMAKE_INSTALL_BINDIR}" DOCLOCK_MODULES_OF_PROGRAM)
  doclock_put_modules("${CMAKE_CURRENT_BINARY_DIR}" "${CMAKE_INSTALL_BINDIR}")
  foreach(module IN LISTS doclock_modules)
    add_dependencies(${target} doclock_${module}_module)
  endforeach()
  foreach(store IN LISTS doclock_stores)
    if(NOT store IN_LIST doclock_modules)
      target_link_libraries(${target} PRIVATE doclock_${store})
    endif()
  endforeach()
  target_link_libraries(${target} PRIVATE doclock_core)
  if(NOT BUILD_SHARED_LIBS)
    # All of the core, since the module may need more of it than the program.
    set(list "${PROJECT_SOURCE_DIR}/cmake/core.list")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:doclock_core_objects>)
    target_link_options(${target} PRIVATE "LINKER:--dynamic-list=${list}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${list}")
  endif()
endfunction()

function(doclock_add_store_module store source)
  set(module doclock_${store}_module)
  set(map "${PROJECT_SOURCE_DIR}/cmake/module.map")
  doclock_module_build(build)
  add_library(${module} MODULE ${source})
  set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME doclock_${store} LINK_DEPENDS "${map}")
  doclock_target_defaults(${module})
  target_include_directories(${module} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_compile_definitions(${module} PRIVATE DOCLOCK_MODULE_BUILD="${build}")
  target_link_options(${module} PRIVATE "LINKER:--version-script=${map}")
  target_link_libraries(${module} PRIVATE doclock_${store}_client Boost::headers nlohmann_json::nlohmann_json Threads::Threads)
  if(BUILD_SHARED_LIBS)
    target_link_libraries(${module} PRIVATE doclock_${store})
    if(NOT DEFINED CMAKE_INSTALL_RPATH)
      set_target_properties(${module} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
    endif()
  else()
    # Not the core: the program that loads the module has it.
    target_sources(${module} PRIVATE $<TARGET_OBJECTS:doclock_${store}_objects>)
  endif()
endfunction()

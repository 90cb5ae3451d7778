# Functions that define a library of the project.
#
#   doclock_add_library(<component> [HEADERS <globs>...] [COMPONENTS <others>...] [PUBLIC <libs>...] [PRIVATE <libs>...])
#
# makes
#   doclock_<component>_objects    what is compiled, once
#   doclock_<component>            the library, static or shared; doclock::<component> for users
#   doclock_<component>_internal   a static library of the same objects. A shared library hides its internals, so the
#                                  tests and benchmarks, which look inside, link this one.
# The component "doclock" is the umbrella, and its library is called plainly "doclock".
#
#   doclock_add_headers(<component> <globs>...)
#
# adds public headers to a component: those below include/doclock/ that meet the patterns, unless another component has
# claimed them before.
#
#   doclock_sources(<component> [<file>...])
#
# adds files to a component. Without files: every .cpp of the current folder and of the rooms in it, where a room called
# "linux" or "generic" counts only on that platform.

include(GNUInstallDirs)

function(doclock_library_name component result)
  if(component STREQUAL "doclock")
    set(${result} doclock PARENT_SCOPE)
  else()
    set(${result} doclock_${component} PARENT_SCOPE)
  endif()
endfunction()

# Sets <result> to the headers that meet the patterns and were not claimed before; now they are.
function(doclock_claim_headers result)
  get_property(claimed GLOBAL PROPERTY DOCLOCK_CLAIMED_HEADERS)
  set(headers)
  foreach(pattern IN LISTS ARGN)
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/doclock/${pattern}")
    foreach(header IN LISTS found)
      if(NOT header IN_LIST claimed)
        list(APPEND headers "${header}")
      endif()
    endforeach()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY DOCLOCK_CLAIMED_HEADERS ${headers})
  set(${result} ${headers} PARENT_SCOPE)
endfunction()

function(doclock_add_headers component)
  doclock_claim_headers(headers ${ARGN})
  doclock_library_name(${component} library)
  target_sources(
    ${library} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
endfunction()

function(doclock_add_library component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;COMPONENTS;PUBLIC;PRIVATE")
  doclock_library_name(${component} library)
  set(objects doclock_${component}_objects)
  set(internal doclock_${component}_internal)

  add_library(${objects} OBJECT)
  add_library(${library} $<TARGET_OBJECTS:${objects}>)
  add_library(doclock::${component} ALIAS ${library})
  if(BUILD_SHARED_LIBS)
    add_library(${internal} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects}>)
  else()
    add_library(${internal} ALIAS ${library})
  endif()
  # The list of sources is empty but for objects, so the linker's language has to be said.
  set_target_properties(
    ${library}
    PROPERTIES LINKER_LANGUAGE CXX
               EXPORT_NAME ${component}
               VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
               VERIFY_INTERFACE_HEADER_SETS ON)
  doclock_add_headers(${component} ${arg_HEADERS})
  doclock_target_defaults(${objects})
  doclock_target_defaults(${library})
  target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${objects} PRIVATE DOCLOCK_BUILDING)
  if(BUILD_SHARED_LIBS)
    # Only Windows has to know; elsewhere the objects of both kinds are the same, and a compiler cache sees it.
    if(WIN32)
      target_compile_definitions(${objects} PRIVATE DOCLOCK_SHARED)
      target_compile_definitions(${library} PUBLIC DOCLOCK_SHARED)
    endif()
    set_target_properties(${internal} PROPERTIES LINKER_LANGUAGE CXX)
    doclock_restrict_exports(${library})
  endif()

  set(variants ${objects} ${library})
  if(BUILD_SHARED_LIBS)
    list(APPEND variants ${internal})
  endif()
  foreach(variant IN LISTS variants)
    target_compile_features(${variant} PUBLIC cxx_std_20)
    target_include_directories(${variant} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                 "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${variant} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    foreach(other IN LISTS arg_COMPONENTS)
      doclock_library_name(${other} other_library)
      if(BUILD_SHARED_LIBS AND variant STREQUAL internal)
        target_link_libraries(${variant} PUBLIC doclock_${other}_internal)
      else()
        target_link_libraries(${variant} PUBLIC ${other_library})
      endif()
    endforeach()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY DOCLOCK_COMPONENTS ${component})
endfunction()

# Hidden visibility leaves the templates and inline functions of the libraries we include (Asio above all), since their
# headers give them default visibility. A version script closes the door.
function(doclock_restrict_exports library)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(script "${PROJECT_SOURCE_DIR}/cmake/doclock.map")
    target_link_options(${library} PRIVATE "LINKER:--version-script=${script}")
    if(NOT DOCLOCK_SANITIZE)
      target_link_options(${library} PRIVATE "LINKER:--no-undefined")
    endif()
    set_target_properties(${library} PROPERTIES LINK_DEPENDS "${script}")
    if(NOT DEFINED CMAKE_INSTALL_RPATH)
      set_target_properties(${library} PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
  endif()
endfunction()

function(doclock_sources component)
  set(files ${ARGN})
  if(NOT files)
    file(GLOB_RECURSE files RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "*.cpp")
    set(platforms linux generic)
    list(REMOVE_ITEM platforms ${DOCLOCK_PLATFORM})
    list(FILTER files EXCLUDE REGEX "(^|/)${platforms}/")
  endif()
  target_sources(doclock_${component}_objects PRIVATE ${files})
endfunction()

# Packages: run `cpack` in the build folder.
#
# A build of static libraries makes the command alone, with doclock's libraries inside: a .deb and a .tar.gz. The store that
# the command loads as a module is a .deb of its own, which alone depends on the database's library.
# A build of shared libraries (`cmake --preset deb`) makes a .deb of each part that can be installed apart; the parts are
# those of DoclockInstall.cmake.
#
#   doclock_debian_package(<part> NAME <package> SECTION <section> SUMMARY <text> TEXT <text> [DEPENDS <dependency>...])
#
# adds the package of a part. dpkg-shlibdeps finds the libraries that its programs and libraries load, doclock's own
# apart: those are to be named in DEPENDS.

set(CPACK_PACKAGE_NAME doclock)
set(CPACK_PACKAGE_VENDOR "doclock")
# Debian wants a name and an address. A publisher of packages sets here the address for their users; mail to
# .invalid goes nowhere.
set(DOCLOCK_PACKAGE_CONTACT "doclock developers <doclock@packages.invalid>"
    CACHE STRING "Maintainer of the packages, as: Name <address>")
if(NOT DOCLOCK_PACKAGE_CONTACT MATCHES "^[^<>]+ <[^<> @]+@[^<> @]+>$")
  message(FATAL_ERROR "DOCLOCK_PACKAGE_CONTACT is \"${DOCLOCK_PACKAGE_CONTACT}\"; it must be: Name <address>")
endif()
set(CPACK_PACKAGE_CONTACT "${DOCLOCK_PACKAGE_CONTACT}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_FILE_NAME "doclock-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_STRIP_FILES ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_PROJECT_CONFIG_FILE "${PROJECT_SOURCE_DIR}/cmake/DoclockCpackOptions.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE doclock)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What dpkg-shlibdeps says of packages that load these libraries. No release promises a stable ABI.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
# Each package has its own; this would come before it.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_COMPONENTS_ALL "")

function(doclock_debian_package part)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;SECTION;SUMMARY;TEXT" "DEPENDS")
  string(TOUPPER ${part} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${part})
  list(JOIN arg_DEPENDS ", " depends)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${arg_NAME} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${arg_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_SUMMARY}\n${arg_TEXT}" PARENT_SCOPE)
  # Where Debian wants it. `cmake --install` of everything leaves it out.
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${arg_NAME}" RENAME copyright
          COMPONENT ${part} EXCLUDE_FROM_ALL)
endfunction()

set(doclock_library_depends "")
if(BUILD_SHARED_LIBS)
  set(CPACK_GENERATOR DEB)
  set(doclock_library_package "libdoclock${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  # Libraries of one build belong together.
  set(doclock_library_depends "${doclock_library_package} (= ${PROJECT_VERSION})")
  # Where dpkg-shlibdeps finds what the command loads.
  get_property(components GLOBAL PROPERTY DOCLOCK_COMPONENTS)
  foreach(component IN LISTS components)
    doclock_library_name(${component} library)
    get_target_property(folder ${library} BINARY_DIR)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${folder}")
  endforeach()
  list(REMOVE_DUPLICATES CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS)
  # dpkg-shlibdeps goes by the names of functions, but it is the SQL that is new.
  set(doclock_sql_depends "")
  if(DOCLOCK_WITH_SQLITE)
    set(doclock_sql_depends "libsqlite3-0 (>= 3.37)")
  endif()
  doclock_debian_package(
    library
    NAME ${doclock_library_package}
    SECTION libs
    SUMMARY "Locks on JSON documents, over a database: libraries"
    TEXT "doclock locks JSON documents across threads, processes and machines, and stores the new state and unlocks in one \
write. The documents are kept in SQLite, PostgreSQL, MongoDB or memory. This package has the shared libraries."
    DEPENDS ${doclock_sql_depends})
  # The links of all libraries are here, so all that they point to has to be.
  set(doclock_module_depends "")
  if(DOCLOCK_STORE_MODULES STREQUAL "ALL")
    foreach(module IN LISTS doclock_modules)
      list(APPEND doclock_module_depends "doclock-${module} (= ${PROJECT_VERSION})")
    endforeach()
  endif()
  doclock_debian_package(
    dev
    NAME libdoclock-dev
    SECTION libdevel
    SUMMARY "Locks on JSON documents, over a database: headers"
    TEXT "doclock locks JSON documents across threads, processes and machines, and stores the new state and unlocks in one \
write. This package has what compiling against it needs: headers, the CMake package and the pkg-config files."
    DEPENDS "${doclock_library_depends}" ${doclock_module_depends} "libboost-dev (>= 1.81) | libboost1.81-dev" "nlohmann-json3-dev (>= 3.11)")
else()
  set(CPACK_GENERATOR DEB TGZ)
endif()
foreach(module IN LISTS doclock_modules)
  set(depends ${doclock_library_depends})
  if(NOT BUILD_SHARED_LIBS)
    set(depends "doclock (= ${PROJECT_VERSION})")
  endif()
  doclock_debian_package(
    ${module}_module
    NAME doclock-${module}
    SECTION libs
    SUMMARY "Locks on JSON documents, over a database: the store on ${module}"
    TEXT "doclock locks JSON documents across threads, processes and machines, and stores the new state and unlocks in one \
write. This package has the store that is loaded when a URL of ${module} is opened."
    DEPENDS ${depends})
endforeach()
list(TRANSFORM doclock_modules PREPEND doclock- OUTPUT_VARIABLE suggests)
list(JOIN suggests ", " CPACK_DEBIAN_CLI_PACKAGE_SUGGESTS)
if(DOCLOCK_BUILD_CLI)
  doclock_debian_package(
    cli
    NAME doclock
    SECTION utils
    SUMMARY "Named locks and locked documents, over a database you already have"
    TEXT "doclock locks JSON documents across threads, processes and machines. This package has the command: it runs other \
commands under a lock, and shows, edits, imports and exports documents and locks."
    DEPENDS ${doclock_library_depends})
endif()
include(CPack)

# How a store is added: one call in its folder, src/<name>/CMakeLists.txt, adds all sources of that folder and its rooms.
#
#   doclock_add_store(<name>
#     DESCRIPTION <text>      what pkg-config says of it
#     HEADERS <globs>...      its public headers, below include/doclock/; core leaves them out
#     URLS <example>...       one URL for each scheme that OpenStore opens with it, as messages show it: sqlite:PATH
#     [PACKAGES "<name> <version> [CONFIG]"... TARGETS <targets>... PKG_CONFIG "<module> >= <version>"...]
#                             what it needs, as alternatives: the first package that is found is taken, with the target
#                             and the pkg-config module of the same place (or -l<library>)
#     [WITH <ON|AUTO>])       without its package: an error (ON, the default), or the store is left out (AUTO)
#
# makes the component doclock::<name>, a part of the umbrella, with its install rules; the option DOCLOCK_WITH_<NAME>,
# which is ON or OFF afterwards, and a definition in tests and benchmarks where it is ON; and the target
# doclock_<name>_client, the database's library, for tests that talk to the database themselves.
#
# src/<name>/open_url.h declares how its URLs are opened (OpenMode: doclock/open_store.h):
#
#   DOCLOCK_EXPORT std::shared_ptr<Store> Open<Name>Url(std::string_view url, OpenMode mode);

# doclock_open_urls(<name> <example>...): OpenStore opens URLs like these with Open<Name>Url.
function(doclock_open_urls name)
  set_property(GLOBAL APPEND PROPERTY DOCLOCK_URL_STORES ${name})
  set_property(GLOBAL PROPERTY DOCLOCK_URLS_${name} "${ARGN}")
endfunction()

# doclock_scheme_table(<file> [<module>...]): makes the source that tells OpenStore of all URLs. The stores named here are
# modules: they are loaded when such a URL is opened.
function(doclock_scheme_table file)
  set(includes)
  set(schemes)
  get_property(stores GLOBAL PROPERTY DOCLOCK_URL_STORES)
  foreach(store IN LISTS stores)
    string(SUBSTRING ${store} 0 1 first)
    string(SUBSTRING ${store} 1 -1 rest)
    string(TOUPPER ${first} first)
    set(opener Open${first}${rest}Url)
    if(store IN_LIST ARGN)
      list(APPEND includes "#include \"open/store_module.h\"")
      set(opener "[](std::string_view url, OpenMode mode) { return LoadStoreModule(\"${store}\").open(url, mode, {})\\; }")
    else()
      list(APPEND includes "#include \"${store}/open_url.h\"")
    endif()
    get_property(urls GLOBAL PROPERTY DOCLOCK_URLS_${store})
    foreach(url IN LISTS urls)
      string(REGEX REPLACE ":.*" "" scheme "${url}")
      list(APPEND schemes "{\"${scheme}\", \"${url}\", ${opener}},")
    endforeach()
  endforeach()
  list(JOIN includes "\n" includes)
  list(JOIN schemes "\n      " schemes)
  configure_file("${PROJECT_SOURCE_DIR}/src/open/built_in_schemes.cpp.in" "${file}" @ONLY)
endfunction()

# Defines the option of a store, and sets <result> to what it says: ON, OFF or AUTO.
function(doclock_store_option name default result)
  string(TOUPPER ${name} upper)
  set(option DOCLOCK_WITH_${upper})
  if(default STREQUAL "")
    set(default ON)
  endif()
  set(${option} ${default} CACHE STRING "Build doclock::${name}: ON, OFF, or AUTO (if what it needs is found)")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  string(TOUPPER "${${option}}" value)
  if(value MATCHES "^(ON|TRUE|YES|Y|1)$")
    set(value ON)
  elseif(value MATCHES "^(OFF|FALSE|NO|N|0)$")
    set(value OFF)
  elseif(NOT value STREQUAL "AUTO")
    message(FATAL_ERROR "${option} is \"${${option}}\"; it must be ON, OFF or AUTO")
  endif()
  set(${result} ${value} PARENT_SCOPE)
endfunction()

# Takes the first of the packages that is found, and sets <result> to its target; empty: none was found.
function(doclock_find_client name result packages targets pkg_configs)
  # The tests need the targets too.
  set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
  set(${result} "" PARENT_SCOPE)
  foreach(package target pkg_config IN ZIP_LISTS packages targets pkg_configs)
    separate_arguments(package UNIX_COMMAND "${package}")
    list(GET package 0 package_name)
    find_package(${package} QUIET)
    if(NOT ${package_name}_FOUND)
      continue()
    endif()
    set(version "${${package_name}_VERSION}")
    if(version STREQUAL "")
      set(version "${${package_name}_VERSION_STRING}")  # CMake's own FindPostgreSQL sets only this one
    endif()
    message(STATUS "doclock::${name} uses ${package_name} ${version}")
    add_library(doclock_${name}_client INTERFACE IMPORTED GLOBAL)
    target_link_libraries(doclock_${name}_client INTERFACE ${target})
    set_property(GLOBAL PROPERTY DOCLOCK_STORE_${name}_PACKAGE ${package})
    set_property(GLOBAL PROPERTY DOCLOCK_STORE_${name}_PKG_CONFIG ${pkg_config})
    set(${result} ${target} PARENT_SCOPE)
    return()
  endforeach()
endfunction()

function(doclock_add_store name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION;WITH" "HEADERS;URLS;PACKAGES;TARGETS;PKG_CONFIG")
  doclock_store_option(${name} "${arg_WITH}" with)
  string(TOUPPER ${name} upper)
  set(client)
  if(with AND arg_PACKAGES)
    doclock_find_client(${name} client "${arg_PACKAGES}" "${arg_TARGETS}" "${arg_PKG_CONFIG}")
    if(NOT client)
      list(JOIN arg_PACKAGES ", or " packages)
      if(NOT with STREQUAL "AUTO")
        message(
          FATAL_ERROR
            "DOCLOCK_WITH_${upper} is ${with}, and this was not found: ${packages}. Install it (scripts/install_deps.sh does), "
            "say where it is with CMAKE_PREFIX_PATH, or build without it: -DDOCLOCK_WITH_${upper}=OFF")
      endif()
      message(STATUS "doclock::${name} is left out: this was not found: ${packages}")
      set(with OFF)
    endif()
  endif()
  if(NOT with)
    set_property(GLOBAL APPEND PROPERTY DOCLOCK_STORES_LEFT_OUT ${name})
    # Its headers are not core's, all the same.
    doclock_claim_headers(ignored ${arg_HEADERS})
    return()
  endif()

  doclock_add_library(
    ${name}
    HEADERS ${arg_HEADERS}
    COMPONENTS core
    PRIVATE ${client})
  doclock_sources(${name})
  doclock_open_urls(${name} ${arg_URLS})
  set_property(GLOBAL PROPERTY DOCLOCK_STORE_${name}_DESCRIPTION "${arg_DESCRIPTION}")
  set_property(GLOBAL APPEND PROPERTY DOCLOCK_STORES ${name})
endfunction()

# After the last store: sets, here and in the folder above, doclock_stores and doclock_stores_left_out, and
# DOCLOCK_WITH_<NAME> to ON or OFF.
macro(doclock_settle_stores)
  get_property(doclock_stores GLOBAL PROPERTY DOCLOCK_STORES)
  get_property(doclock_stores_left_out GLOBAL PROPERTY DOCLOCK_STORES_LEFT_OUT)
  set(doclock_stores ${doclock_stores} PARENT_SCOPE)
  set(doclock_stores_left_out ${doclock_stores_left_out} PARENT_SCOPE)
  foreach(store IN LISTS doclock_stores doclock_stores_left_out)
    string(TOUPPER ${store} upper)
    if(store IN_LIST doclock_stores)
      set(DOCLOCK_WITH_${upper} ON)
    else()
      set(DOCLOCK_WITH_${upper} OFF)
    endif()
    set(DOCLOCK_WITH_${upper} ${DOCLOCK_WITH_${upper}} PARENT_SCOPE)
  endforeach()
endmacro()

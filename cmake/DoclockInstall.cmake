# Install rules: libraries and headers, a CMake package with one component per library, and one pkg-config file each.
# Everything finds its neighbours relative to itself, so that an installed tree can be moved.
#
# The parts that can be installed apart, as packages are (cmake/DoclockPackage.cmake):
#   library   shared libraries, as programs load them
#   dev       what compiling against doclock needs: headers, static libraries, links to shared ones, CMake and pkg-config
#             files, the suite for stores
#   cli       the command
#   mongodb_module, postgresql_module   these stores, where they are loaded as modules; with DOCLOCK_STORE_MODULES=ALL their
#             libraries too

include(CMakePackageConfigHelpers)

set(doclock_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/doclock")
set(doclock_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# What a .pc file calls the prefix.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(doclock_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${doclock_pkgconfig_dir}" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(doclock_pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir IN ITEMS LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(doclock_pc_${dir} "${CMAKE_INSTALL_${dir}}")
  else()
    set(doclock_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()

# doclock_install_component(<component> DESCRIPTION <text> [REQUIRES ...] [REQUIRES_PRIVATE ...] [LIBS_PRIVATE ...])
# A .pc file's "private" parts are for `pkg-config --static`.
function(doclock_install_component component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESCRIPTION" "REQUIRES;REQUIRES_PRIVATE;LIBS_PRIVATE")
  doclock_library_name(${component} library)
  set(part library)
  if(component IN_LIST doclock_modules AND DOCLOCK_STORE_MODULES STREQUAL "ALL")
    set(part ${component}_module)
  endif()
  install(
    TARGETS ${library}
    EXPORT doclock-${component}-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${part} NAMELINK_COMPONENT dev
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT library
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  install(
    EXPORT doclock-${component}-targets
    NAMESPACE doclock::
    DESTINATION "${doclock_cmake_dir}"
    COMPONENT dev)

  set(pc_name "doclock-${component}")
  if(component STREQUAL "doclock")
    set(pc_name doclock)
  endif()
  set(pc_library "${library}")
  set(pc_description "${arg_DESCRIPTION}")
  list(JOIN arg_REQUIRES ", " pc_requires)
  list(JOIN arg_REQUIRES_PRIVATE ", " pc_requires_private)
  list(JOIN arg_LIBS_PRIVATE " " pc_libs_private)
  set(pc_cflags "")
  if(BUILD_SHARED_LIBS AND WIN32)
    set(pc_cflags " -DDOCLOCK_SHARED")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/doclock.pc.in" "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${doclock_pkgconfig_dir}" COMPONENT dev)
endfunction()

set(same "= ${PROJECT_VERSION}")
doclock_install_component(
  core
  DESCRIPTION "Document locks: the engine and the memory store"
  REQUIRES "nlohmann_json = ${nlohmann_json_VERSION}"
  LIBS_PRIVATE -pthread)
set(umbrella_requires "doclock-core ${same}")
# What a consumer of each store has to find: for the package's configuration.
set(doclock_store_packages "")
foreach(store IN LISTS doclock_stores)
  get_property(description GLOBAL PROPERTY DOCLOCK_STORE_${store}_DESCRIPTION)
  get_property(package GLOBAL PROPERTY DOCLOCK_STORE_${store}_PACKAGE)
  get_property(pkg_config GLOBAL PROPERTY DOCLOCK_STORE_${store}_PKG_CONFIG)
  set(private REQUIRES_PRIVATE)
  if(pkg_config MATCHES "^-l")
    set(private LIBS_PRIVATE)
  endif()
  doclock_install_component(
    ${store}
    DESCRIPTION "${description}"
    REQUIRES "doclock-core ${same}"
    ${private} "${pkg_config}")
  if(NOT (store IN_LIST doclock_modules AND DOCLOCK_STORE_MODULES STREQUAL "ALL"))
    list(APPEND umbrella_requires "doclock-${store} ${same}")
  endif()
  string(APPEND doclock_store_packages "set(doclock_${store}_package ${package})\n")
endforeach()
if(DOCLOCK_BUILD_TESTING)
  doclock_install_component(
    testing
    DESCRIPTION "Document locks: clocks and stores for the unit tests of applications"
    REQUIRES "doclock-core ${same}")
endif()
doclock_install_component(
  doclock
  DESCRIPTION "Document locks over every store that was built"
  REQUIRES ${umbrella_requires})

# The suite that every store has to pass, as sources: a project that tests a store compiles them with its own GoogleTest.
set(doclock_conformance_dir "${CMAKE_INSTALL_DATADIR}/doclock/conformance")
if(DOCLOCK_BUILD_TESTING)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/conformance/suite/"
          DESTINATION "${doclock_conformance_dir}/doclock/conformance" COMPONENT dev)
endif()

if(DOCLOCK_BUILD_CLI)
  install(TARGETS doclock_cli DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/cli/doclock.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT cli)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/cli/doclock.bash"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME doclock COMPONENT cli)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/cli/_doclock" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions"
          COMPONENT cli)
  install(FILES "${PROJECT_SOURCE_DIR}/packaging/cli/doclock.fish"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT cli)
endif()

foreach(module IN LISTS doclock_modules)
  install(TARGETS doclock_${module}_module LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/doclock" COMPONENT ${module}_module)
endforeach()

# The header by which a program learns that it does not fit this build. The object is the preprocessor's output: it has seen
# the very flags that the library is compiled with.
set(doclock_built_with "${PROJECT_BINARY_DIR}/doclock_built_with.h")
add_library(doclock_built_with OBJECT "${PROJECT_SOURCE_DIR}/cmake/built_with.cpp")
target_compile_features(doclock_built_with PRIVATE cxx_std_20)
target_compile_options(doclock_built_with PRIVATE -E -P)
target_link_libraries(doclock_built_with PRIVATE Boost::headers nlohmann_json::nlohmann_json)
add_custom_command(
  OUTPUT "${doclock_built_with}"
  COMMAND "${CMAKE_COMMAND}" "-DRECORDS=$<TARGET_OBJECTS:doclock_built_with>" "-DHEADER=${doclock_built_with}" -P
          "${PROJECT_SOURCE_DIR}/cmake/built_with.cmake"
  DEPENDS "$<TARGET_OBJECTS:doclock_built_with>" "${PROJECT_SOURCE_DIR}/cmake/built_with.cmake"
  VERBATIM)
add_custom_target(doclock_built_with_header ALL DEPENDS "${doclock_built_with}")
install(FILES "${doclock_built_with}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/doclock/detail" COMPONENT dev)

get_property(doclock_components GLOBAL PROPERTY DOCLOCK_COMPONENTS)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/doclock-config.cmake.in" "${PROJECT_BINARY_DIR}/doclock-config.cmake"
  INSTALL_DESTINATION "${doclock_cmake_dir}"
  PATH_VARS doclock_conformance_dir
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/doclock-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/doclock-config.cmake" "${PROJECT_BINARY_DIR}/doclock-config-version.cmake"
        DESTINATION "${doclock_cmake_dir}" COMPONENT dev)
# Of no part: each package brings a copy under its own name.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

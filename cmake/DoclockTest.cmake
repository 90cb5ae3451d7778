# doclock_test(<name> [SOURCES <files>...] [LIBS <targets>...] [LABELS <labels>...] [TIMEOUT <seconds>] [LONG_TESTS <regex>]
#              [SERVER_TESTS <filter> [SERVER_TESTS_LEFT_OUT <filter>] [SERIAL_TESTS <filter>] [SERVERS <fixtures>...]
#              [SERVER_LABELS <labels>...]])
#
# A GoogleTest program, each of whose cases is a CTest test, or, with DOCLOCK_TESTS_TOGETHER, each of five parts of them: no
# number of stores is divided by five, so each part has cases of every store.
# Without SOURCES: every .cpp of the current folder and those in it; a folder that has none makes no program. Everything of
# doclock, RapidCheck, src/ and tests/ are in reach.
#
# TIMEOUT (900) only ends what hangs: it is at least ten times what the slowest case takes on a machine without other work.
#
# LONG_TESTS names the cases that take many seconds. CTest starts them, or the parts that have them, before the others, so that
# none is left alone at the end.
#
# SERVER_TESTS, a filter of GoogleTest, names the cases that need servers: they carry SERVER_LABELS (mongodb) as well, and
# outside of the conformance suite `servers`, by which the preset quick leaves them out. CTest starts SERVERS (see
# DoclockMongoServers, DoclockPostgresqlServer) before them. Those that SERVER_TESTS_LEFT_OUT names are no CTest tests.
# Those of them that SERIAL_TESTS names run one after another, because they disturb the servers that they share.
#
# A case fails in which anything but the test writes a line to standard output or error (tests/quiet): the library writes
# nothing there, and what it calls, nothing but the driver's lines about lost connections. A test's own figures begin with "[".

include(GoogleTest)

option(DOCLOCK_TESTS_TOGETHER "Five processes for the tests of a program, in place of one for each: where processes are dear" OFF)
set(DOCLOCK_TESTS_LEFT_OUT "" CACHE STRING "Tests that do not run, as patterns of GoogleTest")

# Makes five CTest tests of the cases of <name> that meet the filter. Further arguments are properties, each followed by its
# value, which has | between the parts of a list.
function(doclock_add_parts name list filter labels)
  foreach(index RANGE 4)
    set(test ${list}.${index})
    add_test(NAME ${test} COMMAND ${name} "--gtest_filter=${filter}")
    set(environment GTEST_TOTAL_SHARDS=5 GTEST_SHARD_INDEX=${index})
    set(properties ${ARGN})
    while(properties)
      list(POP_FRONT properties property value)
      string(REPLACE "|" ";" value "${value}")
      if(property STREQUAL "ENVIRONMENT")
        list(APPEND environment "${value}")
      else()
        set_property(TEST ${test} PROPERTY ${property} ${value})
      endif()
    endwhile()
    set_property(TEST ${test} PROPERTY ENVIRONMENT ${environment})
    set_property(TEST ${test} PROPERTY LABELS ${labels})
    set_property(TEST ${test} PROPERTY TIMEOUT 3600)
  endforeach()
endfunction()

# Makes CTest tests of the cases of <name> that meet the filter. <list> is a name for them. <long> is as LONG_TESTS.
function(doclock_discover name list filter timeout labels long)
  if(DOCLOCK_TESTS_LEFT_OUT)
    if(NOT filter MATCHES "-")
      string(APPEND filter "-")
    endif()
    string(APPEND filter ":${DOCLOCK_TESTS_LEFT_OUT}")
  endif()
  if(DOCLOCK_TESTS_TOGETHER)
    if(long)
      list(APPEND ARGN COST 100)
    endif()
    doclock_add_parts(${name} ${list} "${filter}" "${labels}" ${ARGN})
    return()
  endif()
  gtest_discover_tests(
    ${name}
    TEST_FILTER "${filter}"
    TEST_LIST ${list}
    DISCOVERY_TIMEOUT 600
    PROPERTIES TIMEOUT ${timeout})
  # gtest_discover_tests takes lists among its properties apart; CTest itself does not.
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${list}_properties.cmake")
  set(properties "LABELS [[${labels}]]")
  while(ARGN)
    list(POP_FRONT ARGN property value)
    string(REPLACE "|" ";" value "${value}")
    string(APPEND properties " ${property} [[${value}]]")
  endwhile()
  file(WRITE "${file}" "if(${list})\n  set_tests_properties(\${${list}} PROPERTIES ${properties})\nendif()\n")
  if(long)
    file(
      APPEND "${file}"
      "list(FILTER ${list} INCLUDE REGEX [[${long}]])\nif(${list})\n  set_tests_properties(\${${list}} PROPERTIES COST 100)\nendif()\n")
  endif()
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

function(doclock_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;LONG_TESTS;SERVER_TESTS;SERVER_TESTS_LEFT_OUT;SERIAL_TESTS" "SOURCES;LIBS;LABELS;SERVERS;SERVER_LABELS")
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  add_executable(${name} ${arg_SOURCES} "${PROJECT_SOURCE_DIR}/tests/quiet/quiet.cpp")
  doclock_target_defaults(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE doclock_internal GTest::gmock_main rapidcheck rapidcheck_gtest ${arg_LIBS})
  if(NOT arg_SERVER_TESTS)
    doclock_discover(${name} ${name}_all "*" ${arg_TIMEOUT} "${arg_LABELS}" "${arg_LONG_TESTS}")
    return()
  endif()
  if(NOT arg_SERVER_TESTS STREQUAL "*")
    doclock_discover(${name} ${name}_local "-${arg_SERVER_TESTS}" ${arg_TIMEOUT} "${arg_LABELS}" "${arg_LONG_TESTS}")
  endif()
  list(JOIN arg_SERVERS "|" servers)
  # A server that waits for disks plays a twentieth of the random traces in the time of the others. A trace that fails is not
  # shrunk: that takes an hour, and its seed is printed.
  set(properties FIXTURES_REQUIRED "${servers}" ENVIRONMENT "RC_PARAMS=max_success=5 noshrink=1")
  if(NOT arg_SERVER_LABELS)
    set(arg_SERVER_LABELS mongodb)
  endif()
  set(labels "${arg_LABELS};${arg_SERVER_LABELS}")
  if(NOT "conformance" IN_LIST arg_LABELS)
    list(APPEND labels servers)
  endif()
  set(left_out "${arg_SERVER_TESTS_LEFT_OUT}")
  if(arg_SERIAL_TESTS)
    # They come first: the others run beside them. Other programs have the same servers.
    list(APPEND arg_SERVERS ${name})
    list(GET arg_SERVERS 0 disturbed)
    doclock_discover(
      ${name} ${name}_serial "${arg_SERIAL_TESTS}-${left_out}" ${arg_TIMEOUT} "${labels}" "" ${properties} RESOURCE_LOCK ${disturbed} COST 1000)
    string(APPEND left_out ":${arg_SERIAL_TESTS}")
  endif()
  if(NOT arg_SERIAL_TESTS STREQUAL arg_SERVER_TESTS)
    doclock_discover(${name} ${name}_server "${arg_SERVER_TESTS}-${left_out}" ${arg_TIMEOUT} "${labels}" "${arg_LONG_TESTS}" ${properties})
  endif()
endfunction()

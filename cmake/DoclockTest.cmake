# doclock_test(<name> [SOURCES <files>...] [LIBS <targets>...] [LABELS <labels>...] [TIMEOUT <seconds>])
#
# A GoogleTest program, each of whose cases is a CTest test. Without SOURCES: every .cpp of the current folder; a
# folder that has none makes no program. Everything of doclock, RapidCheck, src/ and tests/ are in reach.

include(GoogleTest)

function(doclock_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;LABELS")
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  doclock_target_defaults(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${name} PRIVATE doclock_internal GTest::gmock_main rapidcheck rapidcheck_gtest ${arg_LIBS})
  gtest_discover_tests(
    ${name}
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

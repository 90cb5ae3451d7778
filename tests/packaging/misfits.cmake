# What a compiler and find_package say of programs that do not fit an installed library: cmake -DCOMPILER=<path> -DSOURCE=<of
# the project> -DBUILD=<its build> -DJSON=<folder of nlohmann/> -DBOOST=<folder of Boost's CMake package> -P misfits.cmake
cmake_minimum_required(VERSION 3.25)

set(work "${CMAKE_CURRENT_BINARY_DIR}/misfits")
file(REMOVE_RECURSE "${work}")
# As they are installed.
file(COPY "${SOURCE}/include/doclock" DESTINATION "${work}/include")
file(COPY "${BUILD}/doclock_built_with.h" DESTINATION "${work}/include/doclock/detail")
# Other versions of what the interface uses.
file(COPY "${JSON}/nlohmann" DESTINATION "${work}/json" FOLLOW_SYMLINK_CHAIN)
file(GLOB_RECURSE headers "${work}/json/*.hpp")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(REGEX REPLACE "(VERSION_PATCH)( [0-9]+ |  *!= [0-9]+)" "\\1 99 " other "${text}")
  if(NOT other STREQUAL text)
    file(WRITE "${header}" "${other}")
  endif()
endforeach()
file(WRITE "${work}/boost/boost/version.hpp" "#define BOOST_VERSION 198700\n#define BOOST_LIB_VERSION \"1_987\"\n")
file(WRITE "${work}/program.cpp" "#include <doclock/doclock.h>\n")
file(WRITE "${work}/late.cpp" "#include <nlohmann/json.hpp>\n#include <doclock/doclock.h>\n")

function(compile source)
  execute_process(
    COMMAND "${COMPILER}" ${ARGN} -fsyntax-only -Wfatal-errors "-I${work}/include" "${work}/${source}"
    RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_VARIABLE said)
  set(code "${code}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

function(fits)
  compile(late.cpp ${ARGN})
  if(NOT code EQUAL 0)
    message(SEND_ERROR "a program that fits is refused with ${ARGN}:\n${said}")
  endif()
endfunction()

# The first error has `sentence`.
function(misfits sentence)
  compile(program.cpp ${ARGN})
  string(REGEX MATCH "error: [^\n]*" first "${said}")
  string(FIND "${first}" "doclock: " at)
  string(FIND "${first}" "${sentence}" there)
  if(code EQUAL 0 OR at EQUAL -1 OR there EQUAL -1)
    message(SEND_ERROR "with ${ARGN} the compiler says not \"${sentence}\" but: ${first}")
  endif()
endfunction()

fits(-std=c++20)
fits(-std=c++2b -DNDEBUG -D_GLIBCXX_ASSERTIONS)
fits(-std=gnu++20 -DJSON_USE_IMPLICIT_CONVERSIONS=0)
fits(-std=c++20 -DBOOST_ASIO_NO_DEPRECATED -DBOOST_ASIO_NO_TS_EXECUTORS)
misfits("not compiled as C++20" -std=c++17)
misfits("without exceptions" -std=c++20 -fno-exceptions)
misfits("without run-time type information" -std=c++20 -fno-rtti)
misfits("values of _GLIBCXX_DEBUG: the program with 1, the library with _GLIBCXX_DEBUG" -std=c++20 -D_GLIBCXX_DEBUG)
misfits("values of _GLIBCXX_USE_CXX11_ABI: the program with 0, the library with 1" -std=c++20 -D_GLIBCXX_USE_CXX11_ABI=0)
misfits("values of JSON_DIAGNOSTICS: the program with 1, the library with 0" -std=c++20 -DJSON_DIAGNOSTICS=1)
misfits("the program with nlohmann::json_abi_ldvcmp" -std=c++20 -DJSON_USE_LEGACY_DISCARDED_VALUE_COMPARISON=1)
misfits("values of NLOHMANN_JSON_NAMESPACE: the program with nlohmann::json_abi_v3_11_99" -std=c++20 "-I${work}/json")
misfits("values of BOOST_VERSION: the program with 198700" -std=c++20 "-I${work}/boost")

execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/tests/packaging/find_misfit" -B "${work}/find" "-DCMAKE_CXX_COMPILER=${COMPILER}"
          "-Ddoclock_DIR=${BUILD}" "-DBoost_DIR=${BOOST}"
  RESULT_VARIABLE code ERROR_VARIABLE said OUTPUT_QUIET)
if(code EQUAL 0 OR NOT said MATCHES "nlohmann_json.*exactly.*version \"3[.].*version: 3.11.99")
  message(SEND_ERROR "find_package says of another nlohmann_json: ${said}")
endif()

# What DOCLOCK_WITH_<NAME> may be: cmake -DMODULE=<DoclockStore.cmake> -P store_option.cmake. It calls itself with a VALUE.

cmake_minimum_required(VERSION 3.25)
include("${MODULE}")

if(DEFINED VALUE)
  set(DOCLOCK_WITH_SOME "${VALUE}")
  doclock_store_option(some "" with)
  message("with=${with}=")
  return()
endif()

function(expect value text)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" "-DMODULE=${MODULE}" "-DVALUE=${value}" -P "${CMAKE_CURRENT_LIST_FILE}"
    ERROR_VARIABLE error
    OUTPUT_QUIET)
  string(REGEX REPLACE "[ \n]+" " " error "${error}")
  string(FIND "${error}" "${text}" place)
  if(place EQUAL -1)
    message(SEND_ERROR "\"${value}\" gives \"${error}\", not \"${text}\"")
  endif()
endfunction()

foreach(value ON on On TRUE true yes 1)
  expect("${value}" "with=ON=")
endforeach()
foreach(value OFF off Off FALSE no 0)
  expect("${value}" "with=OFF=")
endforeach()
foreach(value AUTO auto Auto)
  expect("${value}" "with=AUTO=")
endforeach()
foreach(value maybe atuo 2 "")
  expect("${value}" "DOCLOCK_WITH_SOME is \"${value}\"; it must be ON, OFF or AUTO")
endforeach()

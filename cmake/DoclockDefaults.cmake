# The compile options of every target of the project. Nothing here reaches a consumer: flags are set on doclock's own
# targets, except the sanitizers and the compiler launcher, which a developer asks for and which must cover the tree.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(DOCLOCK_CCACHE ccache)
    mark_as_advanced(DOCLOCK_CCACHE)
    if(DOCLOCK_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${DOCLOCK_CCACHE}")
    endif()
  endif()
endif()

if(DOCLOCK_SANITIZE)
  list(JOIN DOCLOCK_SANITIZE "," doclock_sanitizers)
  add_compile_options(-fsanitize=${doclock_sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${doclock_sanitizers})
  if("undefined" IN_LIST DOCLOCK_SANITIZE)
    # A third of the code that UBSan adds. A null pointer is a fault without it, and x86 and ARM do not mind alignment.
    add_compile_options(-fno-sanitize=null,alignment)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's warnings that follow the flow of data mistake the sanitizers' code for ours; other builds have them on. And
    # it says of every fence that TSan does not model it: Asio has some.
    add_compile_options(-Wno-array-bounds -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-tsan)
  endif()
endif()

# doclock_target_defaults(<target>): language level, warnings, visibility.
function(doclock_target_defaults target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # At -O3 it warns of the standard library's own copying and comparing (GCC bugs 105651 and 105762).
      target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds)
    endif()
    if(DOCLOCK_WARNINGS_AS_ERRORS)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
  elseif(MSVC)
    target_compile_options(${target} PRIVATE /W4 /permissive- $<$<BOOL:${DOCLOCK_WARNINGS_AS_ERRORS}>:/WX>)
  endif()
endfunction()

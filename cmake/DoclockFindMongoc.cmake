# libmongoc, the official C driver, for doclock::mongodb. Settles DOCLOCK_WITH_MONGODB: from here on it is ON or OFF.

if(DOCLOCK_WITH_MONGODB)
  # From version 2 on the package and its targets have other names; the headers do not. Where both are installed the newer
  # one is taken: CMAKE_DISABLE_FIND_PACKAGE_mongoc=ON chooses the other.
  find_package(mongoc 2.0 CONFIG QUIET)
  if(mongoc_FOUND)
    set(doclock_mongoc_major 2)
    set(doclock_mongoc_pkgconfig "mongoc2 >= 2.0")
    set(doclock_mongoc_version ${mongoc_VERSION})
    if(NOT TARGET mongo::mongoc_shared)
      add_library(mongo::mongoc_shared INTERFACE IMPORTED)
      target_link_libraries(mongo::mongoc_shared INTERFACE mongoc::mongoc)
    endif()
  else()
    set(doclock_mongoc_major 1)
    set(doclock_mongoc_pkgconfig "libmongoc-1.0 >= 1.23")
    find_package(mongoc-1.0 1.23 CONFIG QUIET)
    set(doclock_mongoc_version ${mongoc-1.0_VERSION})
  endif()
  if(mongoc-1.0_FOUND OR mongoc_FOUND)
    set(DOCLOCK_WITH_MONGODB ON)
    message(STATUS "doclock::mongodb uses libmongoc ${doclock_mongoc_version}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Of bson_t's alignment, which templates drop.
      add_compile_options(-Wno-ignored-attributes)
    endif()
  elseif(DOCLOCK_WITH_MONGODB STREQUAL "AUTO")
    message(STATUS "doclock::mongodb is left out: libmongoc 1.23 or newer was not found")
    set(DOCLOCK_WITH_MONGODB OFF)
  else()
    message(
      FATAL_ERROR
        "DOCLOCK_WITH_MONGODB is ${DOCLOCK_WITH_MONGODB}, and libmongoc 1.23 or newer (mongoc-1.0, or mongoc 2) was not found. Install it "
        "(libmongoc-dev on Debian and Ubuntu; scripts/install_deps.sh does), say where it is with CMAKE_PREFIX_PATH, or build "
        "without MongoDB: -DDOCLOCK_WITH_MONGODB=OFF")
  endif()
endif()

#pragma once

/// @file
/// What has to fit between a program and the library: refuses, in words, to compile a program that
/// does not fit, and marks what a shared build of the library exports; everything else stays
/// hidden.

#if __cplusplus < 202002L
#error "doclock: this program is not compiled as C++20; pass -std=c++20 or newer"
#endif
#if !defined(__cpp_exceptions)
#error "doclock: this program is compiled without exceptions; leave out -fno-exceptions"
#endif
#if !defined(__cpp_rtti)
#error "doclock: this program is compiled without run-time type information; leave out -fno-rtti"
#endif
#if !defined(__SIZEOF_INT128__) || __SIZEOF_POINTER__ < 8
#error "doclock: this program is compiled for a system of 32 bits; doclock needs 64"
#endif

// The build of an installed library makes that header. A build that has the library in its tree has
// one set of headers and options for all.
#if __has_include("detail/doclock_built_with.h")
#include <boost/version.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#define DOCLOCK_VERBATIM(text) #text
#define DOCLOCK_VALUE(macro) DOCLOCK_VERBATIM(macro)
#define DOCLOCK_BUILT_WITH(macro, value)                                                 \
  static_assert(                                                                         \
      std::string_view(DOCLOCK_VALUE(macro)) == value,                                   \
      "doclock: this program and the library are built with different values of " #macro \
      ": the program with " DOCLOCK_VALUE(                                               \
          macro) ", the library with " value                                             \
                 " (its own name: not defined). Compile both with the same headers and options")
#include "detail/doclock_built_with.h"
#undef DOCLOCK_BUILT_WITH
#undef DOCLOCK_VALUE
#undef DOCLOCK_VERBATIM
#endif

#if defined(DOCLOCK_SHARED) && defined(_WIN32)
#if defined(DOCLOCK_BUILDING)
#define DOCLOCK_EXPORT __declspec(dllexport)
#else
#define DOCLOCK_EXPORT __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define DOCLOCK_EXPORT __attribute__((visibility("default")))
#else
#define DOCLOCK_EXPORT
#endif

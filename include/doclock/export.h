#pragma once

/// @file
/// Marks what a shared build of the library exports; everything else stays hidden.

#include "doclock/detail/same_build.h"

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

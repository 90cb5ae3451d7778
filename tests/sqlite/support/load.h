#pragma once

namespace doclock::sqlite_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

/// Sanitizers make everything slower and find the same in fewer rounds.
inline constexpr int Rounds(int rounds) { return kSanitized ? rounds / 8 + 1 : rounds; }

#if defined(DOCLOCK_PLATFORM_IS_linux)
inline constexpr bool kHasCoordinator = true;
#else
inline constexpr bool kHasCoordinator = false;
#endif

}  // namespace doclock::sqlite_test

/// For tests of what the portable operating system layer does not have.
#define DOCLOCK_NEEDS_COORDINATOR()           \
  if (!doclock::sqlite_test::kHasCoordinator) \
  GTEST_SKIP() << "this platform has no process coordinator"

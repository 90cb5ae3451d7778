#pragma once

#include <locale.h>

#include <cfenv>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace doclock::platform {

/// While it lives, this thread turns text into numbers, and numbers into text, as a fresh process
/// does, whatever the program has set: in the locale "C" (strtod takes the decimal point of the
/// locale, which may be a comma, or several bytes long), rounding to the nearest, with denormals.
/// Libraries that translate their messages leave them in English. Costs some nanoseconds.
class PlainNumbers {
 public:
  PlainNumbers() noexcept : locale_(::uselocale(Classic())), rounds_(RoundsOtherwise()) {
    if (!rounds_) return;
    std::fegetenv(&rounding_);
    std::fesetenv(FE_DFL_ENV);
  }
  PlainNumbers(const PlainNumbers&) = delete;
  PlainNumbers& operator=(const PlainNumbers&) = delete;
  ~PlainNumbers() {
    if (rounds_) std::fesetenv(&rounding_);
    ::uselocale(locale_);
  }

 private:
  static locale_t Classic() noexcept {
    static const locale_t classic = ::newlocale(LC_ALL_MASK, "C", nullptr);
    return classic;
  }
  static bool RoundsOtherwise() noexcept {
#ifdef __SSE__
    // Rounding, and taking denormals for zero; the rest are exceptions. Programs that are linked
    // with -ffast-math begin so.
    constexpr unsigned kFlushToZero = 0x8000, kRounding = 0x6000, kDenormalsAreZero = 0x40;
    if ((_mm_getcsr() & (kFlushToZero | kRounding | kDenormalsAreZero)) != 0) return true;
#endif
    return std::fegetround() != FE_TONEAREST;
  }

  locale_t locale_;
  bool rounds_;
  std::fenv_t rounding_;
};

}  // namespace doclock::platform

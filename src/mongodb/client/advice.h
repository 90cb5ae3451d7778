#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// What may be done about a server that was reached without TLS and did not answer the greeting:
/// the end of a sentence, by the driver's words. Empty: they speak for themselves.
std::string AdviceOn(std::string_view driver_says);

/// Whether no server that failed the greeting, by the driver's words, will pass it by itself: each
/// speaks another protocol, wants TLS, or shows a certificate that is not accepted.
bool FailsForGood(std::string_view driver_says);

}  // namespace doclock::mongodb

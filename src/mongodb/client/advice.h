#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// Returns what may be done about a server that was reached and did not answer the greeting: the
/// end of a sentence, by the driver's words. Empty: they speak for themselves.
std::string AdviceOn(std::string_view driver_says, bool with_tls);

/// Whether no server that failed the greeting, by the driver's words, will pass it by itself: each
/// speaks another protocol, wants TLS, shows a certificate that is not accepted, or refuses the TLS
/// handshake.
bool FailsForGood(std::string_view driver_says);

}  // namespace doclock::mongodb

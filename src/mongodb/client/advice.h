#pragma once

#include <string>
#include <string_view>

namespace doclock::mongodb {

/// What may be done about a server that was reached without TLS and did not answer the greeting:
/// the end of a sentence, by the driver's words. Empty: they speak for themselves.
std::string AdviceOn(std::string_view driver_says);

}  // namespace doclock::mongodb

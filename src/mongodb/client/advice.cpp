#include "mongodb/client/advice.h"

#include <charconv>
#include <cstdint>

namespace doclock::mongodb {
namespace {

/// A message begins with its length, in four bytes. What is read first is these, then the rest.
constexpr std::uint32_t kLengthBytes = 4;
/// maxMessageSizeBytes.
constexpr std::uint32_t kLongestMessage = 48'000'000;

/// An alert of TLS as a length: type 21, version 3.0 to 3.4, and the upper byte of a small length.
bool IsTlsAlert(std::uint32_t length) noexcept {
  return (length & 0xffff) == 0x0315 && (length >> 16) <= 4;
}

enum class Greeted { kUnknown, kNothing, kOtherProtocol, kTls };

/// What came of the read of so many bytes, which failed.
Greeted After(std::uint32_t wanted) noexcept {
  if (wanted == kLengthBytes) return Greeted::kNothing;
  if (IsTlsAlert(wanted + kLengthBytes)) return Greeted::kTls;
  return wanted > kLongestMessage ? Greeted::kOtherProtocol : Greeted::kUnknown;
}

/// Of several servers, that of the first.
Greeted WhatCame(std::string_view text) {
  constexpr std::string_view kFailed = "Failed to read ";
  if (const std::size_t at = text.find(kFailed); at != text.npos) {
    std::uint32_t wanted = 0;
    const char* const number = text.data() + at + kFailed.size();
    if (std::from_chars(number, text.data() + text.size(), wanted).ec == std::errc()) {
      return After(wanted);
    }
  }
  // libmongoc 2.x refuses a length that cannot be one, and does not tell it.
  if (text.find("invalid reply from server: message length") != text.npos) {
    return Greeted::kOtherProtocol;
  }
  return text.find("connection closed") == text.npos ? Greeted::kUnknown : Greeted::kNothing;
}

/// What the driver says of one server.
bool IsForGood(std::string_view text) {
  const Greeted greeted = WhatCame(text);
  const auto says = [&](const char* words) { return text.find(words) != text.npos; };
  // OpenSSL's own words are about certificates, alerts of the server and versions of TLS; those of
  // the network's failures are the system's.
  const bool may_pass =
      says("alert internal error") || says("alert user cancel") || says("malloc failure");
  return greeted == Greeted::kOtherProtocol || greeted == Greeted::kTls ||
         says("certificate verif") || (says("TLS handshake failed: error:") && !may_pass);
}

}  // namespace

bool FailsForGood(std::string_view driver_says) {
  std::size_t start = driver_says.find('[');
  if (start == driver_says.npos) return false;
  while (start != driver_says.npos) {
    const std::size_t next = driver_says.find('[', start + 1);
    if (!IsForGood(driver_says.substr(start, next - start))) return false;
    start = next;
  }
  return true;
}

std::string AdviceOn(std::string_view driver_says, bool with_tls) {
  switch (WhatCame(driver_says)) {
    case Greeted::kNothing:
      if (with_tls) {
        return "; the server hung up or said nothing after the TLS handshake: it may want a client "
               "certificate that it trusts (tlsCertificateKeyFile in the URI)";
      }
      return "; the port is open, and what listens there hung up or said nothing: it may want TLS "
             "(tls=true in the URI), or be no MongoDB";
    case Greeted::kOtherProtocol:
      return "; what listens there speaks another protocol than MongoDB's";
    case Greeted::kTls:
      return "; what listens there wants TLS: it needs tls=true in the URI";
    case Greeted::kUnknown:
      break;
  }
  return {};
}

}  // namespace doclock::mongodb

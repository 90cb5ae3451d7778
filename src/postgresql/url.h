#pragma once

#include <string>

namespace doclock::postgresql {

/// What a connection is made by.
struct Url {
  std::string text;  ///< libpq's.
  /// To another machine: the certificate is verified, unless the URL or libpq's environment says
  /// otherwise. (libpq's own default falls back to a connection without TLS.)
  bool verifies = false;
};

/// @throws std::invalid_argument, whose text does not repeat the URL
Url ParseUrl(const std::string& text);

}  // namespace doclock::postgresql

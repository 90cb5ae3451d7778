#pragma once

#include <string>
#include <vector>

namespace doclock::postgresql {

/// A server, as libpq names one; empty: as the URL says.
struct Host {
  std::string name, address, port;
};

/// What a connection is made by.
struct Url {
  /// All of libpq's options, so that it looks for none in the environment when it connects again.
  /// Has the password.
  std::string text;
  /// Where the server may be, in the order to try. If libpq's lists cannot be taken apart, one host
  /// stands for all.
  std::vector<Host> hosts;
  /// To another machine: the certificate is verified, unless the URL or libpq's environment says
  /// otherwise. (libpq's own default falls back to a connection without TLS.)
  bool verifies = false;
};

/// The URL's options, and for those that it leaves out what libpq's environment and files say now.
/// @throws std::invalid_argument, whose text does not repeat the URL
Url ParseUrl(const std::string& text);

}  // namespace doclock::postgresql

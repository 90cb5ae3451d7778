#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "doclock/errors.h"

namespace doclock::postgresql {

/// The SQLSTATE of a server that does not know a prepared statement.
inline constexpr std::string_view kNotPrepared = "26000";
/// What it means, as the end of a sentence.
inline constexpr const char* kOtherSession =
    ": does a pooler give each transaction another session? Name the server itself";

/// The server refused a statement: the transaction has failed, and the connection is good. The
/// server's own text is left out, because it may quote values.
struct Refusal : std::exception {
  std::string state;       ///< SQLSTATE.
  std::string constraint;  ///< The constraint or index that refused, if one did.
  std::string lacking;     ///< What the role may not do, in the server's words, which name a table.
  std::size_t place = 0;   ///< The statement's number, as Connection::Send gave it.

  /// Did another client's transaction come first? (A failed serialization, a deadlock.)
  [[nodiscard]] bool IsRace() const noexcept { return state == "40001" || state == "40P01"; }
  /// Whether another client's transaction locked a row, or a value of an index, for too long.
  [[nodiscard]] bool IsKept() const noexcept { return state == "55P03"; }
  /// Whether the statement took longer than it may, or was cancelled.
  [[nodiscard]] bool IsTimeout() const noexcept { return state == "57014"; }
  /// Is there no such function, or none for this server or this role?
  [[nodiscard]] bool TellsOfNothing() const noexcept {
    return state == "42883" || state == "0A000" || state == "42501" || state == "25006";
  }
  /// Did a statement write no row that it should have written? (The logarithm of their number.)
  [[nodiscard]] bool IsUnwritten() const noexcept { return state == "2201E"; }
  [[nodiscard]] bool IsRepeatedValue() const noexcept { return state == "23505"; }
  /// Is it about what one statement would store? (A value, a constraint, a limit.)
  [[nodiscard]] bool IsAboutAValue() const noexcept {
    return state.starts_with("22") || state.starts_with("23") || state.starts_with("54");
  }
};

/// There is no answer, or the connection is at its end. What was sent may have been done, or may be
/// done yet.
struct Loss : std::exception {
  explicit Loss(std::string why) noexcept : text(std::move(why)) {}
  std::string text;
  bool nothing_done = false;  ///< The server said that it had ended the session before.
  bool for_good = false;      ///< A new connection is refused until something is changed.
  /// With `for_good`: what only a store that opens takes for good. Where a connection went before,
  /// one may go again: a standby is promoted, what logins rest on is up again, files are replaced.
  bool may_pass = false;
};

/// Whether a server or a pooler refuses for as long as nothing is changed; false too if that is not
/// known.
/// @param state the SQLSTATE; poolers have one for all
/// @param message in English, since those of poolers are
bool Lasts(std::string_view state, std::string_view message) noexcept;

/// Returns why libpq itself, in English and without the server's state, refuses a connection for as
/// long as nothing is changed; null: it may pass, or is not known.
const char* LastingReasonOfLibpq(std::string_view message) noexcept;

/// Throws that the server's answer does not fit what was asked. @throws Loss
[[noreturn]] void RefuseAnswer(const char* why);

/// Throws what the exception that is being handled, a Refusal or a Loss, means to a caller if
/// nothing was stored: after a Loss another connection may do. @throws locking::Raced,
/// StoreException
[[noreturn]] void ThrowNothingStored();

/// Runs what stores nothing.
template <class Run>
decltype(auto) WithoutDoubt(const Run& run) {
  try {
    return run();
  } catch (const Refusal&) {
    ThrowNothingStored();
  } catch (const Loss&) {
    ThrowNothingStored();
  }
}

}  // namespace doclock::postgresql

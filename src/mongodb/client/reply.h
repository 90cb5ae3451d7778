#pragma once

#include <mongoc/mongoc.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// Codes of the server's error_codes.yml that mean different things here.
inline constexpr int kUnauthorized = 13, kNamespaceNotFound = 26, kDocumentValidationFailure = 121,
                     kBsonObjectTooLarge = 10334, kDuplicateKey = 11000, kWriteConflict = 112,
                     kConflictingOperationInProgress = 117, kNoSuchTransaction = 251,
                     kImmutableField = 66;
/// The document would be too large, of an update; it has no name.
inline constexpr int kUpdateTooLarge = 17419;

/// Why an answer is not believed (decision 28).
inline constexpr const char* kOtherQuestion = "the server's answer is that to another question";

/// The outcome of a command, or of one statement of it.
enum class Outcome : std::uint8_t {
  kAnswered,  ///< The server did it, or found nothing to do.
  kRefused,   ///< The server refused; nothing was done.
  kNotSent,   ///< No server was reachable, nothing was sent; or it failed before any effect.
  kDoubt,     ///< It may have been done, or may still be done.
};

/// What a command does, which decides what a lost reply means.
enum class Effect : std::uint8_t { kReads, kWrites };

/// The server's result of a command or a statement. Texts never hold a URI, a body or a lock id.
struct CommandResult {
  Outcome outcome = Outcome::kAnswered;
  int code = 0;      ///< The server's error code.
  std::string text;  ///< Diagnostic only.
  /// With kDuplicateKey: the fields of the index, as in IndexSpec; "_id" for the key.
  std::string duplicate;

  [[nodiscard]] bool answered() const noexcept { return outcome == Outcome::kAnswered; }
  [[nodiscard]] bool is_duplicate() const noexcept { return code == kDuplicateKey; }
  /// It matched no document: see Told (statements.h).
  [[nodiscard]] bool met_nothing() const noexcept { return code == kImmutableField; }
  /// The collection's validator refuses the document.
  [[nodiscard]] bool is_invalid() const noexcept { return code == kDocumentValidationFailure; }
  /// The document would be too large: of an update, and of what it sends on.
  [[nodiscard]] bool is_too_large() const noexcept {
    return code == kUpdateTooLarge || code == kBsonObjectTooLarge;
  }
  /// The user lacks a privilege.
  [[nodiscard]] bool is_unauthorized() const noexcept {
    return outcome == Outcome::kRefused && code == kUnauthorized;
  }
};

/// An answer: the result of the command as a whole, and of the statements that failed by
/// themselves.
class Reply : public CommandResult {
 public:
  Reply() { bson_init(&bson_); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  ~Reply() { bson_destroy(&bson_); }

  [[nodiscard]] const bson_t& doc() const noexcept { return bson_; }
  /// Takes what libmongoc returned for a command that it sent, or failed to send.
  void Judge(bool done, const bson_error_t& error, Effect effect);
  /// Clears this, and returns where libmongoc shall put an answer.
  bson_t* Fresh() noexcept;
  /// The answer is that to another question: the outcome is unknown.
  void Disown(Effect effect);
  /// Whether it can be the answer to a command of so many statements. If not, disowns it.
  /// @param tells_each does it say of each whether it was done?
  bool Fits(std::size_t statements, bool tells_each);
  /// Whether each of so many statements was done, or has an error of its own.
  [[nodiscard]] bool AccountsFor(std::size_t statements) const;
  /// The command was not sent, for this reason.
  void NotSent(const char* why);

  /// The result of one statement: its own error, or else that of the command.
  [[nodiscard]] const CommandResult& Of(std::size_t statement) const noexcept;
  [[nodiscard]] bool HasOwnError(std::size_t statement) const noexcept {
    return &Of(statement) != this;
  }
  /// Was something done, and no majority has acknowledged it?
  [[nodiscard]] bool is_unconfirmed() const;
  /// The server itself gave up because time ran out (maxTimeMS): the command has ended there.
  [[nodiscard]] bool ran_out_of_time() const noexcept { return ran_out_of_time_; }
  /// The server is not the primary, and has written nothing.
  [[nodiscard]] bool met_no_primary() const noexcept { return met_no_primary_; }

  /// An integer at the top level; 0 when there is none.
  [[nodiscard]] std::int64_t Integer(const char* name) const;
  /// Is there a document at this name? (findAndModify's "value")
  bool Document(const char* name, bson_t& found) const { return FindDocument(bson_, name, found); }
  /// cursor.firstBatch, one by one, until `visit` returns false.
  template <class Visit>
  void ForEachInBatch(const Visit& visit) const {
    bson_t cursor;
    if (!FindDocument(bson_, "cursor", cursor)) return;
    ForEachItem(cursor, "firstBatch", [&](const bson_iter_t& item) { return Show(item, visit); });
  }
  /// The documents of an array at the top level, one by one, until `visit` returns false.
  template <class Visit>
  void ForEachIn(const char* array, const Visit& visit) const {
    ForEachItem(bson_, array, [&](const bson_iter_t& item) { return Show(item, visit); });
  }
  /// The cursor with what did not fit into firstBatch; 0: there is no more.
  [[nodiscard]] std::int64_t cursor_id() const;

 private:
  struct OwnError : CommandResult {
    std::size_t statement = 0;
  };
  /// Returns true; false if `visit` has seen enough. What is no document is passed over.
  template <class Visit>
  static bool Show(const bson_iter_t& item, const Visit& visit) {
    bson_t doc;
    const bson_t& shown = doc;  // std::as_const would drop bson_t's alignment
    return !DocumentAt(item, doc) || visit(shown);
  }
  void ReadOwnErrors();
  void Fail(const bson_error_t& error, Effect effect);

  bson_t bson_;
  std::vector<OwnError> errors_;
  bool ran_out_of_time_ = false;
  bool met_no_primary_ = false;
};

}  // namespace doclock::mongodb

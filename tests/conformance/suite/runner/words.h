#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace doclock::conformance::script {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using Ms = std::chrono::milliseconds;

/// A mistake in a script, apart from a wrong answer.
struct ScriptError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Splits a text at spaces. `{...}`, `[...]` and `"..."` stay whole.
/// @throws ScriptError if one of them does not end
std::vector<std::string> Split(std::string_view text);
/// Splits a list at its commas.
std::vector<std::string> AtCommas(const std::string& list);

/// Joins the parts that are not empty.
std::string Joined(const std::vector<std::string>& parts, const char* between = ", ");
/// Quotes a word of a script, for a message.
std::string Quoted(std::string_view word);

/// Writes a length of time: 1h, 1m30s, 29.999s.
std::string LengthText(Ms time);
/// Reads a length of time, which may be negative; none if `text` is none.
std::optional<Ms> LengthOf(std::string_view text);
/// Writes a moment, counted from the beginning of the case: 0:30, 5:01.25, 1:00:00.
std::string MomentText(Ms since_begin);
/// Reads a moment; none if `text` is none.
std::optional<Ms> MomentOf(std::string_view text);

/// How much earlier than in the script a moment may be. On a real server (Backend::slack) the time
/// of the case's own steps passes too.
class Slack {
 public:
  explicit Slack(Ms of_the_store) : of_the_store_(of_the_store) {}
  [[nodiscard]] Ms now() const {
    if (of_the_store_ == 0ms) return 0ms;
    return of_the_store_ + std::chrono::ceil<Ms>(std::chrono::steady_clock::now() - begin_);
  }

 private:
  Ms of_the_store_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The words of one step. Each has to be read, or the step is a mistake.
class Words {
 public:
  explicit Words(std::vector<std::string> words) : words_(std::move(words)), used_(words_.size()) {}

  /// Reads the next word.
  std::string Take();
  /// Reads the next word as a length of time.
  Ms TakeLength();
  /// Reads all other words.
  std::vector<std::string> Rest();
  /// Reads all other words, which are parts with `;` between them.
  std::vector<std::vector<std::string>> Parts();
  /// Reads this word. Returns whether it is there.
  bool Flag(std::string_view word);
  /// Reads this word and the one behind it, which is returned.
  std::optional<std::string> After(std::string_view word);
  std::optional<Ms> LengthAfter(std::string_view word);
  std::optional<int> NumberAfter(std::string_view word);
  /// Reads a word `{...}`.
  std::optional<Json> Object();
  /// Reads a word such as `v3`.
  std::optional<std::int64_t> Version();
  /// @throws ScriptError if a word was not read
  void Finish();

 private:
  /// Reads the first word that is as wanted, or returns null.
  template <class Wanted>
  const std::string* Use(const Wanted& is_wanted);

  std::vector<std::string> words_;
  std::vector<bool> used_;
};

}  // namespace doclock::conformance::script

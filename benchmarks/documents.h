#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "doclock/document.h"
#include "doclock/json/uuid.h"
#include "doclock/json_types.h"

namespace doclock::bench {

/// A document as users have them: a few short fields, a list, and text up to `bytes` in all.
inline nlohmann::json SampleTree(int n, std::size_t bytes = 1024) {
  nlohmann::json tree = {{"step", "reserved"},
                         {"attempts", n},
                         {"due", 1'700'000'000 + n},
                         {"customer", {{"name", "Ada"}, {"city", "London"}}},
                         {"lines", {{{"sku", "A-1"}, {"qty", 2}}, {{"sku", "B-2"}, {"qty", 1}}}}};
  const std::size_t used = tree.dump().size() + sizeof R"(,"note":"")";
  tree["note"] = std::string(bytes > used ? bytes - used : 1, 'x');
  return tree;
}

/// The same as a store gives it: text.
inline Body SampleText(int n, std::size_t bytes = 1024) {
  return Body::FromText(SampleTree(n, bytes).dump());
}

/// A document of 1 KB, as text, that differs each time and keeps its size. (SQLite does not write a
/// page whose bytes stay the same, and a floor that writes nothing is none.)
class ChangingText {
 public:
  const std::string& Next() {
    ++count_;
    for (std::uint64_t i = 0, rest = count_; i < kDigits; ++i, rest /= 10) {
      text_[at_ - i] = static_cast<char>('0' + rest % 10);
    }
    return text_;
  }

 private:
  static constexpr std::uint64_t kDigits = 12;
  std::string text_ = SampleTree(1).dump();
  std::size_t at_ = text_.find("xxx") + kDigits;
  std::uint64_t count_ = 0;
};

/// A typical entity.
struct Saga {
  std::string step;
  int attempts = 0;
  std::int64_t due = 0;
  nlohmann::json customer;
  nlohmann::json lines;
  std::string note;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Saga, step, attempts, due, customer, lines, note)

inline Saga SampleSaga(int n) { return SampleTree(n).get<Saga>(); }

/// A small entity.
struct Small {
  std::string step;
  int attempts = 0;
  std::int64_t due = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Small, step, attempts, due)

/// An entity with each kind of everyday member, and one that says the same with plain ones.
enum class Stage { kOpen, kShipped };
BOOST_DESCRIBE_ENUM(Stage, kOpen, kShipped)

struct Card {
  static constexpr std::string_view kTag = "card";
  std::string number;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Card, number)
struct Cash {
  static constexpr std::string_view kTag = "cash";
};

struct Everyday {
  int attempts = 0;
  Stage stage = Stage::kOpen;
  std::optional<std::string> note = "fragile";
  std::chrono::system_clock::time_point due{std::chrono::seconds(1'700'000'000)};
  std::chrono::minutes patience{5};
  std::variant<Card, Cash> payment = Card{"4111"};
  Uuid customer = Uuid{};
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Everyday, attempts, stage, note, due, patience,
                                                payment, customer)

struct PlainCard {
  std::string type = "card";
  std::string number = "4111";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PlainCard, type, number)

struct Plain {
  int attempts = 0;
  std::string stage = "kOpen";
  std::string note = "fragile";
  std::int64_t due = 1'700'000'000'000;
  int patience = 5;
  PlainCard payment;
  std::string customer = "00000000-0000-0000-0000-000000000000";
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Plain, attempts, stage, note, due, patience,
                                                payment, customer)

}  // namespace doclock::bench

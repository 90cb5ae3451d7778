#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "doclock/entity_traits.h"
#include "doclock/json/uuid.h"

namespace doclock {

/// The usual entity: a plain struct and one macro.
struct Saga {
  std::string id;
  std::string step = {};
  int attempts = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Saga, id, step, attempts)

/// The same documents, by a program that knows less (and one field more).
struct Note {
  std::string id;
  std::optional<std::string> note;
};
inline void to_json(nlohmann::json& out, const Note& n) {
  out = {{"id", n.id}};
  if (n.note) out["note"] = *n.note;
}
inline void from_json(const nlohmann::json& in, Note& n) {
  in.at("id").get_to(n.id);
  if (in.contains("note")) n.note = in["note"].get<std::string>();
}

/// Carries its lock.
struct Order {
  std::string id;
  int total = 0;
  LockFields lock;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Order, id, total)
template <>
struct EntityTraits<Order> : DefaultEntityTraits<Order> {
  static constexpr auto kLockFields = &Order::lock;
};

/// Private members, another key, no default constructor.
class Account {
 public:
  Account(std::int64_t number, int balance) : number_(number), balance_(balance) {}
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] int balance() const { return balance_; }
  void Deposit(int amount) { balance_ += amount; }

 private:
  std::int64_t number_;
  int balance_;
};
template <>
struct EntityTraits<Account> : DefaultEntityTraits<Account> {
  static constexpr std::string_view kKeyField = "number";
  static std::int64_t GetKey(const Account& account) { return account.number(); }
};

/// Can be neither copied nor moved.
class Machine {
 public:
  explicit Machine(std::string s) : state(std::move(s)) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  std::string state;
};
template <>
struct EntityTraits<Machine> : DefaultEntityTraits<Machine> {
  static nlohmann::json ToJson(const Machine& machine) { return {{"state", machine.state}}; }
  static Machine FromJson(const nlohmann::json& body) {
    return Machine(body.at("state").get<std::string>());
  }
};

struct ByUuid {
  Uuid id{};
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ByUuid, id, n)
struct ByObjectId {
  ObjectId id{};
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ByObjectId, id, n)
struct ByNumber {
  int id = 0;
  int n = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ByNumber, id, n)

/// Its older form was {"name": "first last"}.
struct Person {
  std::string id;
  std::string first, last;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Person, id, first, last)
template <>
struct EntityTraits<Person> : DefaultEntityTraits<Person> {
  static void Upgrade(nlohmann::json& body) {
    if (!body.contains("name")) return;
    const auto name = body["name"].get<std::string>();
    const auto space = name.find(' ');
    if (space == name.npos) throw std::runtime_error("a name without a space");
    body["first"] = name.substr(0, space);
    body["last"] = name.substr(space + 1);
    body.erase("name");
  }
};

/// Cannot be written while it is broken.
struct Fragile {
  std::string id;
  bool broken = false;
};
inline void to_json(nlohmann::json& out, const Fragile& f) {
  if (f.broken) throw std::runtime_error("broken");
  out = {{"id", f.id}};
}
inline void from_json(const nlohmann::json& in, Fragile& f) { in.at("id").get_to(f.id); }

}  // namespace doclock

template <>
struct nlohmann::adl_serializer<doclock::Account> {
  static void to_json(nlohmann::json& out, const doclock::Account& account) {
    out = {{"number", account.number()}, {"balance", account.balance()}};
  }
  static doclock::Account from_json(const nlohmann::json& in) {
    return {in.at("number").get<std::int64_t>(), in.at("balance").get<int>()};
  }
};

/// JSON forms of doclock's own types as members of an entity: Key and LockFields.

#include <stdexcept>
#include <utility>

#include "doclock/json/bson.h"
#include "doclock/json/chrono.h"
#include "doclock/json/key.h"
#include "doclock/json/lock_fields.h"
#include "doclock/json/uuid.h"
#include "doclock/time.h"
#include "document/values/refusing.h"

namespace doclock {
namespace {

using detail::Refusing;
using nlohmann::json;

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace

json KeyToMember(const Key& key) {
  return std::visit(Overload{[](const std::string& text) { return json(text); },
                             [](std::int64_t number) { return json(number); },
                             [](const Uuid& id) { return json(Binary::FromUuid(id)); },
                             [](const ObjectId& id) { return ToExtendedJson(id); }},
                    key.value());
}

Key KeyFromMember(const json& in) {
  if (in.is_string()) return Refusing(in, [&] { return Key(in.get_ref<const std::string&>()); });
  if (in.is_number_integer() && detail::Fits<std::int64_t>(in)) return in.get<std::int64_t>();
  if (in.is_object() && in.contains("$oid")) return ObjectIdFromJson(in);
  if (in.is_object() && in.contains("$binary")) {
    return Refusing(in, [&] { return in.get<Binary>().ToUuid(); });
  }
  throw JsonValueError(
      in,
      "doclock: the JSON value is no key (text, a whole number, $oid, or $binary of subtype 04)");
}

void to_json(json& out, const LockFields& fields) {
  out = {{"id", nullptr}, {"time", nullptr}, {"version", fields.version}};
  if (fields.id) out["id"] = ToText(*fields.id);
  if (fields.time) out["time"] = Date(*fields.time);
}

void from_json(const json& in, LockFields& fields) {
  LockFields read;
  if (const json& id = in.at("id"); !id.is_null()) {
    read.id = UuidFromJson(id);
  }
  if (const json& time = in.at("time"); !time.is_null()) {
    read.time = detail::TimeOf<std::chrono::system_clock::time_point>(time);
  }
  const json& version = in.at("version");
  if (!version.is_number_integer() || !detail::Fits<std::int64_t>(version) || version < 0) {
    throw JsonValueError(version, "doclock: a version that is no whole number of 0 to 2^63 - 1");
  }
  version.get_to(read.version);
  fields = read;
}

}  // namespace doclock

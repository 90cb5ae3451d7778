#pragma once

/// @file
/// Enumerations by name: `BOOST_DESCRIBE_ENUM(State, kNew, kPaid)` beside the type, or
/// `BOOST_DEFINE_ENUM_CLASS(State, kNew, kPaid)` in its place, and the JSON form is "kNew",
/// "kPaid". A name or a value that the description lacks is an error, not the first one.

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "doclock/json/value_error.h"

namespace doclock::detail {

template <class E>
using Enumerators = boost::describe::describe_enumerators<E>;

/// @throws std::invalid_argument if the description has no such value.
template <class E>
std::string EnumeratorName(E value) {
  const char* name = nullptr;
  boost::mp11::mp_for_each<Enumerators<E>>([&](auto enumerator) {
    if (enumerator.value == value && name == nullptr) name = enumerator.name;
  });
  if (name != nullptr) return name;
  throw std::invalid_argument("doclock: an enumeration's value without a name: " +
                              std::to_string(static_cast<long long>(value)));
}

/// @throws JsonValueError if it is no text, or the description has no such name.
template <class E>
E EnumeratorOf(const nlohmann::json& in) {
  if (!in.is_string()) throw JsonValueError(in, "doclock: an enumeration that is no text");
  const auto& text = in.get_ref<const std::string&>();
  const E* found = nullptr;
  std::string known;
  boost::mp11::mp_for_each<Enumerators<E>>([&](auto enumerator) {
    static constexpr E kValue = decltype(enumerator)::value;
    if (text == enumerator.name) found = &kValue;
    known += (known.empty() ? "" : ", ") + std::string(enumerator.name);
  });
  if (found != nullptr) return *found;
  throw JsonValueError(in, "doclock: an enumeration's name that is none of " + known);
}

}  // namespace doclock::detail

/// @cond

template <class E>
  requires boost::describe::has_describe_enumerators<E>::value
struct nlohmann::adl_serializer<E> {
  static void to_json(nlohmann::json& out, const E& value) {
    out = doclock::detail::EnumeratorName(value);
  }
  static void from_json(const nlohmann::json& in, E& value) {
    value = doclock::detail::EnumeratorOf<E>(in);
  }
};

/// @endcond

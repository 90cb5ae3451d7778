#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "doclock/document.h"
#include "doclock/export.h"

namespace doclock::detail {

/// JSON with all digits of its numbers.
struct ExactJson {
  nlohmann::json tree;
  /// The literals of those numbers that the tree does not print like this, where they stand in it:
  /// an object for an object, an array for an array, null for all that has none. Nearly always
  /// null.
  nlohmann::json literals = {};
};

/// A body's form that has both.
struct BodyAccess {
  /// @throws DocumentException as Body::json
  DOCLOCK_EXPORT static const ExactJson& Exact(const Body&);
  DOCLOCK_EXPORT static Body Make(ExactJson);
};

/// Returns a text in which numbers of no value stand for those beyond the range of double, each as
/// long as what it replaces, because nlohmann's parser refuses them. @param replaced gets these
DOCLOCK_EXPORT std::string WithinRange(const std::string& text, std::vector<std::string>& replaced);

/// Reads JSON text. Of two members of one name it has the last; a number beyond the range of double
/// is infinite. @throws DocumentException if it is not JSON, or nested deeper than `depth`
DOCLOCK_EXPORT ExactJson ParseExact(const std::string& text, std::size_t depth);

/// Returns the literals of those numbers in `tree` that `base` has at the same place with the same
/// value.
nlohmann::json LiteralsOver(const ExactJson& base, const nlohmann::json& tree);

/// Where a value is: the member or the element of an object or an array that has a place too.
struct Place {
  const Place* parent;      ///< Null: the object is the whole body.
  const std::string* name;  ///< Null: it is an element.
  std::size_t index = 0;

  /// Returns the path in dots and brackets, for a message.
  [[nodiscard]] DOCLOCK_EXPORT std::string Path() const;
};

/// Calls `visit` for each value of an object that is neither an object nor an array, with its place
/// and its literal (null: it has none).
DOCLOCK_EXPORT void ForEachValue(
    const ExactJson& what, const std::function<void(const Place& place, const nlohmann::json& value,
                                                    const nlohmann::json& literal)>& visit);

/// Prints it as nlohmann::json::dump does, and numbers by their literals.
/// @param indent -1: on one line
/// @throws nlohmann::json::type_error if a string is not valid UTF-8 and `handler` is `strict`
DOCLOCK_EXPORT std::string Print(
    const ExactJson& what, int indent = -1,
    nlohmann::json::error_handler_t handler = nlohmann::json::error_handler_t::strict);

}  // namespace doclock::detail

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace doclock::postgresql {

// What an index has of a body, and how the server compares it.

/// The longest value in an index, in bytes of its text. An entry of several has to fit into 2,700,
/// and of an array it may be four times as long.
inline constexpr std::size_t kLongestIndexed = 500;

/// Returns a number, a text, a truth value or a date as an index has it.
std::string Indexed(const nlohmann::json& value);

/// A path into a body; it does not lead into arrays. SQL NULL if nothing is there.
std::string PathIntoBody(const std::vector<std::string>& path);

/// What an index of a path holds, and searches compare as well: nothing in place of a value that is
/// too long for an index, and dates as `[n]`, so that they have their order.
std::string ForIndex(const std::string& path);
/// The same of a unique index: neither a missing value nor a null repeats another one.
std::string ForUniqueIndex(const std::string& path);

}  // namespace doclock::postgresql

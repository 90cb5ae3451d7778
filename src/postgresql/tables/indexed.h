#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace doclock::postgresql {

// What an index has of a body, and how the server compares it.

/// The types of values in the order of OrderBy, as far as the server tells them apart.
enum class Rank : std::uint8_t { kNull, kNumber, kText, kBoolean, kDate, kRest };
Rank RankOf(const nlohmann::json& value) noexcept;

/// Does a condition with it meet the same bodies here and there, as this library writes them?
bool ComparesAlike(const nlohmann::json& number);

/// Is it a whole number below 2^53? Then the server compares it with others as OrderBy does: of
/// fractions a body that others wrote may have more digits than a double.
bool IsExact(const nlohmann::json& number);

/// Between which values of an index are those of one rank, which it has in their order?
struct Bounds {
  const char *first, *last;
};
/// @param rank of numbers, truth values or dates
Bounds BoundsOf(Rank rank);

/// Of a value in an index, in bytes of its text. An entry of several has to fit into 2,700, and of
/// an array it may be four times as long.
inline constexpr std::size_t kLongestIndexed = 500;

/// A value as an index has it. @param value of a rank that has Bounds, or a text
std::string Indexed(const nlohmann::json& value);

/// A path into a body; it does not lead into arrays. SQL NULL if nothing is there.
std::string PathIntoBody(const std::vector<std::string>& path);

/// What an index of a path holds, and searches compare as well: nothing in place of a value that is
/// too long for an index, and dates as `[n]`, so that they have their order.
std::string ForIndex(const std::string& path);
/// The same of a unique index: neither a missing value nor a null repeats another one.
std::string ForUniqueIndex(const std::string& path);

}  // namespace doclock::postgresql

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace doclock::mongodb {

// Turns JSON into BSON in two walks: one measures, one writes into memory of exactly that size.

/// Bytes of an element. @throws DocumentException for what BSON cannot hold.
std::size_t ElementSize(std::string_view name, const nlohmann::json& value);
/// Bytes of all the members, without the document's own frame. @throws DocumentException
std::size_t MembersSize(const nlohmann::json::object_t& members);

/// Writes an element of ElementSize bytes; returns its end.
std::uint8_t* WriteElement(std::uint8_t* at, std::string_view name, const nlohmann::json& value);
/// Writes MembersSize bytes; returns their end.
std::uint8_t* WriteMembers(std::uint8_t* at, const nlohmann::json::object_t& members);

}  // namespace doclock::mongodb

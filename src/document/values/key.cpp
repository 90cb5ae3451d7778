#include "doclock/document.h"

#include <algorithm>
#include <boost/uuid/uuid_io.hpp>
#include <cstring>
#include <stdexcept>

#include "document/values/utf8.h"

namespace doclock {
namespace {

std::string CheckedText(std::string text) {
  if (text.size() > kMaxKeyBytes) {
    throw std::invalid_argument("doclock: key: longer than " + std::to_string(kMaxKeyBytes) +
                                " bytes");
  }
  if (!detail::IsUtf8(text)) throw std::invalid_argument("doclock: key: not valid UTF-8");
  return text;
}

std::string Hex(const ObjectId& id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * id.bytes.size());
  for (const std::uint8_t byte : id.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

/// Finaliser of MurmurHash3: every bit of the input reaches every bit of the result.
std::size_t Mix(std::uint64_t h) noexcept {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdU;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53U;
  h ^= h >> 33;
  return static_cast<std::size_t>(h);
}

/// Eight bytes at a time. It is not std::hash: processes of different builds tell each other
/// hashes.
std::uint64_t HashBytes(const void* bytes, std::size_t size) noexcept {
  const auto* const data = static_cast<const unsigned char*>(bytes);
  std::uint64_t hash = size;
  for (std::size_t i = 0; i < size; i += 8) {
    std::uint64_t part = 0;  // little-endian
    for (std::size_t j = i; j < std::min(i + 8, size); ++j) {
      part |= std::uint64_t{data[j]} << 8 * (j - i);
    }
    hash = (hash ^ part) * 0x9fb21c651e98df25U;
    hash ^= hash >> 32;
  }
  return hash;
}

struct Hasher {
  std::uint64_t operator()(const std::string& text) const noexcept {
    return HashBytes(text.data(), text.size());
  }
  std::uint64_t operator()(std::int64_t number) const noexcept {
    return static_cast<std::uint64_t>(number);
  }
  std::uint64_t operator()(const Uuid& id) const noexcept {
    return HashBytes(id.data, sizeof id.data);
  }
  std::uint64_t operator()(const ObjectId& id) const noexcept {
    return HashBytes(id.bytes.data(), id.bytes.size());
  }
};

std::strong_ordering Order(int comparison) noexcept { return comparison <=> 0; }

}  // namespace

Key::Key(std::string text) : value_(CheckedText(std::move(text))) {}

void Key::ThrowKeyTooLarge() { throw std::invalid_argument("doclock: key: above 2^63 - 1"); }

std::string Key::ToString() const {
  struct Printer {
    std::string operator()(const std::string& text) const {
      std::string out;
      out.reserve(text.size());
      detail::AppendEscaped(out, text);
      return out;
    }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(const Uuid& id) const { return boost::uuids::to_string(id); }
    std::string operator()(const ObjectId& id) const { return Hex(id); }
  };
  return std::visit(Printer{}, value_);
}

std::size_t Key::Hash() const noexcept {
  // The odd constant keeps 1 and "\x01", or a UUID and the string of its bytes, apart.
  return Mix(std::visit(Hasher{}, value_) + 0x9e3779b97f4a7c15U * (value_.index() + 1));
}

std::strong_ordering Key::Compare(const Key& a, const Key& b) noexcept {
  if (a.value_.index() != b.value_.index()) return a.value_.index() <=> b.value_.index();
  switch (a.value_.index()) {
    case 0:
      return Order(std::get_if<0>(&a.value_)->compare(*std::get_if<0>(&b.value_)));
    case 1:
      return *std::get_if<1>(&a.value_) <=> *std::get_if<1>(&b.value_);
    case 2:
      return Order(std::memcmp(std::get_if<2>(&a.value_)->data, std::get_if<2>(&b.value_)->data,
                               sizeof(Uuid::data)));
    default:
      return *std::get_if<3>(&a.value_) <=> *std::get_if<3>(&b.value_);
  }
}

}  // namespace doclock

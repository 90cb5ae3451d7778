#pragma once

#include <bson/bson.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mongodb/bson/bson.h"

namespace doclock::mongo_docs_test {

using BsonPtr = std::unique_ptr<bson_t, decltype(&bson_destroy)>;

inline BsonPtr Copy(const bson_t& doc) { return {bson_copy(&doc), &bson_destroy}; }

/// From relaxed or canonical Extended JSON.
inline BsonPtr Parse(const std::string& text) {
  bson_error_t error;
  bson_t* const doc = bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.data()),
                                         static_cast<ssize_t>(text.size()), &error);
  if (doc == nullptr) throw std::invalid_argument(error.message);
  return {doc, &bson_destroy};
}

inline std::string Canonical(const bson_t& doc) {
  const std::unique_ptr<char, decltype(&bson_free)> text(
      bson_as_canonical_extended_json(&doc, nullptr), &bson_free);
  return text ? text.get() : "(not valid UTF-8)";
}

/// One field as it is stored.
struct RawField {
  std::string name;
  bson_type_t type;
  std::string bytes;
  friend bool operator==(const RawField&, const RawField&) = default;
};

/// All fields in their order, but those named.
inline std::vector<RawField> RawFields(const bson_t& doc, const std::vector<std::string>& without) {
  std::vector<RawField> fields;
  bson_iter_t iter;
  bson_iter_init(&iter, &doc);
  while (bson_iter_next(&iter)) {
    mongodb::Doc one;
    const std::string name(bson_iter_key(&iter), bson_iter_key_len(&iter));
    bool skip = false;
    for (const std::string& other : without) skip = skip || other == name;
    if (skip) continue;
    one.Add("v", *bson_iter_value(&iter));
    fields.push_back(
        {name, bson_iter_type(&iter),
         std::string(reinterpret_cast<const char*>(bson_get_data(one.get())), one.get()->len)});
  }
  return fields;
}

}  // namespace doclock::mongo_docs_test

// Bodies as BSON and back: JSON that may be stored comes back exactly; what is read from a hostile
// document can be written again, and is read as the same then.
//
// An input that begins with '{' is JSON text, any other is BSON.

#include <stdexcept>

#include "doclock/detail/engine.h"
#include "doclock/document.h"
#include "doclock/errors.h"
#include "document/json/same_json.h"
#include "fuzz/support/fuzz.h"
#include "mongodb/bson/body_codec.h"

namespace doclock::fuzz {
namespace {

using mongodb::Doc;
using nlohmann::json;

/// Texts are UTF-8, and may hold NUL.
constexpr auto kSound =
    static_cast<bson_validate_flags_t>(BSON_VALIDATE_UTF8 | BSON_VALIDATE_UTF8_ALLOW_NULL);

json ReadBack(const Doc& doc) {
  Require(bson_validate(doc.get(), kSound, nullptr), "a body is written as sound BSON");
  return mongodb::ReadBody(*doc.get(), {});
}

void TryJson(const std::string& text) {
  const Body body = Body::FromText(text);
  try {
    detail::CheckBody(Body::FromJson(body.json()), {});
  } catch (const DocumentException&) {
    return;
  }
  Doc doc;
  mongodb::AppendMembers(doc, body.json());
  const json read = ReadBack(doc);
  Require(detail::IsSameJson(read, body.json()), "a body comes back as it was");
  Require(Body::FromJson(read).text() == Body::FromJson(body.json()).text(),
          "and so does its text");
}

/// False: no such body is written.
bool Write(Doc& doc, const json& body) {
  try {
    mongodb::AppendMembers(doc, body);
    return true;
  } catch (const DocumentException&) {
    return false;
  }
}

void TryBson(const std::uint8_t* data, std::size_t size) {
  bson_t hostile;
  if (!bson_init_static(&hostile, data, size)) return;
  json body;
  try {
    body = mongodb::ReadBody(hostile, {});
  } catch (const DocumentException&) {
    return;
  }
  Doc doc;
  if (!Write(doc, body)) return;
  const json read = ReadBack(doc);
  Require(detail::IsSameJson(read, body), "what was read survives being written");
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size == 0 || size > kLongestInput) return 0;
  if (data[0] == '{') {
    TryJson(std::string(TextOf(data, size)));
  } else {
    TryBson(data, size);
  }
  return 0;
}

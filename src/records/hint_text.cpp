#include "records/hint_text.h"

#include <exception>

#include "doclock/json/uuid.h"

namespace doclock::records {

std::string HintToText(const LockHint& hint) {
  nlohmann::json json = nlohmann::json::object();
  if (hint.hash) json["hash"] = *hint.hash;
  if (hint.grant) {
    json["id"] = hint.grant->lock_id;
    json["version"] = hint.grant->version;
    json["born"] = hint.grant->born;
  }
  return json.dump();
}

LockHint HintFromText(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    LockHint hint;
    if (json.contains("hash")) hint.hash = json.at("hash").get<std::size_t>();
    if (json.contains("id")) {
      hint.grant = {json.at("id").get<Uuid>(), json.at("version").get<std::int64_t>(),
                    json.at("born").get<Uuid>()};
    }
    return hint;
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace doclock::records

#include "histories/worker/settings.h"

#include <functional>
#include <map>

namespace doclock::histories {

Settings ReadSettings(int argc, char** argv) {
  Settings settings;
  const std::map<std::string, std::function<void(const std::string&)>> options = {
      {"--store", [&](const std::string& value) { settings.store = value; }},
      {"--out", [&](const std::string& value) { settings.out = value; }},
      {"--broken", [&](const std::string& value) { settings.broken = value; }},
      {"--process", [&](const std::string& value) { settings.process = std::stoi(value); }},
      {"--threads", [&](const std::string& value) { settings.threads = std::stoi(value); }},
      {"--transfers", [&](const std::string& value) { settings.transfers = std::stoi(value); }},
      {"--keys", [&](const std::string& value) { settings.keys = std::stoi(value); }},
      {"--together", [&](const std::string& value) { settings.together = std::stoi(value); }},
      {"--names", [&](const std::string& value) { settings.names = std::stoi(value); }},
      {"--seconds", [&](const std::string& value) { settings.seconds = std::stoi(value); }},
      {"--ttl", [&](const std::string& value) { settings.ttl_ms = std::stoi(value); }},
      {"--call", [&](const std::string& value) { settings.call_ms = std::stoi(value); }},
      {"--seed",
       [&](const std::string& value) { settings.seed = static_cast<unsigned>(std::stoul(value)); }},
      {"--queue", [&](const std::string& value) { settings.queue = value == "yes"; }},
      {"--finish", [&](const std::string& value) { settings.finish = value == "yes"; }}};
  for (int i = 1; i + 1 < argc; i += 2) options.at(argv[i])(argv[i + 1]);
  return settings;
}

}  // namespace doclock::histories

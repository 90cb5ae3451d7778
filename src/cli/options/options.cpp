#include "cli/options/options.h"

#include <charconv>
#include <stdexcept>
#include <system_error>

#include "doclock/options.h"
#include "document/collection.h"
#include "document/values/utf8.h"

namespace doclock::cli {

std::string TextFault(const std::string& text, std::size_t longest) {
  if (text.empty()) return "must not be empty";
  if (text.size() > longest) return "must be at most " + std::to_string(longest) + " bytes long";
  return detail::IsUtf8(text) ? "" : "must be valid UTF-8";
}

CLI::Option* AddText(CLI::App& app, const std::string& name, std::string& where,
                     const std::string& help, std::size_t longest) {
  const auto check = [longest](std::string& text) { return TextFault(text, longest); };
  return app.add_option(name, where, help)->check(CLI::Validator(check, "", ""))->type_name("TEXT");
}

CLI::Option* AddAnything(CLI::App& app, const std::string& name, std::string& where,
                         const std::string& help, const std::string& type) {
  return AddText(app, name, where, help, SIZE_MAX)->type_name(type);
}

CLI::Option* AddDuration(CLI::App& app, const std::string& name, Duration& where,
                         const std::string& help, const DurationRange& range) {
  const auto read = [&where, name, range](const std::string& text) {
    try {
      where = ParseDuration(text, range);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("TIME");
}

CLI::Option* AddNumber(CLI::App& app, const std::string& name, std::int64_t& where,
                       const std::string& help, std::int64_t least, std::int64_t most) {
  const auto normalize = [least, most](std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool good = error == std::errc() && stop == end && number >= least && number <= most;
    if (good) text = std::to_string(number);  // CLI11 reads 010 as octal
    return good ? ""
                : "must be a number from " + std::to_string(least) + " to " + std::to_string(most);
  };
  return app.add_option(name, where, help)
      ->transform(CLI::Validator(normalize, "", ""))
      ->type_name("N");
}

CLI::Option* AddCollection(CLI::App& app, const std::string& name, std::string& where,
                           const std::string& help) {
  const auto check = [](std::string& text) -> std::string {
    try {
      CheckCollectionName(text);
      return {};
    } catch (const std::invalid_argument&) {
      return "must be 1 to 64 of the characters A-Z a-z 0-9 _ . - and not begin with . or -";
    }
  };
  return app.add_option(name, where, help)
      ->check(CLI::Validator(check, "", ""))
      ->type_name("COLLECTION");
}

CLI::Option* AddKeyType(CLI::App& app, std::string& type) {
  const auto check = [](std::string& text) -> std::string {
    const bool good = text == "string" || text == "int" || text == "uuid" || text == "oid";
    return good ? "" : "must be string, int, uuid or oid";
  };
  return app
      .add_option(
          "--key-type", type,
          "Type of the key: an int is as 42, a uuid as 6f1c36ce-06a8-4f3d-8b57-0b38dfc7a6ac, an "
          "oid is 24 hexadecimal digits")
      ->check(CLI::Validator(check, "", ""))
      ->type_name("string|int|uuid|oid");
}

void AddCollectionArgument(CLI::App& app, std::string& where, const std::string& help) {
  AddCollection(app, "COLLECTION", where, help)->required()->type_name("");
}

CLI::Option* AddTtl(CLI::App& app, Duration& where, const std::string& help) {
  return AddDuration(app, "--ttl", where, help, {kMinTtl, kMaxTtl});
}

void AddWaiting(CLI::App& app, LockOptions& lock) {
  AddDuration(app, "--wait", lock.wait,
              "How long to wait while a document is locked (default: do not wait)");
  AddTtl(app, lock.ttl, "Length of the lease, which is renewed (default: 30s)");
}

}  // namespace doclock::cli

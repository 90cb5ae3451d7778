#ifdef DOCLOCK_WITH_POSTGRESQL

#include "conformance/postgresql_backend.h"

#include <variant>

#include "doclock/json/uuid.h"
#include "doclock/stores/postgresql.h"
#include "postgresql/open_url.h"
#include "postgresql/support/raw_server.h"

namespace doclock::conformance {
namespace {

/// The value of an array's element that is a time, some nanoseconds ago.
std::string Aged(const std::string& name) {
  return "'" + name + "', (e->>'" + name + "')::int8 - ns";
}

/// An array in a column, each element's times some nanoseconds ago. What is spoilt stays.
std::string AgedArray(const std::string& column, const std::string& times) {
  return column + " = (SELECT jsonb_agg(e || jsonb_build_object(" + times +
         ") ORDER BY n) FROM jsonb_array_elements(" + column + ") WITH ORDINALITY x(e, n))";
}

struct AgeingSchema : postgresql_test::Schema {
  /// Moves the times of locks into the past, because a test cannot move the server's clock.
  void Age(std::chrono::milliseconds by) {
    const std::string ms = std::to_string(by.count());
    raw().Run(
        "DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relnamespace = "
        "current_schema()::regnamespace AND relkind = 'r'"
        " AND relname LIKE 'doclock\\_c\\_%' LOOP EXECUTE 'UPDATE ' || t || $u$ SET"
        " lock_time = lock_time - i, lock_since = lock_since - i, lock_closed = lock_closed - i, " +
        AgedArray("lock_shares", Aged("since") + ", " + Aged("granted")) + ", " +
        AgedArray("lock_queue", Aged("until")) + " FROM (SELECT " + ms + " * interval '1 ms' i, " +
        ms +
        " * 1000000::int8 ns) z $u$;"
        " END LOOP; END $$");
  }
  std::string SqlOf(const Key& key) {
    struct Columns {
      AgeingSchema& self;
      // U+0000 and U+0001 are kept as two characters.
      std::string operator()(const std::string& text) const {
        std::string kept;
        for (const char c : text) {
          c == '\0' ? kept += "\1\1" : c == '\1' ? kept += "\1\2" : kept += c;
        }
        return "(0, 0, " + self.raw().Quote(kept) + ")";
      }
      std::string operator()(std::int64_t number) const {
        return "(1, '" + std::to_string(number) + "', '')";
      }
      std::string operator()(const Uuid& id) const { return "(2, 0, '" + ToText(id) + "')"; }
      std::string operator()(const ObjectId& id) const { return "(3, 0, '" + ToText(id) + "')"; }
    };
    return std::visit(Columns{*this}, key.value());
  }
  void Set(const std::string& collection, const Key& key, const std::string& what) {
    raw().Run("UPDATE \"doclock_c_" + collection + "\" SET " + what +
              " WHERE (key_kind, key_number, key_text) = " + SqlOf(key));
  }
};

}  // namespace

Backend MakePostgresql() {
  auto schema = std::make_shared<AgeingSchema>();
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  backend.open_another = [url = schema->url()] { return OpenPostgresqlStore(url); };
  backend.open_existing = [url = schema->url()] {
    return OpenPostgresqlUrl(url, OpenMode::kExisting);
  };
  backend.store = backend.open_another();
  backend.advance = [schema](std::chrono::milliseconds by) { schema->Age(by); };
  backend.slack = 8s;  // on a busy machine
  backend.spoil = [schema](const std::string& collection, const Key& key) {
    schema->Set(collection, key, "lock_version = -1");
  };
  backend.spoil_share = [schema](const std::string& collection, const Key& key) {
    schema->Set(collection, key, R"(lock_shares = jsonb_set(lock_shares, '{0,ttl}', '"long"'))");
  };
  backend.plant = [schema](const std::string& collection, const Key& key, const Body& body) {
    const std::string columns = schema->SqlOf(key);
    schema->raw().Run("INSERT INTO \"doclock_c_" + collection +
                      "\"(key_kind, key_number, key_text, body) VALUES" +
                      columns.substr(0, columns.size() - 1) + ", " +
                      schema->raw().Quote(body.text()) + ")");
  };
  backend.keeps_all_json = backend.keeps_literals = false;
  backend.remains = schema;
  return backend;
}

}  // namespace doclock::conformance

#endif

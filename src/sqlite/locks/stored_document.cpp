#include "sqlite/locks/stored_document.h"

#include <string>

#include "sqlite/db/sql.h"

namespace doclock::sqlite {

std::optional<StoredDocument> FindDocument(Connection& connection,
                                           const SqliteCollection& collection, const Key& key) {
  const Running row(connection.Prepared(collection.tables(), Sql::kFindWithBody));
  row->Bind(1, key);
  if (!row->Step()) return std::nullopt;
  constexpr int kBody = kStoredColumnCount;
  // A value that is no text is no JSON either; the code that parses it gets the error.
  std::string text = row->IsText(kBody) ? std::string(row->Text(kBody)) : std::string();
  return StoredDocument{ReadLockColumns(*row, collection.default_ttl()),
                        Body::FromText(std::move(text))};
}

}  // namespace doclock::sqlite

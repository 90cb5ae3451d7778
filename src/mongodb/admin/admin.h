#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// Throws what the store's functions throw if a command failed. @throws StoreException
void Check(const CommandResult& reply);

/// See Store::ListCollections. @throws StoreException
std::vector<std::string> ListCollections(Server& server, std::chrono::milliseconds budget);

/// See Store::Purge. @throws StoreException
std::int64_t Purge(Server& server, const Collection& collection, std::int64_t limit,
                   std::chrono::milliseconds budget);

/// See Store::EnsureIndex. @throws StoreException, ConflictException
void EnsureIndex(Server& server, const Collection& collection, const IndexSpec& index);

}  // namespace doclock::mongodb

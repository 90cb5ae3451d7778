#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::ListCollections. @throws StoreException
std::vector<std::string> ListCollections(Server& server, std::chrono::milliseconds budget);

/// See Store::EnsureIndex. @throws StoreException, ConflictException
void EnsureIndex(Server& server, const Collection& collection, const IndexSpec& index);

}  // namespace doclock::mongodb

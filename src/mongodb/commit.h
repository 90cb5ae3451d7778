#pragma once

#include "doclock/store.h"
#include "mongodb/client/server.h"

namespace doclock::mongodb {

/// See Store::Commit. The server has to be a replica set. @throws Error
void Commit(Server& server, CommitOp& commit, Deadline deadline);

}  // namespace doclock::mongodb

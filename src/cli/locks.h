#pragma once

#include <string>

#include "cli/keys.h"
#include "doclock/lock_provider.h"

namespace doclock::cli {

/// What `status`, `renew`, `release`, `purge` and `break` are about.
struct LocksOptions {
  std::string collection;
  LockFilter filter;     ///< status
  KeyText key;           ///< status, break
  bool has_key = false;  ///< status: is there one?
  bool expired = false;  ///< status: only those
  bool live = false;     ///< status: only those
  bool watch = false;    ///< status: again and again
  Duration interval = std::chrono::seconds(2);
  std::string group;   ///< renew, release
  Duration ttl;        ///< renew
  PurgeOptions purge;  ///< purge
  std::string by;      ///< break
  bool json = false;
};

// Each returns what the program is to end with.
int Status(const LockManager& manager, const LocksOptions& options);
int Renew(const LockManager& manager, const LocksOptions& options);
int Release(const LockManager& manager, const LocksOptions& options);
int Purge(const LockManager& manager, const LocksOptions& options);
int Break(const LockManager& manager, const LocksOptions& options);

}  // namespace doclock::cli

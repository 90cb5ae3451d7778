#pragma once

#include <string>

#include "cli/options/keys.h"
#include "doclock/lock_provider.h"

namespace doclock::cli {

/// The options of `status`, `renew`, `release`, `purge` and `break`.
struct LocksOptions {
  std::string collection;
  LockFilter filter;     ///< status
  KeyText key;           ///< status, break; renew and release of one lock
  bool has_key = false;  ///< status: was one given?
  bool expired = false;  ///< status: only those
  bool live = false;     ///< status: only those
  bool watch = false;    ///< status: repeat
  Duration interval = std::chrono::seconds(2);
  std::string group;      ///< renew, release
  std::string lock_file;  ///< renew, release: where the lock's id is; empty: a group.
  Duration ttl;           ///< renew
  PurgeOptions purge;     ///< purge
  std::string by;         ///< break
  bool json = false;
};

// Each returns the program's exit code.
int Status(const LockManager& manager, const LocksOptions& options);
int Renew(const LockManager& manager, const LocksOptions& options);
int Release(const LockManager& manager, const LocksOptions& options);
int Purge(const LockManager& manager, const LocksOptions& options);
int Break(const LockManager& manager, const LocksOptions& options);

}  // namespace doclock::cli

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "doclock/lock_manager.h"

namespace doclock::cli {

/// Examines the store and the collection of locks, and prints what it found, with advice. Returns
/// the program's exit code: kMendable if there is something to mend.
/// @param open opens the store
int Doctor(const std::function<std::shared_ptr<Store>()>& open, const std::string& collection,
           bool as_json);

}  // namespace doclock::cli

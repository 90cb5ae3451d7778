#pragma once

#include <memory>
#include <type_traits>

#include "doclock/store/store.h"

namespace doclock::simulation {

/// Copies the result of an operation from its copy at the database to the original at the process.
inline void CopyResult(const StoreOp& from, StoreOp& to) {
  to.status = from.status;
  to.detail = from.detail ? std::make_unique<OpDetail>(*from.detail) : nullptr;
  Visit(to, [&](auto& op) {
    using Op = std::remove_reference_t<decltype(op)>;
    if constexpr (requires { op.result; }) op.result = static_cast<const Op&>(from).result;
  });
}

}  // namespace doclock::simulation

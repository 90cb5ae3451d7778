#include "doclock/document.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "platform/fork_generation.h"
#include "platform/random_bytes.h"

namespace doclock {
namespace {

/// Random bytes for the next ids: a system call per id would cost six times as much.
struct Pool {
  static constexpr std::size_t kIds = 32;
  std::array<std::byte, kIds * 16> bytes;
  std::size_t used = bytes.size();
  std::uint32_t generation = 0;  ///< A forked child must not use up its parent's bytes.
};

}  // namespace

Uuid NewUuid() {
  thread_local Pool pool;
  const auto generation = platform::ForkGeneration();
  if (pool.used == pool.bytes.size() || pool.generation != generation) {
    platform::RandomBytes(pool.bytes);
    pool.used = 0;
    pool.generation = generation;
  }
  Uuid id;
  std::memcpy(&id, pool.bytes.data() + pool.used, 16);
  std::memset(pool.bytes.data() + pool.used, 0, 16);
  pool.used += 16;
  auto* const data = reinterpret_cast<std::uint8_t*>(&id);
  data[6] = static_cast<std::uint8_t>((data[6] & 0x0f) | 0x40);  // version 4, RFC 4122
  data[8] = static_cast<std::uint8_t>((data[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace doclock

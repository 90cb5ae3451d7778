#include "sqlite/processes/gate.h"

namespace doclock::sqlite {
namespace {

/// SQLite's own lock is the only queue, and leases are the only sign of life.
class OpenGate final : public Gate {
 public:
  bool Enter(Deadline) override { return true; }
  void Leave() noexcept override {}
  [[nodiscard]] std::string Occupant() const override { return {}; }
  [[nodiscard]] bool OthersHave(const std::function<std::uint32_t()>&) const override {
    return true;
  }
  [[nodiscard]] bool Register(std::uint32_t) noexcept override { return true; }
  [[nodiscard]] std::int64_t slot() const noexcept override { return 0; }
  [[nodiscard]] Liveness Look(std::int64_t) const noexcept override { return Liveness::kUnknown; }
  [[nodiscard]] bool has_bell() const noexcept override { return false; }
  void Announce(const std::vector<Ring>&) noexcept override {}
  void Wake() noexcept override {}
  void AddWatchers(int) noexcept override {}
  /// Nobody can tell.
  [[nodiscard]] bool OthersWatch() const noexcept override { return true; }
  [[nodiscard]] std::uint32_t Position() const noexcept override { return 0; }
  void Await(std::uint32_t, std::chrono::milliseconds) noexcept override {}
  bool Read(std::uint32_t&, std::vector<Ring>&) const noexcept override { return false; }
  void Nudge() noexcept override {}
  void ReapDeadStores() noexcept override {}
};

}  // namespace

std::unique_ptr<Gate> Gate::Join(const std::filesystem::path&, Deadline) { return nullptr; }

std::unique_ptr<Gate> Gate::Open(const std::filesystem::path&, Deadline) {
  return std::make_unique<OpenGate>();
}

std::int64_t BootNumber() { return 0; }

bool IsMountedAlone(const std::filesystem::path&) { return false; }

void CheckFileSystem(const std::filesystem::path&) {}

}  // namespace doclock::sqlite

#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace doclock::mongo_test {

/// The replica set whose members tests may kill, stop and demote. All of them run and agree on a
/// primary when one of these has been made.
class ReplicaSet {
 public:
  ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;
  /// Lets stopped members go on.
  ~ReplicaSet();

  [[nodiscard]] const std::string& uri() const noexcept { return uri_; }
  /// The member that says it is the primary, once one does. @throws std::runtime_error if none does
  /// within half a minute
  [[nodiscard]] int Primary() const;
  /// The same, once it is another one than this.
  [[nodiscard]] int PrimaryOtherThan(int port) const;
  [[nodiscard]] std::vector<int> Others(int port) const;

  /// Demotes the primary while another member is up to date. Returns the port of the new one.
  int StepDown() const;
  /// As `kill -9` does.
  void Kill(int port) const;
  /// Starts one that was killed, over its data.
  void Revive(int port) const;
  void Signal(int port, int signal) const;
  /// All members run, one is the primary, the others follow it.
  void Heal() const;

 private:
  enum class Role : std::uint8_t { kDead, kOther, kSecondary, kPrimary };
  [[nodiscard]] static Role RoleOf(int port);
  [[nodiscard]] std::optional<int> FindPrimary() const;
  [[nodiscard]] pid_t PidOf(int port) const;
  void Script(const std::string& arguments) const;

  std::string uri_, home_;
  std::vector<int> ports_;
};

}  // namespace doclock::mongo_test

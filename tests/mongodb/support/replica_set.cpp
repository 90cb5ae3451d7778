#include "mongodb/support/replica_set.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <regex>
#include <stdexcept>
#include <thread>

#include "mongodb/support/raw_server.h"

namespace doclock::mongo_test {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeout = 5min;

std::string DirectUri(int port, int socket_timeout_ms) {
  return "mongodb://127.0.0.1:" + std::to_string(port) +
         "/?directConnection=true&serverSelectionTimeoutMS=300&connectTimeoutMS=300"
         "&socketTimeoutMS=" +
         std::to_string(socket_timeout_ms);
}

void AwaitThat(const std::function<bool()>& condition, const char* what) {
  const auto end = std::chrono::steady_clock::now() + kTimeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error(what);
    std::this_thread::sleep_for(20ms);
  }
}

bool Flag(const bson_t& reply, const char* name) {
  bson_iter_t iter;
  return bson_iter_init_find(&iter, &reply, name) && bson_iter_as_bool(&iter);
}

}  // namespace

ReplicaSet::ReplicaSet()
    : uri_(UriOf("DOCLOCK_TEST_MONGODB_FAILOVER", DOCLOCK_MONGODB_FAILOVER_URI)),
      home_(UriOf("DOCLOCK_TEST_MONGODB_FAILOVER_HOME", DOCLOCK_MONGODB_FAILOVER_HOME)) {
  static const std::regex port(":([0-9]+)[,/]");
  for (std::sregex_iterator it(uri_.begin(), uri_.end(), port), end; it != end; ++it) {
    ports_.push_back(std::stoi((*it)[1]));
  }
  Heal();
}

ReplicaSet::~ReplicaSet() {
  for (const int port : ports_) Signal(port, SIGCONT);
}

ReplicaSet::Role ReplicaSet::RoleOf(int port) {
  Role role = Role::kDead;
  try {
    RawServer(DirectUri(port, 500))
        .Run("admin", mongodb::Doc::Of("hello", 1), [&](const bson_t& r) {
          role = Flag(r, "isWritablePrimary") ? Role::kPrimary
                 : Flag(r, "secondary")       ? Role::kSecondary
                                              : Role::kOther;
        });
  } catch (const std::runtime_error&) {
    // Dead, or stopped.
  }
  return role;
}

std::optional<int> ReplicaSet::FindPrimary() const {
  const auto found = std::find_if(ports_.begin(), ports_.end(),
                                  [](int port) { return RoleOf(port) == Role::kPrimary; });
  if (found == ports_.end()) return std::nullopt;
  return *found;
}

int ReplicaSet::Primary() const { return PrimaryOtherThan(0); }

int ReplicaSet::PrimaryOtherThan(int port) const {
  std::optional<int> primary;
  AwaitThat(
      [&] {
        primary = FindPrimary();
        return primary && *primary != port;
      },
      "the replica set has no primary");
  return *primary;
}

std::vector<int> ReplicaSet::Others(int port) const {
  std::vector<int> others = ports_;
  std::erase(others, port);
  return others;
}

int ReplicaSet::StepDown() const {
  const int primary = Primary();
  AwaitThat(
      [&] {
        mongodb::Doc command;
        command.Add("replSetStepDown", 4).Add("secondaryCatchUpPeriodSecs", 3);
        try {
          RawServer(DirectUri(primary, 5000)).Run("admin", command);
          return true;
        } catch (const std::runtime_error&) {
          // No member was up to date in time; or the primary stepped down and broke the connection.
          return RoleOf(primary) != Role::kPrimary;
        }
      },
      "the primary does not step down");
  return PrimaryOtherThan(primary);
}

pid_t ReplicaSet::PidOf(int port) const {
  pid_t pid = 0;
  std::ifstream(home_ + "/" + std::to_string(port) + "/mongod.pid") >> pid;
  if (pid <= 1) return 0;
  // The process id of a killed server may belong to another process by now.
  std::ifstream command("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(command), {}};
  return words.find(std::to_string(port)) == words.npos ? 0 : pid;
}

void ReplicaSet::Signal(int port, int signal) const {
  if (const pid_t pid = PidOf(port)) ::kill(pid, signal);
}

void ReplicaSet::Kill(int port) const {
  Signal(port, SIGKILL);
  AwaitThat([&] { return PidOf(port) == 0; }, "a member does not die");
}

void ReplicaSet::Script(const std::string& arguments) const {
  const std::string command = "DOCLOCK_MONGO_HOME='" + home_ +
                              "' DOCLOCK_MONGO_PORT=" + std::to_string(ports_.front()) + " '" +
                              DOCLOCK_MONGO_SCRIPT + "' " + arguments + " > /dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("mongo.sh " + arguments);
}

void ReplicaSet::Revive(int port) const { Script("revive " + std::to_string(port)); }

void ReplicaSet::Heal() const {
  for (const int port : ports_) {
    Signal(port, SIGCONT);
    if (PidOf(port) == 0) Revive(port);
  }
  AwaitThat(
      [&] {
        int primaries = 0, secondaries = 0;
        for (const int port : ports_) {
          const Role role = RoleOf(port);
          primaries += role == Role::kPrimary;
          secondaries += role == Role::kSecondary;
        }
        return primaries == 1 && secondaries + 1 == static_cast<int>(ports_.size());
      },
      "the replica set does not heal");
}

}  // namespace doclock::mongo_test

/// A file for each document, `flock` as its lock, and `fsync` before the unlock. The kind "nothing"
/// locks nothing: it shows that the check of the exclusion works.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <unordered_map>

#include "worker.h"

namespace doclock::peers {
namespace {

class FlockCaller final : public Caller {
 public:
  explicit FlockCaller(const Place& place) : folder_(place.url), locks_(place.kind != "nothing") {}
  FlockCaller(const FlockCaller&) = delete;
  FlockCaller& operator=(const FlockCaller&) = delete;
  ~FlockCaller() override {
    for (const auto& [key, file] : files_) ::close(file);
  }

  bool Lock(int key, const std::stop_token& stop) override {
    if (!locks_) return !stop.stop_requested();
    const int file = FileOf(key);
    std::array<char, 2048> body{};
    if (::flock(file, LOCK_EX) != 0 || ::pread(file, body.data(), body.size(), 0) < 0) {
      throw std::runtime_error("a file cannot be locked and read");
    }
    return true;
  }
  bool Unlock(int key) override {
    if (!locks_) return true;
    const int file = FileOf(key);
    const std::string text = Text();
    if (::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
        ::fsync(file) != 0) {
      throw std::runtime_error("a file cannot be written");
    }
    return ::flock(file, LOCK_UN) == 0;
  }

 private:
  /// Opened once by each caller: the lock belongs to what open() made.
  int FileOf(int key) {
    const auto found = files_.find(key);
    if (found != files_.end()) return found->second;
    const std::string path = folder_ + "/" + std::to_string(key);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) throw std::runtime_error(path + " cannot be opened");
    return files_[key] = file;
  }

  const std::string folder_;
  const bool locks_;
  std::unordered_map<int, int> files_;
};

class FlockPeer final : public Peer {
 public:
  explicit FlockPeer(Place place) : place_(std::move(place)) {}
  std::unique_ptr<Caller> NewCaller() override { return std::make_unique<FlockCaller>(place_); }

 private:
  const Place place_;
};

}  // namespace
}  // namespace doclock::peers

int main(int argc, char** argv) {
  using namespace doclock::peers;
  return Work(argc, argv, [](const Place& place) { return std::make_unique<FlockPeer>(place); });
}

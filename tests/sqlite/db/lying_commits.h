#pragma once

namespace doclock::sqlite_test {

/// Makes commits take place and say that they failed. Of connections that are opened while it
/// lives; it has to outlive their use, and one is enough.
class LyingCommits {
 public:
  LyingCommits();
  LyingCommits(const LyingCommits&) = delete;
  LyingCommits& operator=(const LyingCommits&) = delete;
  ~LyingCommits();

  /// Affects the next `count` commits of connections that are open now, whose logs are not
  /// checkpointed any more.
  void Next(int count);
};

}  // namespace doclock::sqlite_test

// Each script on each store, as one test. With DOCLOCK_REWRITE=1 the answers that
// differ are written into the scripts. DOCLOCK_SCRIPTS is another folder of them.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <tuple>

#include "player.h"

#ifndef DOCLOCK_CONFORMANCE_SCRIPTS
#error "DOCLOCK_CONFORMANCE_SCRIPTS must name the folder of the scripts (*.script)"
#endif

namespace doclock::conformance::script {
namespace {

using FileOnStore = std::tuple<StoreKind, std::filesystem::path>;

std::vector<std::filesystem::path> AllScripts() {
  std::vector<std::filesystem::path> files;
  const char* const folder = std::getenv("DOCLOCK_SCRIPTS");
  for (const auto& entry : std::filesystem::directory_iterator(
           folder == nullptr ? DOCLOCK_CONFORMANCE_SCRIPTS : folder)) {
    if (entry.path().extension() == ".script") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string PlayName(const ::testing::TestParamInfo<FileOnStore>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).stem().string();
}

class Scripts : public ::testing::TestWithParam<FileOnStore> {};

TEST_P(Scripts, Play) {
  const auto& [kind, file] = GetParam();
  Script script;
  try {
    script = Load(file);
  } catch (const ScriptError& error) {
    FAIL() << error.what();
  }
  const Result result = script::Play(script, kind);
  const char* const rewrite = std::getenv("DOCLOCK_REWRITE");
  if (rewrite != nullptr && std::string_view(rewrite) == "1" && !result.answers.empty()) {
    std::ofstream(file) << Rewritten(script, result.answers);
  }
  for (const auto& [line, text] : result.mistakes) {
    ADD_FAILURE_AT(file.c_str(), static_cast<int>(line) + 1) << text;
  }
  if (result.played == 0) GTEST_SKIP() << "every case needs what this store does not have";
}

INSTANTIATE_TEST_SUITE_P(Stores, Scripts,
                         ::testing::Combine(::testing::ValuesIn(AllStores()),
                                            ::testing::ValuesIn(AllScripts())),
                         PlayName);

}  // namespace
}  // namespace doclock::conformance::script

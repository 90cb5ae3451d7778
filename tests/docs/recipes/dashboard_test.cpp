// The Grafana dashboard, and the alerts and queries of docs/reference/metrics.md, beside what
// PrometheusObserver exports.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "doclock/observer.h"

namespace doclock {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Names = std::set<std::string>;

std::string TextOf(const std::string& file) {
  std::ifstream in(DOCLOCK_DOCS "/reference/" + file);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

/// All that a group of the expression matches, in order.
std::vector<std::string> Matches(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  const std::sregex_token_iterator begin(text.begin(), text.end(), regex, 1), end;
  return {begin, end};
}

/// The series of a program with one collection: their labels, and `label="value"` for each.
struct Exported {
  std::map<std::string, Names> labels;
  Names values;
  Names metrics;

  Exported() {
    const std::string text = PrometheusObserver({"orders"}).Text();
    for (const std::string& line : Matches(text, "(?:^|\n)([a-z][^\n]*)")) {
      Names& of_series = labels[line.substr(0, line.find_first_of("{ "))];
      for (const std::string& label : Matches(line, "(\\w+)=\"")) of_series.insert(label);
      for (const std::string& value : Matches(line, "(\\w+=\"[^\"]*\")")) values.insert(value);
    }
    for (const std::string& metric : Matches(text, "# TYPE (\\w+)")) metrics.insert(metric);
  }
};

/// The labels that an expression of PromQL, or a query of Grafana, selects or keeps.
std::vector<std::string> LabelsIn(const std::string& expression) {
  std::vector<std::string> labels;
  for (const char* list : {"\\{([^}]*)\\}", "\\bby \\(([^)]*)\\)", ", (\\w+)\\)$"}) {
    for (const std::string& names : Matches(expression, list)) {
      for (std::string& name : Matches(names, "(\\w+)(?: *[,=!]|$)")) labels.push_back(name);
    }
  }
  return labels;
}

/// What is wrong with such an expression.
std::vector<std::string> MistakesOf(const std::string& expression) {
  static const Exported exported;
  std::vector<std::string> mistakes;
  Names known{"job", "instance"};  // Prometheus adds them
  for (const std::string& series : Matches(expression, "\\b(doclock_\\w+)")) {
    const auto found = exported.labels.find(series);
    if (found == exported.labels.end()) {
      mistakes.push_back("nothing exports " + series);
    } else {
      known.insert(found->second.begin(), found->second.end());
    }
  }
  for (const std::string& label : LabelsIn(expression)) {
    if (known.count(label) == 0) mistakes.push_back("no label " + label);
  }
  for (const std::string& value : Matches(expression, "(\\w+=\"[^\"]*\")")) {
    if (exported.values.count(value) == 0) mistakes.push_back("never " + value);
  }
  for (const std::string& counter :
       Matches(expression, "((?:\\w*\\()?doclock_\\w+_(?:total|bucket))")) {
    if (!std::regex_search(counter, std::regex("^(rate|increase|label_values)\\("))) {
      mistakes.push_back("a counter without a rate: " + counter);
    }
  }
  return mistakes;
}

class DashboardTest : public ::testing::Test {
 protected:
  /// Of the panels.
  [[nodiscard]] std::vector<json> Targets() const {
    std::vector<json> targets;
    for (const json& panel : dashboard_.at("panels")) {
      for (const json& target : panel.at("targets")) targets.push_back(target);
    }
    return targets;
  }

  const json dashboard_ = json::parse(TextOf("grafana-dashboard.json"));
};

TEST_F(DashboardTest, AsksForWhatTheObserverExports) {
  ASSERT_THAT(Targets(), SizeIs(Ge(15U)));
  for (const json& target : Targets()) {
    const auto& expression = target.at("expr").get_ref<const std::string&>();
    EXPECT_THAT(MistakesOf(expression), IsEmpty()) << expression;
  }
  for (const json& variable : dashboard_.at("templating").at("list")) {
    const auto& query = variable.at("query").get_ref<const std::string&>();
    EXPECT_THAT(MistakesOf(query), IsEmpty()) << query;
  }
}

TEST_F(DashboardTest, ShowsEveryMetric) {
  std::string all;
  for (const json& target : Targets()) all += target.at("expr").get<std::string>() + "\n";
  for (const std::string& metric : Exported().metrics) {
    EXPECT_NE(all.find(metric), all.npos) << metric;
  }
}

TEST_F(DashboardTest, NamesItsLinesByLabelsThatTheyHave) {
  for (const json& target : Targets()) {
    const auto kept = Matches(target.at("expr"), "\\bby \\(([^)]*)\\)");
    for (const std::string& label : Matches(target.at("legendFormat"), "\\{\\{(\\w+)\\}\\}")) {
      ASSERT_FALSE(kept.empty()) << target;
      EXPECT_NE(kept.front().find(label), std::string::npos) << target;
    }
  }
}

TEST_F(DashboardTest, UsesVariablesThatItHas) {
  Names variables{"__all", "__rate_interval", "__range"};  // Grafana's own
  for (const json& variable : dashboard_.at("templating").at("list")) {
    variables.insert(variable.at("name").get<std::string>());
  }
  for (const std::string& used : Matches(dashboard_.dump(), "\\$\\{?(\\w+)")) {
    EXPECT_EQ(variables.count(used), 1U) << used;
  }
}

TEST_F(DashboardTest, HasAnIdForEachPanel) {
  std::set<int> ids;
  for (const json& panel : dashboard_.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel.at("title");
  }
}

TEST(MetricsPage, AsksForWhatTheObserverExports) {
  // Lines with a call are PromQL: the rules for alerts, and the queries.
  const auto lines = Matches(TextOf("metrics.md"), "([^\n]*\\(doclock_[^\n]*)");
  ASSERT_GE(lines.size(), 7U);
  for (const std::string& line : lines) EXPECT_THAT(MistakesOf(line), IsEmpty()) << line;
}

TEST(MistakesOfPromQl, AreFound) {
  for (const auto& [expression, mistake] :
       {std::pair{"rate(doclock_grants_total[5m])", "nothing exports doclock_grants_total"},
        std::pair{"sum by (collection, key) (doclock_held_locks)", "no label key"},
        std::pair{"doclock_held_locks{collection=~\"x\",le!=\"1\"}", "no label le"},
        std::pair{"label_values(doclock_granted_total{job=\"x\"}, le)", "no label le"},
        std::pair{"rate(doclock_refused_total{reason=\"late\"}[5m])", "never reason=\"late\""},
        std::pair{"sum(doclock_lost_total)", "a counter without a rate: sum(doclock_lost_total"}}) {
    EXPECT_THAT(MistakesOf(expression), Contains(mistake)) << expression;
  }
}

}  // namespace
}  // namespace doclock

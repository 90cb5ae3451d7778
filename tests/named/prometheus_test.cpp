#include "doclock/observer.h"
#include "named/harness.h"

namespace doclock::named {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PrometheusTest : public NamedTest {
 protected:
  std::shared_ptr<PrometheusObserver> metrics = std::make_shared<PrometheusObserver>();
  LockManager watched = AnotherManager({.observer = metrics});
  LockProvider locks{watched, "jobs"};
};
DOCLOCK_FOR_ALL_STORES(PrometheusTest);

TEST_P(PrometheusTest, CountsWhatHappensPerCollection) {
  auto lock = locks.Acquire("secret-name", {.ttl = 10s});
  EXPECT_FALSE(locks.TryAcquire("secret-name"));
  EXPECT_FALSE(locks.TryAcquire("secret-name", {.wait = 1s}));
  clock->Advance(1min);
  lock.Release();
  (void)LockProvider(watched, "others").Acquire("a");
  auto lost = locks.Acquire("b", {.ttl = 1s, .renew = false});
  clock->Advance(2s);
  const std::string text = metrics->Text();
  EXPECT_THAT(text, HasSubstr("# TYPE doclock_granted_total counter\n"));
  EXPECT_THAT(text, HasSubstr("doclock_granted_total{collection=\"jobs\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("doclock_granted_total{collection=\"others\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("doclock_refused_total{collection=\"jobs\",reason=\"busy\"} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("doclock_refused_total{collection=\"jobs\",reason=\"timed_out\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("doclock_renewed_total{collection=\"jobs\"}"));
  EXPECT_THAT(text, HasSubstr("doclock_lost_total{collection=\"jobs\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("doclock_released_total{collection=\"others\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("secret-name")));
}

TEST(Prometheus, ShowsAllCountersOfItsCollectionsFromTheStartWithHelp) {
  const std::string text = PrometheusObserver({"jobs"}).Text();
  for (const char* line :
       {"# HELP doclock_lost_total Locks lost.\n# TYPE doclock_lost_total counter\n",
        "doclock_granted_total{collection=\"jobs\"} 0\n",
        "doclock_lost_total{collection=\"jobs\"} 0\n",
        "doclock_refused_total{collection=\"jobs\",reason=\"busy\"} 0\n",
        "doclock_refused_total{collection=\"jobs\",reason=\"cancelled\"} 0\n",
        "# TYPE doclock_held_locks gauge\ndoclock_held_locks{collection=\"jobs\"} 0\n",
        "# TYPE doclock_waiting_callers gauge\ndoclock_waiting_callers{collection=\"jobs\"} 0\n",
        "# HELP doclock_held_locks ", "# HELP doclock_waiting_callers ",
        "doclock_hold_seconds_count{collection=\"jobs\"} 0\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const std::string head = "# TYPE doclock_refused_total counter\n";
  EXPECT_EQ(text.find(head), text.rfind(head)) << "once for all reasons";
}

TEST(Prometheus, CountsTheEventsThatItMissed) {
  PrometheusObserver metrics({"jobs"});
  EXPECT_THAT(metrics.Text(), HasSubstr("# TYPE doclock_missed_events_total counter\n"
                                        "doclock_missed_events_total 0\n"));
  metrics.OnMissed(5);
  metrics.OnMissed(2);
  EXPECT_THAT(metrics.Text(), HasSubstr("# HELP doclock_missed_events_total "));
  EXPECT_THAT(metrics.Text(), HasSubstr("\ndoclock_missed_events_total 7\n"));
}

TEST_P(PrometheusTest, ShowsHowManyLocksAreHeldAndHowManyCallersWait) {
  const auto expect = [&](int held, int waiting) {
    clock->RunPending();
    const std::string text = metrics->Text();
    const std::string label = "{collection=\"jobs\"} ";
    EXPECT_THAT(text, HasSubstr("\ndoclock_held_locks" + label + std::to_string(held) + "\n"));
    EXPECT_THAT(text,
                HasSubstr("\ndoclock_waiting_callers" + label + std::to_string(waiting) + "\n"));
  };
  auto first = locks.Acquire("a");
  auto other = locks.Acquire("b");
  auto waiting = locks.AcquireAsync("a", {.wait = 1h});
  auto in_vain = locks.AcquireAsync("a", {.wait = 1s});
  expect(2, 2);
  clock->Advance(2s);
  EXPECT_THROW(Get(std::move(in_vain)), LockException);
  expect(2, 1);
  first.Release();
  auto next = Get(std::move(waiting));
  expect(2, 0);
  other.Detach();
  expect(1, 0);
  next = {};
  expect(0, 0);
}

TEST_P(PrometheusTest, MeasuresWaitsAndHolds) {
  auto lock = locks.Acquire("a");
  auto waiting = locks.AcquireAsync("a", {.wait = 1h});
  clock->Advance(20s);
  lock.Release();
  auto next = Get(std::move(waiting));
  clock->RunPending();
  const std::string text = metrics->Text();
  EXPECT_THAT(text, HasSubstr("# TYPE doclock_wait_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("doclock_wait_seconds_bucket{collection=\"jobs\",le=\"5\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("doclock_wait_seconds_bucket{collection=\"jobs\",le=\"30\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("doclock_wait_seconds_bucket{collection=\"jobs\",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("doclock_wait_seconds_count{collection=\"jobs\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("doclock_hold_seconds_sum{collection=\"jobs\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("doclock_handed_over_total{collection=\"jobs\"} 1\n"));
}

}  // namespace
}  // namespace doclock::named

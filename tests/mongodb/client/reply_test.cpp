#include "mongodb/client/reply.h"

#include <gtest/gtest.h>

namespace doclock::mongodb {
namespace {

/// What libmongoc returns for a command, with or without a write concern error beside it.
void Answer(Reply& reply, int code, bool confirmed, Effect effect) {
  bson_t* const raw = reply.Fresh();
  bson_init(raw);
  Doc fields;
  fields.Add("ok", code == 0 ? 1 : 0);
  if (!confirmed) fields.Add("writeConcernError", Doc::Of("code", 64));
  bson_concat(raw, fields.get());
  bson_error_t error{};
  if (code != 0) bson_set_error(&error, MONGOC_ERROR_SERVER, static_cast<std::uint32_t>(code), "x");
  reply.Judge(code == 0, error, effect);
}

TEST(MongoReply, AWriteThatNoMajorityAcknowledgedIsInDoubt) {
  Reply reply;
  Answer(reply, 0, false, Effect::kWrites);
  EXPECT_TRUE(reply.is_unconfirmed());
  EXPECT_EQ(reply.outcome, Outcome::kDoubt);
  Answer(reply, 0, false, Effect::kReads);
  EXPECT_TRUE(reply.is_unconfirmed());
  EXPECT_EQ(reply.outcome, Outcome::kAnswered);
  Answer(reply, 0, true, Effect::kWrites);
  EXPECT_FALSE(reply.is_unconfirmed());
  EXPECT_EQ(reply.outcome, Outcome::kAnswered);
}

/// A primary without its majority knows no transaction that a later primary may have committed.
TEST(MongoReply, AnErrorTellsWhetherAMajorityIsBehindIt) {
  for (const bool confirmed : {false, true}) {
    Reply reply;
    Answer(reply, kNoSuchTransaction, confirmed, Effect::kWrites);
    EXPECT_EQ(reply.code, kNoSuchTransaction);
    EXPECT_EQ(reply.is_unconfirmed(), !confirmed);
  }
}

}  // namespace
}  // namespace doclock::mongodb

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

/// The driver has codes of its own, and uses a server's domains for some of its errors.
TEST(MongoReply, AnErrorOfTheDriverIsNoneOfTheServer) {
  struct Case {
    std::uint32_t domain, code;
    Outcome of_write;
    const char* text = "x";
  };
  for (const auto& [domain, code, of_write, text] :
       {Case{MONGOC_ERROR_COMMAND, MONGOC_ERROR_COMMAND_INVALID_ARG, Outcome::kRefused},
        Case{MONGOC_ERROR_COMMAND, MONGOC_ERROR_COMMAND_INVALID_ARG, Outcome::kNotSent,
             "The selected server does not support collation"},
        Case{MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, Outcome::kRefused,
             "Authentication failed."},
        Case{MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, Outcome::kNotSent,
             "interrupted at shutdown"},
        Case{MONGOC_ERROR_QUERY, MONGOC_ERROR_QUERY_FAILURE, Outcome::kDoubt},
        Case{MONGOC_ERROR_PROTOCOL, MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION, Outcome::kRefused},
        Case{MONGOC_ERROR_PROTOCOL, MONGOC_ERROR_PROTOCOL_INVALID_REPLY, Outcome::kDoubt},
        Case{MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, Outcome::kDoubt},
        Case{MONGOC_ERROR_STREAM, kNoSuchTransaction, Outcome::kDoubt}}) {
    Reply reply;
    bson_init(reply.Fresh());
    bson_error_t error{};
    bson_set_error(&error, domain, code, "%s", text);
    reply.Judge(false, error, Effect::kWrites);
    EXPECT_EQ(reply.outcome, of_write) << domain << " " << code;
    EXPECT_EQ(reply.code, 0);
  }
}

TEST(MongoReply, OfAnotherCommandIsDisowned) {
  const auto judge = [](std::int64_t n, std::int64_t index, const char* places,
                        bool tells_each = false) {
    Reply reply;
    Doc fields = Doc::Of("ok", 1);
    fields.Add("n", n).Add(places, Array().Add(Doc::Of("index", index)));
    bson_t* const raw = reply.Fresh();
    bson_init(raw);
    bson_concat(raw, fields.get());
    reply.Judge(true, {}, Effect::kWrites);
    const bool kept = reply.Fits(2, tells_each);
    EXPECT_EQ(reply.outcome, kept ? Outcome::kAnswered : Outcome::kDoubt);
    EXPECT_EQ(reply.Of(1).outcome == Outcome::kDoubt, !kept);
    return kept;
  };
  EXPECT_TRUE(judge(0, 0, "upserted"));
  EXPECT_TRUE(judge(2, 1, "upserted"));
  EXPECT_FALSE(judge(3, 1, "upserted"));
  EXPECT_FALSE(judge(-1, 1, "upserted"));
  EXPECT_FALSE(judge(1, 2, "upserted"));
  EXPECT_FALSE(judge(1, -1, "upserted"));
  EXPECT_FALSE(judge(1, 2, "writeErrors"));
  EXPECT_TRUE(judge(1, 1, "writeErrors", true));
  EXPECT_TRUE(judge(2, 1, "upserted", true));
  EXPECT_FALSE(judge(2, 1, "writeErrors", true));
  EXPECT_FALSE(judge(1, 1, "upserted", true)) << "it does not speak of one of them";
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

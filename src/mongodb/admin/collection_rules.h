#pragma once

#include <bson/bson.h>

#include <string>
#include <vector>

#include "doclock/options.h"
#include "doclock/store/finding.h"
#include "mongodb/bson/bson.h"

namespace doclock::mongodb {

/// The question whose answer holds the options of a collection.
Doc OptionsOf(const std::string& collection);

/// Adds what the server tells of a collection (a row of OptionsOf) and speaks against locks in it.
/// kProblem: locks could not keep their promises; Open refuses the collection. kWarning: an
/// operator should know. The texts begin with a verb, for the collection as their subject.
void JudgeOptions(const bson_t& listed, const LockFieldNames& fields, std::vector<Finding>& found);

/// The same for one of its indexes (a row of listIndexes).
void JudgeIndex(const bson_t& index, const LockFieldNames& fields, std::vector<Finding>& found);

}  // namespace doclock::mongodb

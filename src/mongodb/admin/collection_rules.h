#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doclock/options.h"
#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/client/reply.h"

namespace doclock::mongodb {

/// The question whose answer holds the options of a collection.
Doc OptionsOf(const std::string& collection);
/// That whose answer holds its indexes.
Doc IndexesOf(const std::string& collection);

/// What the server tells of a collection (its answer to OptionsOf) and speaks against locks in it.
/// kProblem: locks could not keep their promises; Open refuses the collection. kWarning: an
/// operator should know. The texts begin with a verb, for the collection as their subject.
std::vector<Finding> JudgeOptions(const Reply& options, const LockFieldNames& fields);

/// Judges its indexes (the answer to IndexesOf), those of other libraries too.
std::vector<Finding> JudgeIndexes(const Reply& list, const LockFieldNames& fields);

/// Judges of the options what holds for another library's documents too.
std::vector<Finding> JudgePlace(const Reply& options);

/// The field by whose time the server deletes documents, if this is a TTL index; else empty.
std::string ExpiryField(const bson_t& index);

/// Of the indexes of a collection of another library those of a third one, and the TTL indexes that
/// delete by another field than `index`, the one that it makes. kProblem.
std::vector<Finding> JudgePlaceIndexes(const Reply& list, const Doc& index,
                                       std::string_view library);

/// Does one of the indexes do what `index` would? If none does, adds those that keep it from being
/// made: of its name over other fields, or over its fields without keeping them unique. kProblem.
bool HasIndexLike(const Doc& index, const Reply& list, std::vector<Finding>& found);

/// Does the answer to IndexesOf hold an index of this name?
bool HasIndex(const Reply& list, std::string_view name);

// Locks that another library than expected keeps in a collection, whose programs would not see
// those of doclock. All findings are kProblem, and their texts begin with a verb. `library` is the
// one whose layout the collection was given; empty: none's.

/// The question whose answer shows one of the collection's first documents that holds such locks.
Doc ForeignLocksIn(const Collection& collection, std::string_view library);

/// What that answer says.
std::vector<Finding> JudgeForeignLocks(const Reply& shown, const Collection& collection,
                                       std::string_view library);

/// What the answer to IndexesOf says of such locks, which leave nothing else once released.
std::vector<Finding> JudgeForeignIndexes(const Reply& list, std::string_view library);

}  // namespace doclock::mongodb

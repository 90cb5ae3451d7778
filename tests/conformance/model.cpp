#include "conformance/model.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "doclock/errors.h"

namespace doclock::conformance {
namespace {

constexpr int kTtlSeconds = 30;
constexpr int kStranger = -1;

const char* VerbOf(Step::Kind kind) {
  static constexpr std::array<const char*, Step::kKinds> kNames{
      "acquire",   "create", "renew",  "release", "release by value", "checkpoint",
      "hand over", "erase",  "insert", "replace", "save-erase",       "expire",
      "break",     "steal",  "purge",  "advance"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string StatusName(OpStatus status) {
  std::ostringstream text;
  PrintTo(status, &text);
  return text.str();
}

std::string Picture(bool exists, std::int64_t version, int holder, bool live, int value) {
  if (!exists) return "missing";
  return "v" + std::to_string(version) + " held by " + std::to_string(holder) +
         (live ? " live" : " not live") + ", value " + std::to_string(value);
}

}  // namespace

void PrintTo(const Step& step, std::ostream* out) {
  *out << "{" << VerbOf(step.kind) << " key " << step.key << " who " << step.who << " number "
       << step.number << (step.stale ? " stale}" : "}");
}

/// Holders are numbered in the order of their attempts: both sides number alike.
class Player::Side {
 public:
  virtual ~Side() = default;

  std::vector<std::string> Play(const std::vector<Step>& steps) {
    std::vector<std::string> lines;
    for (const Step& step : steps) {
      const std::string said = Do(step);
      lines.push_back(std::string(VerbOf(step.kind)) + " " + std::to_string(step.key) + ": " +
                      said + "; " + Look(step.key));
    }
    return lines;
  }

 protected:
  virtual std::string Do(const Step& step) = 0;
  virtual std::string Look(int key) = 0;

  /// The version a write of this step claims to know.
  static std::int64_t Claimed(const Step& step, std::int64_t known) {
    return step.stale ? known - 1 : known;
  }
};

class Player::StoreSide : public Side {
 public:
  StoreSide(Client& client, StoreTime& clock) : client_(client), clock_(clock) {}

 protected:
  std::string Do(const Step& step) override {
    switch (step.kind) {
      case Step::Kind::kAcquire:
      case Step::Kind::kCreate:
        return Acquire(step);
      case Step::Kind::kRenew:
        return StatusName(client_.Renew(step.key, IdOf(step)).status);
      case Step::Kind::kRelease:
      case Step::Kind::kReleaseByValue:
      case Step::Kind::kCheckpoint:
      case Step::Kind::kHandOver:
      case Step::Kind::kErase:
        return Write(step);
      case Step::Kind::kInsert:
        return StatusName(client_.Insert(step.key, {{"value", step.number}}).status);
      case Step::Kind::kReplace:
      case Step::Kind::kSaveErase:
        return Save(step);
      case Step::Kind::kExpire:
        return Intervene(step, Intervention::kExpire);
      case Step::Kind::kBreak:
        return Intervene(step, Intervention::kBreak);
      case Step::Kind::kSteal:
        return Intervene(step, Intervention::kSteal);
      case Step::Kind::kPurge:
        return std::to_string(client_.Purge());
      case Step::Kind::kAdvance:
        clock_.Advance(std::chrono::seconds(step.number));
        return "done";
    }
    return {};
  }

  std::string Look(int key) override {
    const ReadOp read = client_.Read(key);
    if (read.status == OpStatus::kMissing) return Picture(false, 0, 0, false, 0);
    return Picture(true, read.version, HolderOf(read.lock_id), read.locked,
                   read.body.json().at("value"));
  }

 private:
  Uuid NewHolder() {
    ids_.push_back(FreshId());
    return ids_.back();
  }
  Uuid IdOf(const Step& step) const {
    return ids_.empty() ? Uuid{} : ids_[static_cast<std::size_t>(step.who) % ids_.size()];
  }
  int HolderOf(const Uuid& id) const {
    if (id.is_nil()) return 0;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (ids_[i] == id) return static_cast<int>(i) + 1;
    }
    return kStranger;
  }

  std::string Acquire(const Step& step) {
    AcquireArgs args{.id = NewHolder(), .ttl = std::chrono::seconds(kTtlSeconds)};
    if (step.kind == Step::Kind::kCreate) args.insert = MakeBody({{"value", step.number}});
    return StatusName(client_.Acquire(step.key, args).status);
  }

  std::string Write(const Step& step) {
    const Uuid id = IdOf(step);
    GrantRequest next;
    WriteArgs args;
    args.expected = Claimed(step, client_.Read(step.key).version);
    args.body = MakeBody({{"value", step.number}});
    args.ttl = std::chrono::seconds(kTtlSeconds);
    if (step.kind == Step::Kind::kReleaseByValue) {
      args.expected = kAnyVersion;
      args.merge = true;
    }
    if (step.kind == Step::Kind::kHandOver) {
      next.lock_id = NewHolder();
      next.ttl = std::chrono::seconds(kTtlSeconds);
      args.next = &next;
    }
    WriteKind kind = WriteKind::kRelease;
    if (step.kind == Step::Kind::kCheckpoint) kind = WriteKind::kCheckpoint;
    if (step.kind == Step::Kind::kErase) kind = WriteKind::kErase;
    return StatusName(client_.Write(step.key, kind, id, args).status);
  }

  std::string Save(const Step& step) {
    const ReadOp read = client_.Read(step.key);
    const std::int64_t expected = Claimed(step, read.version);
    if (step.kind == Step::Kind::kSaveErase) {
      return StatusName(client_.Erase(step.key, expected, read.born).status);
    }
    return StatusName(
        client_.Replace(step.key, expected, read.born, {{"value", step.number}}).status);
  }

  std::string Intervene(const Step& step, Intervention what) {
    try {
      client_.Intervene(step.key, what);
      return "done";
    } catch (const Error& error) {
      return error.errc() == Errc::kNotFound ? "missing" : "not held";
    }
  }

  Client& client_;
  StoreTime& clock_;
  std::vector<Uuid> ids_;
};

class Player::ModelSide : public Side {
 protected:
  std::string Do(const Step& step) override {
    const auto found = documents_.find(step.key);
    ModelDocument* document = found == documents_.end() ? nullptr : &found->second;
    switch (step.kind) {
      case Step::Kind::kAcquire:
      case Step::Kind::kCreate:
        return Acquire(step, document);
      case Step::Kind::kInsert:
        return Insert(step, document);
      case Step::Kind::kPurge:
        return Purge();
      case Step::Kind::kAdvance:
        now_ += step.number;
        return "done";
      case Step::Kind::kHandOver:
        ++holders_;
        break;
      default:
        break;
    }
    if (document == nullptr) return "missing";
    switch (step.kind) {
      case Step::Kind::kRenew:
        return Renew(step, *document);
      case Step::Kind::kReplace:
      case Step::Kind::kSaveErase:
        return Save(step, *document);
      case Step::Kind::kExpire:
      case Step::Kind::kBreak:
      case Step::Kind::kSteal:
        return Intervene(step, *document);
      default:
        return Write(step, *document);
    }
  }

  std::string Look(int key) override {
    const auto found = documents_.find(key);
    if (found == documents_.end()) return Picture(false, 0, 0, false, 0);
    const ModelDocument& document = found->second;
    return Picture(true, document.version, document.holder, Live(document), document.value);
  }

 private:
  [[nodiscard]] bool Live(const ModelDocument& document) const {
    return document.holder != 0 && now_ < document.until;
  }
  /// A hand-over numbers its next holder after it chose who releases, an acquire before.
  [[nodiscard]] int Who(const Step& step) const {
    const int known = holders_ - (step.kind == Step::Kind::kHandOver ? 1 : 0);
    return known == 0 ? 0 : step.who % known + 1;
  }
  void GrantTo(ModelDocument& document, int holder) const {
    document.holder = holder;
    document.until = now_ + kTtlSeconds;
  }

  std::string Acquire(const Step& step, ModelDocument* document) {
    ++holders_;
    if (document == nullptr && step.kind == Step::Kind::kAcquire) return "missing";
    if (document == nullptr) {
      document = &documents_[step.key];
      document->value = step.number;
    } else if (Live(*document)) {
      return "busy";
    }
    ++document->version;
    GrantTo(*document, holders_);
    return "done";
  }

  std::string Renew(const Step& step, ModelDocument& document) {
    if (!Live(document) || document.holder != Who(step)) return "lost";
    document.until = now_ + kTtlSeconds;
    return "done";
  }

  std::string Write(const Step& step, ModelDocument& document) {
    const bool version_holds = !step.stale || step.kind == Step::Kind::kReleaseByValue;
    if (document.holder == 0 || document.holder != Who(step) || !version_holds) return "lost";
    if (step.kind == Step::Kind::kErase) {
      documents_.erase(step.key);
      return "done";
    }
    ++document.version;
    document.value = step.number;
    if (step.kind == Step::Kind::kCheckpoint) {
      GrantTo(document, document.holder);
    } else if (step.kind == Step::Kind::kHandOver) {
      GrantTo(document, holders_);
    } else {
      document.holder = 0;
    }
    return "done";
  }

  std::string Insert(const Step& step, ModelDocument* document) {
    if (document != nullptr) return "conflict";
    documents_[step.key].version = 1;
    documents_[step.key].value = step.number;
    return "done";
  }

  std::string Save(const Step& step, ModelDocument& document) {
    if (Live(document)) return "busy";
    // A version of 0 less 1 is "any", which only an erase knows; versions here begin at 1.
    if (step.stale) return "conflict";
    if (step.kind == Step::Kind::kSaveErase) {
      documents_.erase(step.key);
      return "done";
    }
    ++document.version;
    document.value = step.number;
    document.holder = 0;
    return "done";
  }

  std::string Intervene(const Step& step, ModelDocument& document) {
    if (step.kind == Step::Kind::kSteal) {
      ++document.version;
      GrantTo(document, kStranger);
      return "done";
    }
    if (document.holder == 0) return "not held";
    if (step.kind == Step::Kind::kExpire) {
      document.until = std::min(document.until, now_);
    } else {
      ++document.version;
      document.holder = 0;
    }
    return "done";
  }

  std::string Purge() {
    int purged = 0;
    for (auto& [key, document] : documents_) {
      if (document.holder == 0 || Live(document)) continue;
      document.holder = 0;
      ++purged;
    }
    return std::to_string(purged);
  }

  std::map<int, ModelDocument> documents_;
  std::int64_t now_ = 0;
  int holders_ = 0;
};

std::vector<std::string> Player::PlayStore(const std::vector<Step>& steps) {
  return StoreSide(client_, clock_).Play(steps);
}

std::vector<std::string> Player::PlayModel(const std::vector<Step>& steps) {
  return ModelSide().Play(steps);
}

}  // namespace doclock::conformance

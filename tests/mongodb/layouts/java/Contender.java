// The real locks for Java as a contender of tests/mongodb/layouts: DOCLOCK_TEST_PEER_PESSIMISTICLOCK names a program
// that runs this one with the arguments that it is given:
//
//     DEFAULT_LOCK_TTL_MILLIS="$7" exec java -cp "$CLASS_PATH" Contender "$@" 2>/dev/null
//
// The class path has the classes of iuliangoriac/mongo-lock at c212380 (mvn -DskipTests package
// dependency:copy-dependencies, on Java 17 with java.version set to 17). Then
//
//     ctest --preset test -R '(Beside|LayoutFailover).*pessimistic'

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.pessimistic.heartbeat.MongoLock;
import com.mongodb.pessimistic.heartbeat.MongoLockManager;
import java.util.concurrent.TimeUnit;

public final class Contender {
  /** helper "peer" uri database name workers ttl hold rest layout; DEFAULT_LOCK_TTL_MILLIS is ttl. */
  public static void main(String[] arguments) throws Exception {
    String name = arguments[4];
    long ttl = Long.parseLong(arguments[6]), hold = Long.parseLong(arguments[7]), rest = Long.parseLong(arguments[8]);
    MongoClient client = MongoClients.create(arguments[2]);
    MongoLock lock = null;
    for (;;) {
      try {
        if (lock == null) lock = create(client, arguments[3], name, ttl);
        once(lock, hold);
      } catch (RuntimeException error) {
        // The primary is away.
      }
      Thread.sleep(rest);
    }
  }

  private static MongoLock create(MongoClient client, String database, String name, long ttl) {
    return MongoLockManager.getInstance(client, "contender", database, "locks")
        .createLock(name, ttl, TimeUnit.MILLISECONDS);
  }

  private static void once(MongoLock lock, long hold) throws InterruptedException {
    long started = System.nanoTime();
    lock.lockInterruptibly();
    long now = System.nanoTime();
    // No grant is sent before this; so the end of its lease is not told too late.
    tell("got " + started + " " + now + " 0 " + (now - started) / 1_000_000);
    Thread.sleep(hold);
    tell("releasing " + System.nanoTime());
    lock.unlock();
  }

  private static void tell(String line) {
    System.out.println(line);
    System.out.flush();
  }
}

package com.croupier.example;

import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;

// --8<-- [start:retry]
/** How long to wait between attempts. */
final class Patience {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  private static final Duration MAX_PAUSE = Duration.ofSeconds(2);

  private Duration pause = FIRST_PAUSE;
  private Instant until;

  /** Returns when it is time for the next attempt; throws the error if there should be none. */
  void await(StatusRuntimeException error) {
    if (until == null) {
      until = Instant.now().plus(PATIENCE);
    }
    // A fifth more or less, so that the clients of a lost server come back apart.
    var share = ThreadLocalRandom.current().nextDouble(0.8, 1.2);
    var ours = Duration.ofMillis((long) (pause.toMillis() * share));
    var delay = Errors.retryDelay(error).orElse(ours);
    if (!mayPass(error) || Instant.now().plus(delay).isAfter(until)) {
      throw error;
    }
    pause = pause.multipliedBy(2);
    if (pause.compareTo(MAX_PAUSE) > 0) {
      pause = MAX_PAUSE;
    }
    try {
      Thread.sleep(delay.toMillis());
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw error;
    }
  }

  /** Whether the same call may succeed later, or at another server. */
  private static boolean mayPass(StatusRuntimeException error) {
    var code = error.getStatus().getCode();
    if (!Errors.reason(error).isEmpty()) { // The server has answered.
      return switch (code) {
        case UNAVAILABLE -> true;
        case RESOURCE_EXHAUSTED -> Errors.retryDelay(error).isPresent();
        default -> false;
      };
    }
    return switch (code) { // The connection was lost, or a proxy has lost the server.
      case UNAVAILABLE, INTERNAL, UNKNOWN, CANCELLED, DEADLINE_EXCEEDED ->
          !Errors.isBadCertificate(error);
      default -> false;
    };
  }
}
// --8<-- [end:retry]

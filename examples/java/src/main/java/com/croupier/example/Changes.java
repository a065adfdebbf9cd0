package com.croupier.example;

import com.croupier.v1.MatchServiceGrpc.MatchServiceBlockingStub;
import com.croupier.v1.WatchMatchRequest;
import com.croupier.v1.WatchMatchResponse;
import com.google.protobuf.Duration;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The versions of a match, from a stream that is resumed when it breaks or falls silent. */
final class Changes implements AutoCloseable {
  private static final int HEARTBEAT_SECONDS = 5;
  private static final Executor AFTER_SILENCE =
      CompletableFuture.delayedExecutor(2_500 * HEARTBEAT_SECONDS, TimeUnit.MILLISECONDS);

  private final Client client;
  private final MatchServiceBlockingStub matches;
  private final WatchMatchRequest.Builder request;
  private final Context.CancellableContext context = Context.current().withCancellation();
  private Context.CancellableContext attempt;
  private Iterator<WatchMatchResponse> stream;
  private boolean hasHeartbeats;
  private Patience patience = new Patience();

  Changes(Client client, MatchServiceBlockingStub matches, String name) {
    this.client = client;
    this.matches = matches;
    request =
        WatchMatchRequest.newBuilder()
            .setName(name)
            .setHeartbeatInterval(Duration.newBuilder().setSeconds(HEARTBEAT_SECONDS));
  }

  /** Returns the next version, or null when the match is over. */
  WatchMatchResponse next() {
    while (true) {
      try {
        if (stream == null) {
          hasHeartbeats = false; // An older server has none.
          attempt = context.withCancellation();
          attempt.run(() -> stream = matches.watchMatch(request.build()));
        }
        if (!hasNext()) {
          return null;
        }
        var change = stream.next();
        request.setAfterVersion(change.getVersion());
        patience = new Patience();
        if (!change.getUpToDate()) {
          return change;
        }
        hasHeartbeats = true;
      } catch (StatusRuntimeException error) {
        attempt.cancel(null);
        patience.await(error);
        stream = null;
        client.countResume();
      }
    }
  }

  /** Waits for the next response; cancels the stream when it is silent for too long. */
  private boolean hasNext() {
    if (!hasHeartbeats) {
      return stream.hasNext();
    }
    // A proxy can lose the server without a word, and keep its connection to this client.
    var watched = attempt;
    var alarm = CompletableFuture.runAsync(() -> watched.cancel(null), AFTER_SILENCE);
    try {
      return stream.hasNext();
    } finally {
      alarm.cancel(false);
    }
  }

  /** Ends the stream. */
  @Override
  public void close() {
    context.cancel(null);
  }
}

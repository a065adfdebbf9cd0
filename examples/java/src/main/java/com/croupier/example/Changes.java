package com.croupier.example;

import com.croupier.v1.MatchServiceGrpc.MatchServiceBlockingStub;
import com.croupier.v1.WatchMatchRequest;
import com.croupier.v1.WatchMatchResponse;
import io.grpc.Context;
import io.grpc.StatusRuntimeException;
import java.util.Iterator;

/** The versions of a match, from a stream that is resumed when it breaks. */
final class Changes implements AutoCloseable {
  private final Client client;
  private final MatchServiceBlockingStub matches;
  private final WatchMatchRequest.Builder request;
  private final Context.CancellableContext context = Context.current().withCancellation();
  private Iterator<WatchMatchResponse> stream;
  private Patience patience = new Patience();

  Changes(Client client, MatchServiceBlockingStub matches, String name) {
    this.client = client;
    this.matches = matches;
    request = WatchMatchRequest.newBuilder().setName(name);
  }

  /** Returns the next version, or null when the match is over. */
  WatchMatchResponse next() {
    while (true) {
      try {
        if (stream == null) {
          context.run(() -> stream = matches.watchMatch(request.build()));
        }
        if (!stream.hasNext()) {
          return null;
        }
        var change = stream.next();
        request.setAfterVersion(change.getVersion());
        patience = new Patience();
        return change;
      } catch (StatusRuntimeException error) {
        patience.await(error);
      }
      stream = null;
      client.countResume();
    }
  }

  /** Ends the stream. */
  @Override
  public void close() {
    context.cancel(null);
  }
}

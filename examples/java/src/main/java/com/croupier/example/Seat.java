package com.croupier.example;

import com.croupier.v1.GetViewRequest;
import com.croupier.v1.Hint;
import com.croupier.v1.HintServiceGrpc.HintServiceBlockingStub;
import com.croupier.v1.MatchAction;
import com.croupier.v1.MatchServiceGrpc.MatchServiceBlockingStub;
import com.croupier.v1.Search;
import com.croupier.v1.SearchLimits;
import com.croupier.v1.SubmitActionRequest;
import com.croupier.v1.SuggestActionRequest;
import com.croupier.v1.View;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/** A match, with the token of this client's seat. */
final class Seat {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
  private static final int SEARCH_SECONDS = 60; // The longest search of a server.

  private final Client client;
  private final String name;
  private final MatchServiceBlockingStub matches;
  private final HintServiceBlockingStub hints;

  Seat(Client client, String name, String token) {
    var headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    ClientInterceptor authorize = MetadataUtils.newAttachHeadersInterceptor(headers);
    this.client = client;
    this.name = name;
    matches = client.matches.withInterceptors(authorize);
    hints = client.hints.withInterceptors(authorize);
  }

  /** Follows the match. */
  Changes watch() {
    return new Changes(client, matches, name);
  }

  /** Returns what the seat knows of the match now. */
  View view() {
    var request = GetViewRequest.newBuilder().setName(name).build();
    return client.persist(() -> Client.limited(matches).getView(request)).getView();
  }

  // --8<-- [start:hint]
  /** Asks what to play; the server searches with what the seat knows. */
  Hint hint(int iterations, Long seed) {
    var search =
        Search.newBuilder()
            .setMatchName(name)
            .setLimits(SearchLimits.newBuilder().setIterations(iterations));
    if (seed != null) {
      search.setSeed(seed);
    }
    var request = SuggestActionRequest.newBuilder().setSearch(search).build();
    int seconds = Client.CALL_SECONDS + SEARCH_SECONDS;
    return client
        .persist(() -> hints.withDeadlineAfter(seconds, TimeUnit.SECONDS).suggestAction(request))
        .getHint();
  }

  // --8<-- [end:hint]

  // --8<-- [start:submit]
  /** Plays an action as the answer to a view; returns the version after it. */
  long submit(View view, MatchAction action) {
    var request =
        SubmitActionRequest.newBuilder()
            .setName(name)
            .setExpectedVersion(view.getVersion())
            .setAction(action)
            .setRequestId(UUID.randomUUID().toString()) // A repeated call then counts once.
            .build();
    try {
      var response = client.persist(() -> Client.limited(matches).submitAction(request));
      return response.getView().getVersion();
    } catch (StatusRuntimeException error) {
      if (Errors.reason(error).equals("STALE_VERSION")) {
        return view.getVersion(); // The match has gone on. The stream shows the newer view.
      }
      throw error;
    }
  }
  // --8<-- [end:submit]
}

package com.croupier.example;

import com.croupier.v1.Bot;
import com.croupier.v1.BotStrength;
import com.croupier.v1.CatalogServiceGrpc;
import com.croupier.v1.CatalogServiceGrpc.CatalogServiceBlockingStub;
import com.croupier.v1.CreateMatchRequest;
import com.croupier.v1.Game;
import com.croupier.v1.GetGameRequest;
import com.croupier.v1.HintServiceGrpc;
import com.croupier.v1.JoinMatchRequest;
import com.croupier.v1.ListGamesRequest;
import com.croupier.v1.MatchServiceGrpc;
import com.croupier.v1.MatchServiceGrpc.MatchServiceBlockingStub;
import com.croupier.v1.OpenSeat;
import com.croupier.v1.SeatConfig;
import io.grpc.ChannelCredentials;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The services of one server. One thread uses it. */
final class Client implements AutoCloseable {
  static final int CALL_SECONDS = 30;

  final MatchServiceBlockingStub matches;
  final HintServiceGrpc.HintServiceBlockingStub hints;
  private final ManagedChannel channel;
  private final CatalogServiceBlockingStub catalog;
  private int retries;
  private int resumes;

  // --8<-- [start:connect]
  /** Returns at once; connects with the first call. */
  Client(String server, boolean tls, File authorities) throws IOException {
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    if (authorities != null) {
      credentials = TlsChannelCredentials.newBuilder().trustManager(authorities).build();
    } else if (tls) {
      credentials = TlsChannelCredentials.create();
    }
    channel =
        Grpc.newChannelBuilder(server, credentials)
            // Notice a server that has vanished in silence, also while a stream waits.
            .keepAliveTime(20, TimeUnit.SECONDS)
            .keepAliveTimeout(8, TimeUnit.SECONDS)
            .build();
    catalog = CatalogServiceGrpc.newBlockingStub(channel);
    matches = MatchServiceGrpc.newBlockingStub(channel);
    hints = HintServiceGrpc.newBlockingStub(channel);
  }

  // --8<-- [end:connect]

  @Override
  public void close() {
    channel.shutdownNow();
  }

  // --8<-- [start:retry]
  /**
   * Repeats a call until the server answers. The requests of this client may all be repeated: they
   * change nothing, or have a request id.
   */
  <T> T persist(Supplier<T> call) {
    var patience = new Patience();
    while (true) {
      try {
        return call.get();
      } catch (StatusRuntimeException error) {
        patience.await(error);
      }
      retries++;
      reconnect();
    }
  }

  /** Connects at once, rather than after the pause of gRPC, which grows to two minutes. */
  private void reconnect() {
    channel.resetConnectBackoff();
  }

  // --8<-- [end:retry]

  /** Counts a stream that was resumed, and connects. */
  void countResume() {
    resumes++;
    reconnect();
  }

  /** Returns how often a call was repeated. */
  int retries() {
    return retries;
  }

  /** Returns how often a stream was resumed. */
  int resumes() {
    return resumes;
  }

  void forgetRetries() {
    retries = 0;
    resumes = 0;
  }

  /** Returns the names of all games. */
  List<String> listGames() {
    var request = ListGamesRequest.getDefaultInstance();
    var response = persist(() -> limited(catalog).listGames(request));
    return response.getGamesList().stream().map(Game::getName).toList();
  }

  /** Returns a game with its cards. */
  Game getGame(String name) {
    var request = GetGameRequest.newBuilder().setName(name).build();
    return persist(() -> limited(catalog).getGame(request)).getGame();
  }

  // --8<-- [start:create]
  /** Creates a match with the default ruleset: this client against a bot. */
  Seat createMatch(Game game, Long seed, String displayName) {
    var request =
        CreateMatchRequest.newBuilder()
            .setRuleset(game.getDefaultRuleset())
            .addSeats(
                SeatConfig.newBuilder()
                    .setOpen(OpenSeat.getDefaultInstance())
                    .setDisplayName(displayName))
            .addSeats(
                SeatConfig.newBuilder()
                    .setBot(Bot.newBuilder().setStrength(BotStrength.BOT_STRENGTH_CASUAL)))
            // A repeated call then creates no second match.
            .setRequestId(UUID.randomUUID().toString());
    if (seed != null) {
      request.setSeed(seed);
    }
    var created = persist(() -> limited(matches).createMatch(request.build()));
    // There is one token for each open seat, and only seat 0 is open.
    return new Seat(this, created.getName(), created.getSeatTokens(0).getToken());
  }

  // --8<-- [end:create]

  /** Takes the seat that an invitation is for. */
  Seat joinMatch(String invitation, String displayName) {
    var request =
        JoinMatchRequest.newBuilder()
            .setInvitation(invitation)
            .setDisplayName(displayName)
            // A repeated call then gets the same token.
            .setRequestId(UUID.randomUUID().toString())
            .build();
    var joined = persist(() -> limited(matches).joinMatch(request));
    return new Seat(this, joined.getName(), joined.getSeatToken().getToken());
  }

  /** Returns a stub whose next call has a deadline. */
  static <S extends io.grpc.stub.AbstractStub<S>> S limited(S stub) {
    return stub.withDeadlineAfter(CALL_SECONDS, TimeUnit.SECONDS);
  }
}

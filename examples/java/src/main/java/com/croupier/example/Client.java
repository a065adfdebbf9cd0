package com.croupier.example;

import static java.util.concurrent.TimeUnit.*;

import com.croupier.v1.*;
import com.google.protobuf.*;
import com.google.rpc.*;
import io.grpc.*;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.*;
import java.io.File;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.*;
import javax.net.ssl.SSLException;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** Plays a whole match at a Croupier server by its hints, against a bot. */
@CommandLine.Command(mixinStandardHelpOptions = true, showDefaultValues = true)
public final class Client implements Callable<Integer> {
  @Option(names = "--server", description = "the server, as HOST:PORT")
  String server = "127.0.0.1:50051";
  @Option(names = "--tls", description = "use TLS, and trust the authorities that Java knows")
  boolean tls;
  @Option(names = "--ca", description = "use TLS, and trust the authorities in this PEM file")
  File authorities;
  @Option(names = "--name", description = "the name that the other players see")
  String displayName = "";
  @Option(names = "--join", description = "play in the match of this invitation, of --game")
  String invitation;
  @Option(names = "--game", description = "what to play")
  String game = "skystones";
  @Option(names = "--seed", description = "make the match reproducible (with --allow-seeds)")
  Long seed;
  @Option(names = "--iterations", description = "how long to search for each hint")
  int iterations = 200;
  private ManagedChannel channel;
  private int retries, resumes; // How often a call was repeated, and a stream resumed.

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Client()).execute(arguments));
  }

  @Override
  public Integer call() throws Exception {
    // --8<-- [start:connect]
    ChannelCredentials credentials = InsecureChannelCredentials.create();
    if (authorities != null) {
      credentials = TlsChannelCredentials.newBuilder().trustManager(authorities).build();
    } else if (tls) {
      credentials = TlsChannelCredentials.create();
    }
    channel =
        Grpc.newChannelBuilder(server, credentials)
            // Notice a server that has vanished in silence, also while a stream waits.
            .keepAliveTime(20, SECONDS)
            .keepAliveTimeout(8, SECONDS)
            .build();
    // --8<-- [end:connect]
    try {
      play();
      return 0;
    } catch (StatusRuntimeException error) { // With fields at fault, quotas, when to try again.
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        System.err.println(cause);
      }
      var types = List.of(ErrorInfo.getDescriptor(), BadRequest.getDescriptor());
      var more = List.of(QuotaFailure.getDescriptor(), RetryInfo.getDescriptor());
      var registry = TypeRegistry.newBuilder().add(types).add(more).build();
      var printer = TextFormat.printer().usingTypeRegistry(registry);
      System.err.println(printer.printToString(StatusProto.fromThrowable(error)));
      return 1;
    } finally {
      channel.shutdownNow();
    }
  }

  /** Plays a match, and prints what it came to as one line of JSON. */
  private void play() throws InterruptedException {
    var catalog = CatalogServiceGrpc.newBlockingV2Stub(channel);
    var matches = MatchServiceGrpc.newBlockingV2Stub(channel);
    var get = GetGameRequest.newBuilder().setName("games/" + game).build();
    var described = persist(30, catalog, stub -> stub.getGame(get)).getGame();
    var requestId = UUID.randomUUID().toString(); // A repeated call then has the effect of one.
    String name, token;
    if (invitation != null) {
      var request = JoinMatchRequest.newBuilder().setInvitation(invitation);
      var join = request.setDisplayName(displayName).setRequestId(requestId).build();
      var joined = persist(30, matches, stub -> stub.joinMatch(join));
      name = joined.getName();
      token = joined.getSeatToken().getToken();
    } else {
      // --8<-- [start:create]
      var me = SeatConfig.newBuilder().setOpen(OpenSeat.getDefaultInstance());
      var bot = Bot.newBuilder().setStrength(BotStrength.BOT_STRENGTH_CASUAL);
      var request = CreateMatchRequest.newBuilder().setRuleset(described.getDefaultRuleset());
      request.addSeats(me.setDisplayName(displayName));
      request.addSeats(SeatConfig.newBuilder().setBot(bot));
      request.setRequestId(requestId);
      Optional.ofNullable(seed).ifPresent(request::setSeed);
      var created = persist(30, matches, stub -> stub.createMatch(request.build()));
      name = created.getName();
      token = created.getSeatTokens(0).getToken(); // One for each open seat: only seat 0 is open.
      // --8<-- [end:create]
    }
    var headers = new Metadata();
    var authorization = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    headers.put(authorization, "Bearer " + token);
    var authorized = MetadataUtils.newAttachHeadersInterceptor(headers);
    var seat = matches.withInterceptors(authorized);
    var hints = HintServiceGrpc.newBlockingV2Stub(channel).withInterceptors(authorized);
    int decisions = 0;
    long newest = 0; // The version of the newest view that an answer has shown.
    var last = View.getDefaultInstance();
    // --8<-- [start:watch]
    // When the stream breaks or falls silent, it is resumed after the last version that came.
    var watch = WatchMatchRequest.newBuilder().setName(name);
    watch.getHeartbeatIntervalBuilder().setSeconds(5);
    var patience = new Patience();
    for (boolean over = false; !over; ) {
      var stream = seat.watchMatch(watch.build());
      try {
        // A proxy can lose the server without a word, and keep its connection to this client.
        long silence = Integer.MAX_VALUE; // Until the server has proved that it is up to date.
        WatchMatchResponse change;
        while ((change = stream.read(silence, MILLISECONDS)) != null) {
          watch.setAfterVersion(change.getVersion());
          patience = new Patience(); // The server has answered: the time starts over.
          silence = change.getUpToDate() ? 12_500 : silence; // 2.5 heartbeats.
          var view = change.getView(); // Empty if the next change follows at once.
          last = view;
          if (view.getVersion() < newest || view.getLegalActionsCount() == 0) {
            continue; // From before this seat's last decision, or the other seat's turn.
          }
          // --8<-- [start:hint]
          // The server searches with what the seat knows.
          var search = Search.newBuilder().setMatchName(name);
          search.getLimitsBuilder().setIterations(iterations);
          Optional.ofNullable(seed).ifPresent(search::setSeed);
          var suggest = SuggestActionRequest.newBuilder().setSearch(search).build();
          // The longest search of a server takes 60 seconds.
          var hint = persist(90, hints, stub -> stub.suggestAction(suggest)).getHint();
          // --8<-- [end:hint]
          // --8<-- [start:submit]
          var submit = SubmitActionRequest.newBuilder().setName(name).setAction(hint.getAction());
          submit.setExpectedVersion(view.getVersion());
          submit.setRequestId(UUID.randomUUID().toString()); // A repeated call then counts once.
          var request = submit.build();
          try {
            newest = persist(30, seat, stub -> stub.submitAction(request)).getView().getVersion();
          } catch (StatusRuntimeException error) {
            if (!reason(error).equals("STALE_VERSION")) {
              throw error;
            } // Else the match has gone on. The stream shows the newer view.
          }
          // --8<-- [end:submit]
          decisions++;
          System.out.printf("decision %d at version %d%n", decisions, view.getVersion());
        }
        over = true;
      } catch (StatusException | TimeoutException error) {
        stream.cancel("the stream is lost", error);
        patience.await(error);
        resumes++;
      }
    }
    // --8<-- [end:watch]

    var scores = last.getResult().getScoresList();
    var reason = last.getResult().getReason().name().replace("END_REASON_", "");
    var outcome = "{\"game\": \"%s\", \"scores\": %s, \"reason\": \"%s\", \"decisions\": %d,";
    System.out.printf(outcome, game, scores, reason, decisions);
    System.out.printf(" \"retries\": %d, \"resumes\": %d}%n", retries, resumes);
  }

  // --8<-- [start:retry]
  private interface Call<S, T> {
    T make(S stub) throws StatusException, InterruptedException;
  }

  /** Repeats a call until the server answers: all requests here change nothing, or have an id. */
  private <S extends AbstractStub<S>, T> T persist(int seconds, S stub, Call<S, T> call)
      throws InterruptedException {
    for (var patience = new Patience(); ; retries++) {
      try {
        return call.make(stub.withDeadlineAfter(seconds, SECONDS));
      } catch (StatusException error) {
        patience.await(error);
      }
    }
  }

  /** How long to wait between attempts. */
  private final class Patience {
    private long pause = 100; // Milliseconds.
    private Instant until;

    /** Returns when it is time for the next attempt; throws the error if there should be none. */
    void await(Exception error) throws InterruptedException {
      until = until == null ? Instant.now().plusSeconds(30) : until;
      var delay = detail(error, RetryInfo.class).map(RetryInfo::getRetryDelay);
      boolean refused = !reason(error).isEmpty();
      boolean temporary =
          switch (Status.fromThrowable(error).getCode()) {
            case UNAVAILABLE -> !(error.getCause() instanceof SSLException); // An untrusted server.
            // The connection was lost, or a proxy has lost the server.
            case INTERNAL, UNKNOWN, CANCELLED, DEADLINE_EXCEEDED -> !refused;
            case RESOURCE_EXHAUSTED -> refused && delay.isPresent();
            default -> false;
          };
      // A fifth more or less, so that the clients of a lost server come back apart.
      long ours = pause * ThreadLocalRandom.current().nextInt(80, 120) / 100;
      long wait = delay.map(d -> d.getSeconds() * 1000 + d.getNanos() / 1_000_000).orElse(ours);
      if (!temporary || Instant.now().plusMillis(wait).isAfter(until)) {
        throw Status.fromThrowable(error).asRuntimeException(Status.trailersFromThrowable(error));
      }
      pause = Math.min(2 * pause, 2000);
      Thread.sleep(wait);
      channel.resetConnectBackoff(); // Else gRPC pauses up to two minutes before it connects.
    }
  }
  // --8<-- [end:retry]

  // --8<-- [start:errors]
  /** Returns why the server refused a call, or "" if it was not the server who said so. */
  private static String reason(Exception error) {
    return detail(error, ErrorInfo.class)
        .filter(info -> info.getDomain().equals("croupier.v1"))
        .map(ErrorInfo::getReason)
        .orElse("");
  }

  /** Returns the detail of a type that an error came with. */
  private static <T extends Message> Optional<T> detail(Exception error, Class<T> type) {
    var status = StatusProto.fromThrowable(error);
    for (var each : status == null ? List.<Any>of() : status.getDetailsList()) {
      try {
        if (each.is(type)) {
          return Optional.of(each.unpack(type));
        }
      } catch (InvalidProtocolBufferException damaged) {
        return Optional.empty(); // By a proxy; the status still counts.
      }
    }
    return Optional.empty();
  }
  // --8<-- [end:errors]
}

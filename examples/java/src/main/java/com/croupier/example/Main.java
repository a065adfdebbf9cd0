package com.croupier.example;

import com.croupier.v1.Game;
import com.croupier.v1.MatchResult;
import com.croupier.v1.View;
import io.grpc.StatusRuntimeException;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Plays whole matches: seat 0 for itself, by the hints of the server, against a bot. */
@Command(
    name = "croupier-client",
    description = "Plays whole matches at a Croupier server by its hints, against a bot.",
    version = "croupier-client 0.2.0",
    mixinStandardHelpOptions = true,
    showDefaultValues = true)
public final class Main implements Callable<Integer> {
  @Option(names = "--server", paramLabel = "HOST:PORT", description = "the server")
  private String server = "127.0.0.1:50051";

  @Option(names = "--tls", description = "use TLS, and trust the authorities that Java knows")
  private boolean tls;

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      description = "use TLS, and trust the authorities in this PEM file")
  private File authorities;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description = "the name that the other players see")
  private String displayName = "";

  @Option(
      names = "--join",
      paramLabel = "INVITATION",
      description = "play in the match of this invitation, which is of --game and allows hints")
  private String invitation;

  @Option(names = "--game", paramLabel = "NAME", description = "what to play, such as skystones")
  private String game = "all";

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "make the match reproducible (for a server with --allow-seeds)")
  private Long seed;

  @Option(
      names = "--iterations",
      paramLabel = "N",
      description = "how long to search for each hint")
  private int iterations = 200;

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new Main()).execute(arguments));
  }

  @Override
  public Integer call() throws IOException {
    try (var client = new Client(server, tls, authorities)) {
      var names = game.equals("all") ? client.listGames() : List.of("games/" + game);
      for (String name : names) {
        play(client, name);
      }
      return 0;
    } catch (StatusRuntimeException error) {
      System.err.println(Errors.describe(error));
      return 1;
    }
  }

  /** Plays a match of a game, and prints what it came to as one line of JSON. */
  private void play(Client client, String name) {
    client.forgetRetries();
    Game described = client.getGame(name);
    System.out.printf(
        "%s: %d cards, rules version %d%n",
        described.getTitle(), described.getCardsCount(), described.getRulesVersion());
    Seat seat =
        invitation != null
            ? client.joinMatch(invitation, displayName)
            : client.createMatch(described, seed, displayName);

    int decisions = 0;
    // --8<-- [start:watch]
    long newest = 0; // The version of the newest view that an answer has shown.
    try (var changes = seat.watch()) {
      for (var change = changes.next(); change != null; change = changes.next()) {
        View view = change.getView(); // Empty if the next change follows at once.
        if (view.getVersion() < newest || view.getLegalActionsCount() == 0) {
          continue; // From before this seat's last decision, or the other seat's turn.
        }
        var hint = seat.hint(iterations, seed);
        newest = seat.submit(view, hint.getAction());
        decisions++;
        System.out.printf(
            "decision %d at version %d, expected score %.2f%n",
            decisions, view.getVersion(), hint.getExpectedScore());
      }
    }
    // --8<-- [end:watch]

    // The match is over: its last view has the result.
    MatchResult result = seat.view().getResult();
    System.out.printf(
        "{\"game\": \"%s\", \"scores\": %s, \"reason\": \"%s\", \"decisions\": %d, \"retries\": %d,"
            + " \"resumes\": %d}%n",
        name.replace("games/", ""),
        result.getScoresList(),
        result.getReason().name().replace("END_REASON_", ""),
        decisions,
        client.retries(),
        client.resumes());
  }
}

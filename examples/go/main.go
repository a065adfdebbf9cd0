// Command croupier-client plays whole matches at a Croupier server: seat 0 for itself, by the hints
// of the server, against a bot.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	croupier "croupier.example/client/croupier/v1"
)

func main() {
	var options options
	flag.StringVar(&options.server, "server", "127.0.0.1:50051", "the server, as `HOST:PORT`")
	flag.BoolVar(&options.tls, "tls", false, "use TLS, and trust the authorities of this system")
	flag.StringVar(&options.ca, "ca", "", "use TLS, and trust the authorities in this PEM `FILE`")
	flag.StringVar(&options.name, "name", "", "the `NAME` that the other players see")
	flag.StringVar(&options.invitation, "join", "",
		"play in the match of this `INVITATION`, which is of --game and allows hints")
	game := flag.String("game", "all", "what to play: a `NAME` such as skystones, or all")
	seed := flag.Uint64("seed", 0, "make the match reproducible (for a server with --allow-seeds)")
	iterations := flag.Uint("iterations", 200, "how long to search for each hint")
	flag.Parse()
	options.iterations = uint32(*iterations)
	flag.Visit(func(given *flag.Flag) {
		if given.Name == "seed" {
			options.seed = seed
		}
	})

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, options, *game); err != nil {
		fmt.Fprintln(os.Stderr, describe(err))
		os.Exit(1)
	}
}

type options struct {
	server     string
	tls        bool
	ca         string
	name       string
	invitation string
	seed       *uint64
	iterations uint32
}

func run(ctx context.Context, options options, game string) error {
	client, err := dial(options)
	if err != nil {
		return err
	}
	defer client.connection.Close()

	names := []string{"games/" + game}
	if game == "all" {
		listed, err := client.catalog.ListGames(ctx, &croupier.ListGamesRequest{})
		if err != nil {
			return err
		}
		names = nil
		for _, each := range listed.Games {
			names = append(names, each.Name)
		}
	}
	for _, name := range names {
		if err := play(ctx, client, name, options); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what a match came to, printed as one line of JSON.
type outcome struct {
	Game      string    `json:"game"`
	Scores    []float64 `json:"scores"`
	Reason    string    `json:"reason"`
	Decisions int       `json:"decisions"`
	Retries   int       `json:"retries"`
	Resumes   int       `json:"resumes"`
}

func play(ctx context.Context, client *client, name string, options options) error {
	client.retries, client.resumes = 0, 0
	described, err := client.catalog.GetGame(ctx, &croupier.GetGameRequest{Name: name})
	if err != nil {
		return err
	}
	game := described.Game
	fmt.Printf("%s: %d cards, rules version %d\n", game.Title, len(game.Cards), game.RulesVersion)
	var match *match
	if options.invitation != "" {
		match, err = client.join(ctx, options)
	} else {
		match, err = client.create(ctx, game, options)
	}
	if err != nil {
		return err
	}

	decisions := 0
	// --8<-- [start:watch]
	for change, err := range match.watch(ctx) {
		if err != nil {
			return err
		}
		view := change.View // Not set if the next change follows at once.
		if view == nil || view.Version < match.version || len(view.LegalActions) == 0 {
			continue // The other seat's turn, or a view from before this seat's last decision.
		}
		hint, err := match.hint(ctx, options)
		if err != nil {
			return err
		}
		if err := match.submit(ctx, view, hint.Action); err != nil {
			return err
		}
		decisions++
		fmt.Printf("decision %d at version %d, expected score %.2f\n",
			decisions, view.Version, hint.ExpectedScore)
	}
	// --8<-- [end:watch]

	// The match is over: its last view has the result.
	last, err := client.matches.GetView(match.authorize(ctx), &croupier.GetViewRequest{Name: match.name})
	if err != nil {
		return err
	}
	line, err := json.Marshal(outcome{
		Game:      strings.TrimPrefix(name, "games/"),
		Scores:    last.View.Result.Scores,
		Reason:    strings.TrimPrefix(last.View.Result.Reason.String(), "END_REASON_"),
		Decisions: decisions,
		Retries:   client.retries,
		Resumes:   client.resumes,
	})
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

// Command client plays a whole match at a Croupier server by its hints, against a bot.
package main

// The stubs are made of the schemas that `croupier schema --plain --output ../schemas` writes. The
// generators are those that go.mod pins; protoc must be in the PATH.
//go:generate sh -c "protoc -I ../schemas --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$(go tool -n protoc-gen-go-grpc) --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative ../schemas/croupier/v1/*.proto"

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "croupier.example/client/croupier/v1"
)

var (
	server           = flag.String("server", "127.0.0.1:50051", "the server, as `HOST:PORT`")
	useTLS           = flag.Bool("tls", false, "use TLS, and trust the authorities of this system")
	ca               = flag.String("ca", "", "use TLS, and trust the authorities in this PEM `FILE`")
	myName           = flag.String("name", "", "the `NAME` that the other players see")
	invitation       = flag.String("join", "", "play in the match of this `INVITATION`, which is of --game and allows hints")
	game             = flag.String("game", "skystones", "what to play: the `NAME` of a game")
	seed             = flag.Uint64("seed", 0, "if not 0, make the match reproducible (for a server with --allow-seeds)")
	iterations       = flag.Uint("iterations", 200, "how long to search for each hint")
	retries, resumes int // How often a call was repeated, and a stream resumed.
)

func main() {
	flag.Parse()
	if *seed == 0 {
		seed = nil
	}
	// --8<-- [start:connect]
	secure := insecure.NewCredentials()
	if *ca != "" {
		secure = must(credentials.NewClientTLSFromFile(*ca, ""))
	} else if *useTLS {
		secure = credentials.NewTLS(nil)
	}
	// A call waits until its connection is tried again, besides its own pause.
	reconnect := backoff.Config{BaseDelay: time.Second, Multiplier: 1, Jitter: 0.2, MaxDelay: time.Second}
	connection := must(grpc.NewClient(*server,
		grpc.WithTransportCredentials(secure),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect}),
		// Notice a server that has vanished in silence, also while a stream waits.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 8 * time.Second}),
		grpc.WithUnaryInterceptor(persist),
	))
	matches, hints := pb.NewMatchServiceClient(connection), pb.NewHintServiceClient(connection)
	catalog := pb.NewCatalogServiceClient(connection)
	// --8<-- [end:connect]

	ctx := context.Background()
	described := must(catalog.GetGame(ctx, &pb.GetGameRequest{Name: "games/" + *game}))
	var match, token string
	if *invitation != "" {
		joined := must(matches.JoinMatch(ctx, &pb.JoinMatchRequest{
			Invitation:  *invitation,
			DisplayName: *myName,
			RequestId:   uuid.NewString(), // A repeated call then gets the same token.
		}))
		match, token = joined.Name, joined.SeatToken.Token
	} else {
		// --8<-- [start:create]
		me := &pb.SeatConfig{Occupant: &pb.SeatConfig_Open{Open: &pb.OpenSeat{}}, DisplayName: *myName}
		bot := &pb.Bot{Strength: pb.BotStrength_BOT_STRENGTH_CASUAL}
		created := must(matches.CreateMatch(ctx, &pb.CreateMatchRequest{
			Ruleset:   described.Game.DefaultRuleset,
			Seats:     []*pb.SeatConfig{me, {Occupant: &pb.SeatConfig_Bot{Bot: bot}}},
			Seed:      seed,
			RequestId: uuid.NewString(), // A repeated call then creates no second match.
		}))
		// There is one token for each open seat, and only seat 0 is open.
		match, token = created.Name, created.SeatTokens[0].Token
		// --8<-- [end:create]
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)

	decisions, newest := 0, uint64(0) // The version of the newest view that an answer has shown.
	var last *pb.View
	watch(ctx, matches, match, func(view *pb.View) {
		last = view
		if view.Version < newest || len(view.LegalActions) == 0 {
			return // From before this seat's last decision, or the other seat's turn.
		}
		// --8<-- [start:hint]
		// The server searches with what the seat knows.
		suggested := must(hints.SuggestAction(ctx, &pb.SuggestActionRequest{Search: &pb.Search{
			Position: &pb.Search_MatchName{MatchName: match},
			Effort:   &pb.Search_Limits{Limits: &pb.SearchLimits{Iterations: uint32(*iterations)}},
			Seed:     seed,
		}}))
		// --8<-- [end:hint]
		// --8<-- [start:submit]
		submitted, err := matches.SubmitAction(ctx, &pb.SubmitActionRequest{
			Name:            match,
			ExpectedVersion: proto.Uint64(view.Version),
			Action:          suggested.Hint.Action,
			RequestId:       uuid.NewString(), // A repeated call then counts once.
		})
		if reason, _ := explain(err); reason == "STALE_VERSION" {
			return // The match has gone on. The stream shows the newer view.
		}
		newest = must(submitted, err).View.Version
		// --8<-- [end:submit]
		decisions++
		fmt.Printf("decision %d at version %d\n", decisions, view.Version)
	})

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"game": *game, "scores": last.Result.Scores, "decisions": decisions, "retries": retries,
		"resumes": resumes, "reason": strings.TrimPrefix(last.Result.Reason.String(), "END_REASON_"),
	}))
}

// --8<-- [start:watch]
// watch calls decide with every view of the match until it is over. When the stream breaks or falls silent,
// it is resumed after the last version that came.
func watch(ctx context.Context, matches pb.MatchServiceClient, match string, decide func(*pb.View)) {
	request := &pb.WatchMatchRequest{Name: match, HeartbeatInterval: durationpb.New(5 * time.Second)}
	check(repeat(&resumes, func(answered func()) error {
		attempt, end := context.WithCancel(ctx)
		defer end()
		stream, err := matches.WatchMatch(attempt, request)
		silence := 24 * time.Hour // Until the server has proved that it is up to date.
		for err == nil {
			// A proxy can lose the server without a word, and keep its connection to this client.
			alarm := time.AfterFunc(silence, end)
			var change *pb.WatchMatchResponse
			change, err = stream.Recv()
			alarm.Stop()
			if err == io.EOF {
				return nil // The match is over.
			} else if err != nil {
				return err
			}
			answered()
			request.AfterVersion = proto.Uint64(change.Version)
			if change.UpToDate {
				silence = 12500 * time.Millisecond // 2.5 heartbeats.
			} else if change.View != nil { // Else the next change follows at once.
				decide(change.View)
			}
		}
		return err
	}))
}

// --8<-- [end:watch]

// --8<-- [start:retry]
// persist gives each attempt of a call a deadline, and repeats the call until the server answers. It
// may: the requests of this client change nothing, or have a request id.
func persist(ctx context.Context, method string, request, reply any,
	connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	timeout := 30 * time.Second
	if strings.HasSuffix(method, "/SuggestAction") {
		timeout += 60 * time.Second // The longest search of a server.
	}
	return repeat(&retries, func(func()) error {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return invoke(attempt, method, request, reply, connection, options...)
	})
}

// repeat makes attempts until one succeeds, or its error will not pass. An attempt calls answered()
// when the server has answered, so that the time starts over.
func repeat(count *int, attempt func(answered func()) error) error {
	nextPause, until := time.Duration(0), time.Time{} // Not set before a failure.
	answered := func() { nextPause, until = 100*time.Millisecond, time.Time{} }
	for answered(); ; *count++ {
		err := attempt(answered)
		reason, pause := explain(err)
		temporary := false
		switch status.Code(err) {
		case codes.Unavailable: // The server says so, or nobody is there.
			temporary = !strings.Contains(err.Error(), "failed to verify certificate")
		case codes.Internal, codes.Unknown, codes.Canceled, codes.DeadlineExceeded:
			temporary = reason == "" // The connection was lost, or a proxy has lost the server.
		case codes.ResourceExhausted:
			temporary = reason != "" && pause > 0
		}
		if pause == 0 { // A fifth more or less, so that the clients of a lost server come back apart.
			pause = time.Duration(float64(nextPause) * (0.8 + 0.4*rand.Float64()))
			nextPause = min(2*nextPause, 2*time.Second)
		}
		if until.IsZero() {
			until = time.Now().Add(30 * time.Second)
		}
		if !temporary || time.Now().Add(pause).After(until) {
			return err
		}
		time.Sleep(pause)
	}
}

// --8<-- [end:retry]

// --8<-- [start:errors]
// explain returns why the server refused a call, such as "STALE_VERSION", or "" if it was not the
// server who said so; and after which delay the call may succeed, if that is known.
func explain(err error) (reason string, delay time.Duration) {
	for _, each := range status.Convert(err).Details() {
		switch detail := each.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain == "croupier.v1" {
				reason = detail.Reason
			}
		case *errdetails.RetryInfo:
			delay = detail.RetryDelay.AsDuration()
		}
	}
	return reason, delay
}

// check ends the program with all that an error came with: fields at fault, quotas, when to try again.
func check(err error) {
	if err != nil {
		log.Fatalf("%v\n%v", err, prototext.Format(status.Convert(err).Proto()))
	}
}

func must[T any](result T, err error) T {
	check(err)
	return result
}

// --8<-- [end:errors]

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	croupier "croupier.example/client/croupier/v1"
)

const (
	heartbeat  = 5 * time.Second
	maxSilence = heartbeat * 5 / 2
)

// client calls the services of one server. One goroutine uses it.
type client struct {
	connection *grpc.ClientConn
	catalog    croupier.CatalogServiceClient
	matches    croupier.MatchServiceClient
	hints      croupier.HintServiceClient
	retries    int // How often a call was repeated,
	resumes    int // and how often a stream was resumed.
}

// --8<-- [start:connect]
// dial returns a client that connects with its first call.
func dial(options options) (*client, error) {
	secure := insecure.NewCredentials()
	if options.ca != "" {
		var err error
		if secure, err = credentials.NewClientTLSFromFile(options.ca, ""); err != nil {
			return nil, err
		}
	} else if options.tls {
		secure = credentials.NewTLS(nil)
	}
	reconnect := backoff.DefaultConfig
	reconnect.MaxDelay = time.Second // A call waits for the next attempt, besides its own pause.
	client := &client{}
	connection, err := grpc.NewClient(options.server,
		grpc.WithTransportCredentials(secure),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect}),
		// Notice a server that has vanished in silence, also while a stream waits.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:    20 * time.Second,
			Timeout: 8 * time.Second,
		}),
		grpc.WithUnaryInterceptor(client.persist),
	)
	if err != nil {
		return nil, err
	}
	client.connection = connection
	client.catalog = croupier.NewCatalogServiceClient(connection)
	client.matches = croupier.NewMatchServiceClient(connection)
	client.hints = croupier.NewHintServiceClient(connection)
	return client, nil
}

// --8<-- [end:connect]

// match is a match with the token of this client's seat.
type match struct {
	client  *client
	name    string
	token   string
	version uint64 // Of the newest view that an answer to submit has shown.
}

// --8<-- [start:create]
// create creates a match with the default ruleset: this client against a bot.
func (c *client) create(ctx context.Context, game *croupier.Game, options options) (*match, error) {
	created, err := c.matches.CreateMatch(ctx, &croupier.CreateMatchRequest{
		Ruleset: game.DefaultRuleset,
		Seats: []*croupier.SeatConfig{
			{
				Occupant:    &croupier.SeatConfig_Open{Open: &croupier.OpenSeat{}},
				DisplayName: options.name,
			},
			{Occupant: &croupier.SeatConfig_Bot{
				Bot: &croupier.Bot{Strength: croupier.BotStrength_BOT_STRENGTH_CASUAL},
			}},
		},
		Seed:      options.seed,
		RequestId: uuid.NewString(), // A repeated call then creates no second match.
	})
	if err != nil {
		return nil, err
	}
	// There is one token for each open seat, and only seat 0 is open.
	return &match{client: c, name: created.Name, token: created.SeatTokens[0].Token}, nil
}

// join takes the seat that an invitation is for.
func (c *client) join(ctx context.Context, options options) (*match, error) {
	joined, err := c.matches.JoinMatch(ctx, &croupier.JoinMatchRequest{
		Invitation:  options.invitation,
		DisplayName: options.name,
		RequestId:   uuid.NewString(), // A repeated call then gets the same token.
	})
	if err != nil {
		return nil, err
	}
	return &match{client: c, name: joined.Name, token: joined.SeatToken.Token}, nil
}

// authorize returns a context whose calls speak for the seat.
func (m *match) authorize(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+m.token)
}

// --8<-- [end:create]

// watch yields every version of the match until it is over, or one error. When the stream breaks or
// falls silent, it is resumed after the last version that came.
func (m *match) watch(ctx context.Context) iter.Seq2[*croupier.WatchMatchResponse, error] {
	return func(yield func(*croupier.WatchMatchResponse, error) bool) {
		ctx, cancel := context.WithCancel(m.authorize(ctx))
		defer cancel() // Ends the stream if the loop was left early.
		request := &croupier.WatchMatchRequest{
			Name:              m.name,
			HeartbeatInterval: durationpb.New(heartbeat),
		}
		var losses patience
		for {
			attempt, end := context.WithCancel(ctx)
			stream, err := m.client.matches.WatchMatch(attempt, request)
			silence := time.Duration(math.MaxInt64) // An older server has no heartbeats.
			for err == nil {
				// A proxy can lose the server without a word, and keep its connection to this client.
				alarm := time.AfterFunc(silence, end)
				var change *croupier.WatchMatchResponse
				change, err = stream.Recv()
				alarm.Stop()
				if err != nil {
					break
				}
				request.AfterVersion = proto.Uint64(change.Version)
				losses = patience{} // The server has answered: the time starts over.
				if change.UpToDate {
					silence = maxSilence
				} else if !yield(change, nil) {
					return
				}
			}
			end()
			if errors.Is(err, io.EOF) {
				return // The match is over.
			}
			if err := losses.wait(ctx, err); err != nil {
				yield(nil, err)
				return
			}
			m.client.resumes++
		}
	}
}

// --8<-- [start:hint]
// hint asks what to play; the server searches with what the seat knows.
func (m *match) hint(ctx context.Context, options options) (*croupier.Hint, error) {
	response, err := m.client.hints.SuggestAction(m.authorize(ctx), &croupier.SuggestActionRequest{
		Search: &croupier.Search{
			Position: &croupier.Search_MatchName{MatchName: m.name},
			Effort: &croupier.Search_Limits{
				Limits: &croupier.SearchLimits{Iterations: options.iterations},
			},
			Seed: options.seed,
		},
	})
	if err != nil {
		return nil, err
	}
	return response.Hint, nil
}

// --8<-- [end:hint]

// --8<-- [start:submit]
// submit plays an action as the answer to a view.
func (m *match) submit(ctx context.Context, view *croupier.View, action *croupier.MatchAction) error {
	response, err := m.client.matches.SubmitAction(m.authorize(ctx), &croupier.SubmitActionRequest{
		Name:            m.name,
		ExpectedVersion: proto.Uint64(view.Version),
		Action:          action,
		RequestId:       uuid.NewString(), // A repeated call then counts once.
	})
	if reason(err) == "STALE_VERSION" {
		return nil // The match has gone on. The stream shows the newer view.
	}
	if err != nil {
		return fmt.Errorf("at version %d: %w", view.Version, err)
	}
	m.version = response.View.Version
	return nil
}

// --8<-- [end:submit]

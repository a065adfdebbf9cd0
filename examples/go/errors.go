package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	callTimeout   = 30 * time.Second
	searchTimeout = 60 * time.Second // Besides callTimeout: the longest search of a server.
	maxPatience   = 30 * time.Second
	firstPause    = 100 * time.Millisecond
	maxPause      = 2 * time.Second
)

// --8<-- [start:retry]
// persist is an interceptor that gives each attempt of a call a deadline, and repeats the call until
// the server answers. The requests of this client may all be repeated: they change nothing, or have
// a request id.
func (c *client) persist(ctx context.Context, method string, request, reply any,
	connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	timeout := callTimeout
	if strings.HasSuffix(method, "/SuggestAction") {
		timeout += searchTimeout
	}
	var losses patience
	for {
		attempt, cancel := context.WithTimeout(ctx, timeout)
		err := invoke(attempt, method, request, reply, connection, options...)
		cancel()
		if err == nil {
			return nil
		}
		if err := losses.wait(ctx, err); err != nil {
			return err
		}
		c.retries++
	}
}

// patience says how long to wait between attempts; the zero value is for a first failure.
type patience struct {
	pause time.Duration
	until time.Time
}

// wait returns nil when it is time for the next attempt, and err if there should be none.
func (p *patience) wait(ctx context.Context, err error) error {
	if p.until.IsZero() {
		p.pause, p.until = firstPause, time.Now().Add(maxPatience)
	}
	pause, temporary := mayPass(err)
	if !temporary || ctx.Err() != nil {
		return err
	}
	if pause == 0 { // A fifth more or less, so that the clients of a lost server come back apart.
		pause = time.Duration(float64(p.pause) * (0.8 + 0.4*rand.Float64()))
		p.pause = min(2*p.pause, maxPause)
	}
	if time.Now().Add(pause).After(p.until) {
		return err
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return err
	}
}

// mayPass says whether the same call may succeed later, and after which delay if the server names it.
func mayPass(err error) (delay time.Duration, temporary bool) {
	status := status.Convert(err)
	if retry := detail[*errdetails.RetryInfo](status); retry != nil {
		delay = retry.RetryDelay.AsDuration()
	}
	if reason(err) != "" { // The server has answered.
		exhausted := status.Code() == codes.ResourceExhausted && delay > 0
		return delay, status.Code() == codes.Unavailable || exhausted
	}
	switch status.Code() { // The connection was lost, or a proxy has lost the server.
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.Canceled, codes.DeadlineExceeded:
		return delay, !strings.Contains(status.Message(), "failed to verify certificate")
	default:
		return 0, false
	}
}

// --8<-- [end:retry]

// --8<-- [start:errors]
// reason returns why the server refused a call, such as "STALE_VERSION", or "" if it was not the
// server who said so.
func reason(err error) string {
	info := detail[*errdetails.ErrorInfo](status.Convert(err))
	if info.GetDomain() != "croupier.v1" {
		return ""
	}
	return info.GetReason()
}

// detail returns the detail of a type that an error came with, or nil.
func detail[T any](status *status.Status) (none T) {
	for _, each := range status.Details() {
		if found, ok := each.(T); ok {
			return found
		}
	}
	return none
}

// describe says in lines of text what an error came with.
func describe(err error) string {
	status := status.Convert(err)
	lines := []string{fmt.Sprintf("%s: %s", status.Code(), status.Message())}
	for _, each := range status.Details() {
		switch detail := each.(type) {
		case *errdetails.ErrorInfo:
			lines = append(lines, fmt.Sprintf("  reason %s %v", detail.Reason, detail.Metadata))
		case *errdetails.BadRequest:
			for _, field := range detail.FieldViolations {
				lines = append(lines, fmt.Sprintf("  field %s: %s (%s)",
					field.Field, field.Description, field.Reason))
			}
		case *errdetails.QuotaFailure:
			for _, quota := range detail.Violations {
				lines = append(lines, fmt.Sprintf("  quota of %s: %s", quota.Subject, quota.Description))
			}
		case *errdetails.RetryInfo:
			lines = append(lines, fmt.Sprintf("  retry after %s", detail.RetryDelay.AsDuration()))
		}
	}
	return strings.Join(lines, "\n")
}

// --8<-- [end:errors]

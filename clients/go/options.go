package holdfast

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"os"
	"time"
)

// settings are the values of the options of Connect.
type settings struct {
	transport transport
	tokens    *tokens
	holderID  string
	metadata  map[string]string
	logger    *slog.Logger
	tracer    Tracer
	connect   time.Duration
	// isTokenInsecure: the caller accepts that others can read the token.
	isTokenInsecure bool
}

func newSettings(options []Option) settings {
	set := settings{
		tokens:  newTokens(nil),
		logger:  slog.Default(),
		tracer:  noTracer,
		connect: connectTimeout,
	}
	for _, option := range options {
		option(&set)
	}
	if set.logger == nil {
		set.logger = slog.Default()
	}
	set.tracer = harmless(set.tracer)
	return set
}

// check returns the error of texts that no session can start with.
func (s settings) check() error {
	if err := checkTexts("holder_id", s.holderID); err != nil {
		return err
	}
	if err := checkMetadata(s.metadata); err != nil {
		return err
	}
	return nil
}

// An Option changes how Connect works.
type Option func(*settings)

// WithTLS encrypts the connections. nil means the defaults, with the certificate
// authorities of the system. Default: no TLS.
func WithTLS(config *tls.Config) Option {
	if config == nil {
		config = &tls.Config{}
	}
	config = config.Clone()
	return func(s *settings) { s.transport.config = config }
}

// WithTLSFiles encrypts the connections. The PEM files are read again for each new
// connection, so a renewed certificate needs no restart. May be combined with
// WithTLS, which has the other values.
func WithTLSFiles(files TLSFiles) Option {
	return func(s *settings) { s.transport.files = files; s.transport.hasFiles = true }
}

// A Token is a bearer token.
type Token struct {
	Value string
	// ExpiresIn is the remaining life of the token. The client opens the next
	// session with a new token before its end, and 1 s after the one before at the
	// earliest. 0: the token does not end.
	ExpiresIn time.Duration
}

// WithInsecureToken allows a token without TLS to other machines. Anybody on the way
// can then use the token. Default: Connect refuses this.
func WithInsecureToken() Option {
	return func(s *settings) { s.isTokenInsecure = true }
}

// WithToken sends a fixed bearer token. A token needs TLS, except to the own machine.
func WithToken(token string) Option {
	return WithTokenSource(func(context.Context) (Token, error) { return Token{Value: token}, nil })
}

// WithTokenFile sends the bearer token in a file, which is read again for each new
// session and call.
func WithTokenFile(path string) Option {
	return WithTokenSource(func(context.Context) (Token, error) {
		text, err := os.ReadFile(path)
		return Token{Value: string(text)}, err
	})
}

// WithTokenSource sends the bearer token that source returns. The client calls
// source before each session and call, and once more after the server has refused
// a token. source may be called by several goroutines, should keep its token while
// the token is valid, and must return when its context ends: after 10 s for a
// session, and with the call for a call. The client goes on without an answer, and
// calls source at most 100 times at once.
func WithTokenSource(source func(context.Context) (Token, error)) Option {
	return func(s *settings) { s.tokens = newTokens(source) }
}

// WithHolderID sets a label of this process that other callers see. At most 256
// bytes. Default: empty.
func WithHolderID(id string) Option {
	return func(s *settings) { s.holderID = id }
}

// WithMetadata sets the metadata of each lease without metadata of its own. Other
// callers see the metadata.
func WithMetadata(metadata map[string]string) Option {
	metadata = maps.Clone(metadata)
	return func(s *settings) { s.metadata = metadata }
}

// WithLogger sets the logger. Default, also for nil: slog.Default(). The client logs a
// new session and a server that asks to leave at the level Info, an attached lease at
// Debug, and failed sessions, refusals, failed renewals and losses at Warn. No log has
// the id of a lease or a token.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) { s.logger = logger }
}

// WithConnectTimeout sets the longest time in which Connect waits for the answer of a
// server. Default: 10 s.
func WithConnectTimeout(limit time.Duration) Option {
	return func(s *settings) { s.connect = limit }
}

// A Tracer starts a span for an operation such as "lock" on a name, and returns
// the function that ends the span. Package holdfast.dev/go/holdfastotel makes one
// from an OpenTelemetry provider.
type Tracer func(ctx context.Context, operation, name string) (context.Context, func(error))

// WithTracer sets the tracer. Default: no spans.
func WithTracer(tracer Tracer) Option {
	return func(s *settings) { s.tracer = tracer }
}

// harmless wraps a tracer. A panic of the tracer leaves no span and no lease behind.
func harmless(tracer Tracer) Tracer {
	return func(ctx context.Context, operation, name string) (traced context.Context, end func(error)) {
		defer func() {
			if recover() != nil {
				traced, end = noTracer(ctx, operation, name)
			}
		}()
		traced, finish := tracer(ctx, operation, name)
		return traced, func(err error) {
			defer func() { _ = recover() }()
			finish(err)
		}
	}
}

func noTracer(ctx context.Context, _, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

package holdfast

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// TLSFiles are the paths of PEM files. An empty path means the default.
type TLSFiles struct {
	// CA has the certificate authorities of the servers. Default: those of the
	// system.
	CA string
	// Cert has the certificate of the client with its chain. Needs Key.
	Cert string
	Key  string
}

// transport says how a connection is protected.
type transport struct {
	config   *tls.Config
	files    TLSFiles
	hasFiles bool
}

// credentials returns the credentials of one connection. The files are read for each
// connection, so a renewed certificate needs no restart.
func (t transport) credentials() (credentials.TransportCredentials, error) {
	read, err := t.read()
	if err != nil {
		return nil, &Error{
			Reason:  "NO_CREDENTIAL",
			Code:    codes.Unauthenticated,
			Message: fmt.Sprintf("the connection has no certificate: %v", err),
			cause:   err,
		}
	}
	return read, nil
}

func (t transport) read() (credentials.TransportCredentials, error) {
	if !t.hasFiles {
		if t.config == nil {
			return insecure.NewCredentials(), nil
		}
		return credentials.NewTLS(t.config), nil
	}
	config := &tls.Config{}
	if t.config != nil {
		config = t.config.Clone()
	}
	if t.files.CA != "" {
		pem, err := os.ReadFile(t.files.CA)
		if err != nil {
			return nil, fmt.Errorf("the certificate authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", t.files.CA)
		}
	}
	if t.files.Cert != "" || t.files.Key != "" {
		pair, err := tls.LoadX509KeyPair(t.files.Cert, t.files.Key)
		if err != nil {
			// The cause does not name a file that is no PEM.
			return nil, fmt.Errorf("the certificate %q with the key %q: %w", t.files.Cert, t.files.Key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// refuseTokenWithoutTLS returns an error if a token would cross a network without
// TLS, where others can read and use the token. A loopback address is no network.
func refuseTokenWithoutTLS(addresses []string, set settings) error {
	hasTLS := set.transport.config != nil || set.transport.hasFiles
	if set.tokens.source == nil || hasTLS || set.isTokenInsecure {
		return nil
	}
	for _, address := range addresses {
		if !isLoopback(address) {
			return &Error{
				Reason: "TOKEN_WITHOUT_TLS",
				Code:   codes.Unauthenticated,
				Message: fmt.Sprintf("the token would go to %s without TLS, and anybody on the way could use it: "+
					"add WithTLS, or WithInsecureToken if the network itself is encrypted", address),
			}
		}
	}
	return nil
}

// isLoopback says whether the address leads to the own machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// withToken returns a context that adds the bearer token to its calls.
func withToken(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

package holdfast

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

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

// credentials returns the credentials of one connection.
func (t transport) credentials() (credentials.TransportCredentials, error) {
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
			return nil, fmt.Errorf("the certificate of the client: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

// withToken returns a context that adds the bearer token to its calls.
func withToken(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

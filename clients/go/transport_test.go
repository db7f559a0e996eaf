package holdfast

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestATokenGoesToAnotherMachineOnlyWithTLS(t *testing.T) {
	quick := []Option{
		WithConnectTimeout(time.Millisecond), WithToken("secret"),
		WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	}
	for address, isRefused := range map[string]bool{
		"192.0.2.1:50051": true, "example.com:50051": true, "[2001:db8::1]:50051": true,
		"localhost:50051": false, "127.0.0.2:50051": false, "[::1]:50051": false, "[::ffff:127.0.0.1]:50051": false,
	} {
		_, err := Connect(context.Background(), []string{"127.0.0.1:1", address}, quick...)
		var failed *Error
		if !errors.As(err, &failed) || (failed.Reason == "TOKEN_WITHOUT_TLS") != isRefused {
			t.Errorf("%s: error %v", address, err)
		}
		_, err = Connect(context.Background(), []string{address}, append(quick, WithInsecureToken())...)
		if !errors.As(err, &failed) || failed.Reason == "TOKEN_WITHOUT_TLS" {
			t.Errorf("%s with WithInsecureToken: error %v", address, err)
		}
	}
	if _, err := Connect(context.Background(), []string{"192.0.2.1:1"}, quick[0], quick[2]); errors.Is(err, ErrCredential) {
		t.Errorf("without a token: error %v", err)
	}
}

func TestAddressesMayBeListsWithCommas(t *testing.T) {
	for _, test := range []struct {
		given []string
		want  []string
	}{
		{[]string{"a:1"}, []string{"a:1"}},
		{[]string{"a:1, b:2", "c:3"}, []string{"a:1", "b:2", "c:3"}},
		{nil, nil},
		{[]string{""}, nil},
		{[]string{"a:1,"}, nil},
		{[]string{"[::1]:1"}, []string{"[::1]:1"}},
		{[]string{"a"}, nil},
		{[]string{":1"}, nil},
		{[]string{"a:0"}, nil},
		{[]string{"a:99999"}, nil},
		{[]string{"http://a:1"}, nil},
		{[]string{"a:1/"}, nil},
		{[]string{"unix:/run/holdfast.sock"}, nil},
	} {
		addresses, err := splitAddresses(test.given)
		if !slices.Equal(addresses, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%q: addresses %q, error %v", test.given, addresses, err)
		}
	}
}

func TestAFileThatIsMissingOrNoPEMIsACredentialErrorThatNamesIt(t *testing.T) {
	folder := t.TempDir()
	missing, text := filepath.Join(folder, "missing.pem"), filepath.Join(folder, "text.pem")
	if err := os.WriteFile(text, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key := certificateFiles(t, folder)
	for name, test := range map[string]struct {
		files TLSFiles
		named string
	}{
		"no authority":             {TLSFiles{CA: missing}, missing},
		"an authority without PEM": {TLSFiles{CA: text}, text},
		"a key as an authority":    {TLSFiles{CA: key}, key},
		"no certificate":           {TLSFiles{Cert: missing, Key: key}, missing},
		"a text as a certificate":  {TLSFiles{Cert: text, Key: key}, text},
		"no key":                   {TLSFiles{Cert: cert, Key: missing}, missing},
		"a text as a key":          {TLSFiles{Cert: cert, Key: text}, text},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transport{hasFiles: true, files: test.files}.credentials()
			if !errors.Is(err, ErrCredential) || !strings.Contains(err.Error(), test.named) {
				t.Errorf("error %v", err)
			}
		})
	}
	files := transport{hasFiles: true, files: TLSFiles{CA: cert, Cert: cert, Key: key}}
	if _, err := files.credentials(); err != nil {
		t.Errorf("files that are right: error %v", err)
	}
}

// certificateFiles writes a certificate and its key into the folder.
func certificateFiles(t *testing.T, folder string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(folder, name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("client.pem", "CERTIFICATE", der), write("client.key", "PRIVATE KEY", pkcs8)
}

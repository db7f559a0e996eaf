package dev.holdfast.client;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * TLS with certificates in PEM form. Files are read again for each connection, so a renewed
 * certificate needs no restart. Immutable: each method returns a copy.
 */
public final class Tls {
  private static final Tls SYSTEM = new Tls(null, null, null, null);

  private final @Nullable Pem authorities;
  private final @Nullable Pem certificate;
  private final @Nullable Pem key;
  private final @Nullable String serverName;

  private Tls(
      @Nullable Pem authorities,
      @Nullable Pem certificate,
      @Nullable Pem key,
      @Nullable String serverName) {
    this.authorities = authorities;
    this.certificate = certificate;
    this.key = key;
    this.serverName = serverName;
  }

  /** TLS with the certificate authorities of the Java runtime. */
  public static Tls system() {
    return SYSTEM;
  }

  /** The file of the certificate authorities of the servers. */
  public Tls authorities(Path file) {
    return new Tls(Pem.of(file), certificate, key, serverName);
  }

  /** The certificate authorities of the servers. */
  public Tls authorities(byte[] pem) {
    return new Tls(Pem.of(pem), certificate, key, serverName);
  }

  /** The files of the client's certificate with its chain, and of its key in PKCS #8 form. */
  public Tls clientCertificate(Path certificateFile, Path keyFile) {
    return new Tls(authorities, Pem.of(certificateFile), Pem.of(keyFile), serverName);
  }

  /** The client's certificate with its chain, and its key in PKCS #8 form. */
  public Tls clientCertificate(byte[] certificatePem, byte[] keyPem) {
    return new Tls(authorities, Pem.of(certificatePem), Pem.of(keyPem), serverName);
  }

  /** The name in the server's certificate, if it differs from the address. For tests. */
  public Tls serverName(String name) {
    return new Tls(authorities, certificate, key, name);
  }

  @Nullable String serverName() {
    return serverName;
  }

  /** The file of the key. */
  @Nullable String keyName() {
    return key == null ? null : key.name();
  }

  ChannelCredentials credentials() throws IOException {
    // Reads all files before the first parse, because the first parse of a process is slow.
    byte[] trusted = authorities == null ? new byte[0] : authorities.certificates();
    byte[] own = certificate == null ? new byte[0] : certificate.certificates();
    byte[] ownKey = key == null ? new byte[0] : key.key();
    TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
    if (authorities != null) {
      builder.trustManager(authorities.parsed(trusted));
    }
    if (certificate != null) {
      builder.keyManager(certificate.parsed(own), new ByteArrayInputStream(ownKey));
    }
    return builder.build();
  }
}

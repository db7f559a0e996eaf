package dev.holdfast.client;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * TLS with certificates in PEM form. Files are read again for each connection, so a renewed
 * certificate needs no restart. Immutable: each method returns a copy.
 */
public final class Tls {
  private interface Pem {
    byte[] read() throws IOException;
  }

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
    return new Tls(() -> Files.readAllBytes(file), certificate, key, serverName);
  }

  /** The certificate authorities of the servers. */
  public Tls authorities(byte[] pem) {
    byte[] copy = pem.clone();
    return new Tls(() -> copy, certificate, key, serverName);
  }

  /** The files of the client's certificate with its chain, and of its key in PKCS #8 form. */
  public Tls clientCertificate(Path certificateFile, Path keyFile) {
    return new Tls(
        authorities,
        () -> Files.readAllBytes(certificateFile),
        () -> Files.readAllBytes(keyFile),
        serverName);
  }

  /** The client's certificate with its chain, and its key in PKCS #8 form. */
  public Tls clientCertificate(byte[] certificatePem, byte[] keyPem) {
    byte[] certificateCopy = certificatePem.clone();
    byte[] keyCopy = keyPem.clone();
    return new Tls(authorities, () -> certificateCopy, () -> keyCopy, serverName);
  }

  /** The name in the server's certificate, if it differs from the address. For tests. */
  public Tls serverName(String name) {
    return new Tls(authorities, certificate, key, name);
  }

  @Nullable String serverName() {
    return serverName;
  }

  ChannelCredentials credentials() throws IOException {
    TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
    if (authorities != null) {
      builder.trustManager(new ByteArrayInputStream(authorities.read()));
    }
    if (certificate != null && key != null) {
      builder.keyManager(
          new ByteArrayInputStream(certificate.read()), new ByteArrayInputStream(key.read()));
    }
    return builder.build();
  }
}

package dev.holdfast.client;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.regex.Pattern;

/** Certificates or a key in PEM form. The errors name the file and the cause. */
final class Pem {
  private interface Source {
    byte[] read() throws IOException;
  }

  private static final Pattern CERTIFICATE = Pattern.compile("-BEGIN [^-\r\n]*CERTIFICATE");
  private static final Pattern KEY = Pattern.compile("-BEGIN [^-\r\n]*PRIVATE KEY");

  private final String name;
  private final Source source;

  private Pem(String name, Source source) {
    this.name = name;
    this.source = source;
  }

  /** A file, which is read again for each connection. */
  static Pem of(Path file) {
    return new Pem(file.toString(), () -> readFile(file));
  }

  static Pem of(byte[] text) {
    byte[] copy = text.clone();
    return new Pem("the given text", () -> copy);
  }

  /** The path of the file. */
  String name() {
    return name;
  }

  byte[] certificates() throws IOException {
    return read(CERTIFICATE, "certificate");
  }

  byte[] key() throws IOException {
    return read(KEY, "private key");
  }

  /** Refuses damaged certificates. */
  InputStream parsed(byte[] text) throws IOException {
    try {
      CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(text));
    } catch (CertificateException e) {
      throw new IOException(name + " has a damaged certificate: " + e.getMessage(), e);
    }
    return new ByteArrayInputStream(text);
  }

  static IllegalArgumentException unusableKey(String name, Exception cause) {
    String text = " has no usable private key: gRPC reads PKCS #8 without a password";
    return new IllegalArgumentException(name + text, cause);
  }

  private byte[] read(Pattern begin, String kind) throws IOException {
    byte[] text = source.read();
    if (!begin.matcher(new String(text, StandardCharsets.ISO_8859_1)).find()) {
      throw new IOException(name + " has no " + kind + " in PEM form");
    }
    return text;
  }

  /** Reads a file of a credential. */
  static byte[] readFile(Path file) throws IOException {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      // The text alone is often the path alone.
      throw new IOException(file + " cannot be read: " + e, e);
    }
  }
}

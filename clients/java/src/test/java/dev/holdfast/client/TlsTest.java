package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of certificates and tokens that are missing or damaged. */
class TlsTest {
  @TempDir Path folder;
  private Path missing;
  private Path text;

  @BeforeEach
  void write() throws IOException {
    missing = folder.resolve("missing.pem");
    text = Files.writeString(folder.resolve("text.pem"), "no PEM\n");
  }

  private static String failure(Tls tls) {
    return assertThrows(IOException.class, tls::credentials).getMessage();
  }

  @Test
  @DisplayName("the error of a missing file names the file and the cause")
  void missingFile() {
    String expected = missing + " cannot be read: java.nio.file.NoSuchFileException: " + missing;
    assertEquals(expected, failure(Tls.system().authorities(missing)));
    assertEquals(expected, failure(Tls.system().clientCertificate(missing, missing)));
    TokenSource source = TokenSource.file(missing);
    assertEquals(expected, assertThrows(IOException.class, source::fetch).getMessage());
  }

  @Test
  @DisplayName("the error of a file without PEM names the file and the missing part")
  void noPem() throws IOException {
    assertEquals(text + " has no certificate in PEM form", failure(Tls.system().authorities(text)));
    assertEquals(
        "the given text has no certificate in PEM form",
        failure(Tls.system().authorities(new byte[] {1, 2})));
    Path key = folder.resolve("key.pem");
    Files.writeString(key, "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n");
    assertEquals(
        key + " has no certificate in PEM form", failure(Tls.system().clientCertificate(key, key)));
    IOException error = assertThrows(IOException.class, () -> Pem.of(text).key());
    assertEquals(text + " has no private key in PEM form", error.getMessage());
  }

  @Test
  @DisplayName("the error of a damaged certificate names the file")
  void damaged() throws IOException {
    Files.writeString(text, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    String error = failure(Tls.system().authorities(text));
    assertTrue(error.startsWith(text + " has a damaged certificate: "), error);
  }

  @Test
  @DisplayName("a missing key is found before the certificates are parsed")
  void missingKey() throws IOException {
    Files.writeString(text, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    String error = failure(Tls.system().authorities(text).clientCertificate(text, missing));
    assertTrue(error.startsWith(missing + " cannot be read: "), error);
  }

  @Test
  @DisplayName("a token file is read again for each token")
  void tokenFile() throws Exception {
    TokenSource source = TokenSource.file(text);
    Files.writeString(text, "first\n");
    assertEquals("first", source.fetch().value());
    Files.write(text, "second".getBytes(StandardCharsets.UTF_8));
    assertEquals("second", source.fetch().value());
  }
}

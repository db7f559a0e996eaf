package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ConnectTest {
  @Test
  @DisplayName("a failed connect has a cause, which names the server that was asked")
  void cause() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 5, InetAddress.getLoopbackAddress())) {
      String address = "127.0.0.1:" + silent.getLocalPort();
      HoldfastBuilder builder =
          Holdfast.builder(address).connectTimeout(Duration.ofMillis(1200));
      UnavailableException failed = assertThrows(UnavailableException.class, builder::connect);
      Throwable cause = assertInstanceOf(UnavailableException.class, failed.getCause());
      assertEquals("no server answered in time: " + cause.getMessage(), failed.getMessage());
    }
  }
}

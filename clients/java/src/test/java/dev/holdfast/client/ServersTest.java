package dev.holdfast.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ServersTest {
  private List<String> found = List.of();

  private InetAddress[] find(String host) throws Exception {
    InetAddress[] all = new InetAddress[found.size()];
    for (int i = 0; i < all.length; i++) {
      all[i] = InetAddress.getByName(found.get(i));
    }
    return all;
  }

  private Servers servers(String... given) {
    return new Servers(List.of(given), this::find, Runnable::run);
  }

  private static List<String> take(Servers servers, int count) throws InterruptedException {
    List<String> taken = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      taken.add(servers.next().server.address);
    }
    return taken;
  }

  @Test
  @DisplayName("each address of a name has its turn, and the families take turns")
  void turns() throws InterruptedException {
    found = List.of("10.0.0.1", "10.0.0.2", "fd00::1");
    Servers servers = servers("servers.test:7");
    List<String> first = take(servers, 3);
    assertEquals(first, take(servers, 3));
    assertEquals("[fd00:0:0:0:0:0:0:1]:7", first.get(1));
    assertEquals(Set.of("10.0.0.1:7", "10.0.0.2:7", first.get(1)), Set.copyOf(first));
  }

  @Test
  @DisplayName("a name is looked up anew, and keeps its addresses while it is not found")
  void anew() throws InterruptedException {
    found = List.of("10.0.0.1");
    Servers servers = servers("servers.test:7");
    take(servers, 5);
    found = List.of("10.0.0.1", "10.0.0.9");
    assertEquals(List.of("10.0.0.9:7", "10.0.0.1:7"), take(servers, 2));
    found = List.of();
    assertEquals(List.of("10.0.0.9:7"), take(servers, 1));
  }

  @Test
  @DisplayName("a name without an address is left to gRPC, as are addresses and localhost")
  void leftToGrpc() throws InterruptedException {
    Servers servers = servers("servers.test:7", "[::1]:8", "localhost:9", "10.1.1.1:10");
    for (String given : List.of("servers.test:7", "[::1]:8", "localhost:9", "10.1.1.1:10")) {
      Server next = servers.next().server;
      assertEquals(given, next.given);
      assertNull(next.address);
    }
  }

  @Test
  @DisplayName("a late lookup runs once, and serves the next connection")
  void lateLookup() throws Exception {
    CountDownLatch answer = new CountDownLatch(1);
    AtomicInteger begun = new AtomicInteger();
    HostName.Lookup late =
        host -> {
          begun.incrementAndGet();
          answer.await();
          return new InetAddress[] {InetAddress.getByName("10.0.0.1")};
        };
    List<Thread> threads = new ArrayList<>();
    Executor executor =
        work -> {
          Thread thread = Executors.defaultThreadFactory().newThread(work);
          threads.add(thread);
          thread.start();
        };
    Servers servers = new Servers(List.of("servers.test:7"), late, executor);
    assertNull(servers.next().server.address);
    assertNull(servers.next().server.address);
    assertEquals(1, threads.size());
    assertEquals(1, begun.get());
    answer.countDown();
    threads.get(0).join();
    assertEquals("10.0.0.1:7", servers.next().server.address);
  }

  @Test
  @DisplayName("the addresses share the time of connect")
  void shares() throws InterruptedException {
    long second = Durations.millis(1000);
    assertEquals(5 * second, HeartbeatPlan.shareOfConnect(10 * second, 1));
    assertEquals(3 * second, HeartbeatPlan.shareOfConnect(9 * second, 3));
    assertEquals(second, HeartbeatPlan.shareOfConnect(9 * second, 100));
    assertEquals(second, HeartbeatPlan.shareOfConnect(-second, 2));
    found = List.of("10.0.0.1", "10.0.0.2");
    Servers servers = servers("servers.test:7", "127.0.0.1:8");
    for (int left : new int[] {3, 2, 1, 3}) {
      assertEquals(left, servers.next().left);
    }
  }
}

package dev.holdfast.client;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** A name that may mean several servers, as that of a headless Service. Thread-safe. */
final class HostName {
  /** Finds the addresses of a host. May block. */
  interface Lookup {
    InetAddress[] find(String host) throws Exception;
  }

  private final String given;
  private final String host;
  private final String port;
  private @Nullable CompletableFuture<Void> running;

  /** Those of the last lookup that has found any, in random order. */
  private List<Server> servers;

  private HostName(String given) {
    this.given = given;
    int colon = given.lastIndexOf(':');
    this.host = given.substring(0, colon);
    this.port = given.substring(colon + 1);
    // The error of gRPC says why the name is not found.
    this.servers = List.of(new Server(given, null));
  }

  /**
   * Null if the host is not looked up here: both addresses of localhost are those of one server,
   * and a proxy looks names up itself.
   */
  static @Nullable HostName of(String given) {
    HostName name = new HostName(given);
    boolean isAddress = name.host.startsWith("[") || name.host.matches("[0-9.]+");
    return isAddress || Addresses.isLoopback(given) || name.hasProxy() ? null : name;
  }

  private boolean hasProxy() {
    ProxySelector selector = ProxySelector.getDefault();
    if (selector == null) {
      return false;
    }
    try {
      return selector.select(new URI("https://" + given)).stream()
          .anyMatch(proxy -> proxy.type() == Proxy.Type.HTTP);
    } catch (URISyntaxException | IllegalArgumentException e) {
      return false;
    }
  }

  synchronized List<Server> servers() {
    return servers;
  }

  /** Begins a lookup, unless one runs already. The future is completed at its end. */
  synchronized CompletableFuture<Void> lookUp(Lookup lookup, Executor executor) {
    CompletableFuture<Void> earlier = running;
    if (earlier != null) {
      return earlier;
    }
    CompletableFuture<Void> begun = new CompletableFuture<>();
    running = begun;
    try {
      executor.execute(
          () -> {
            InetAddress[] found = find(lookup);
            end(found);
            begun.complete(null);
          });
    } catch (RejectedExecutionException e) {
      running = null;
      begun.complete(null);
    }
    return begun;
  }

  private InetAddress[] find(Lookup lookup) {
    try {
      return lookup.find(host);
    } catch (Exception e) {
      return new InetAddress[0];
    }
  }

  /** A lookup that fails leaves the addresses of the one before. */
  private synchronized void end(InetAddress[] found) {
    running = null;
    List<Server> next = new ArrayList<>();
    for (InetAddress address : mixed(found)) {
      String text = address.getHostAddress();
      next.add(
          new Server(
              given, (address instanceof Inet6Address ? "[" + text + "]" : text) + ":" + port));
    }
    if (!next.isEmpty() && !new HashSet<>(next).equals(new HashSet<>(servers))) {
      servers = List.copyOf(next);
    }
  }

  /**
   * In random order, so that clients spread. The two families take turns and the resolver's first
   * one stays first, because one of them may lead nowhere.
   */
  private static List<InetAddress> mixed(InetAddress[] found) {
    List<InetAddress> first = new ArrayList<>();
    List<InetAddress> second = new ArrayList<>();
    for (InetAddress address : found) {
      boolean isFirst = (address instanceof Inet6Address) == (found[0] instanceof Inet6Address);
      (isFirst ? first : second).add(address);
    }
    Collections.shuffle(first);
    Collections.shuffle(second);
    List<InetAddress> mixed = new ArrayList<>();
    for (int i = 0; i < found.length; i++) {
      mixed.addAll(first.subList(Math.min(i, first.size()), Math.min(i + 1, first.size())));
      mixed.addAll(second.subList(Math.min(i, second.size()), Math.min(i + 1, second.size())));
    }
    return mixed;
  }
}

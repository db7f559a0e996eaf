import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The systems, with the default settings of their libraries. */
final class Systems {
    private static final int RETRY_MS = 100;
    private static final int CONNECT_TIMEOUT_MS = 30_000;

    private Systems() {}

    static Driver.Locks open(String system, String address, int ttlMs) throws InterruptedException {
        return system.equals("curator") ? curator(address, ttlMs) : redisson(system, address, ttlMs);
    }

    /** The version of the library, as its jar tells. */
    static String version(String system) throws IOException {
        String jar = system.equals("curator") ? "org.apache.curator/curator-recipes" : "org.redisson/redisson";
        Properties properties = new Properties();
        try (InputStream file = Systems.class.getResourceAsStream("/META-INF/maven/" + jar + "/pom.properties")) {
            properties.load(file);
        }
        return properties.getProperty("version");
    }

    private static Driver.Locks redisson(String system, String address, int ttlMs) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + address);
        RedissonClient client = Redisson.create(config);
        return name -> {
            RLock lock = system.equals("redisson-fair") ? client.getFairLock(name) : client.getLock(name);
            lock.lock(ttlMs, TimeUnit.MILLISECONDS);
            return new Driver.Held() {
                @Override
                public void release() {
                    lock.unlock();
                }

                @Override
                public boolean isHeld() {
                    return lock.isHeldByCurrentThread();
                }
            };
        };
    }

    private static Driver.Locks curator(String address, int ttlMs) throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(address)
                .sessionTimeoutMs(ttlMs)
                .connectionTimeoutMs(CONNECT_TIMEOUT_MS)
                .retryPolicy(new RetryForever(RETRY_MS))
                .build();
        AtomicInteger losses = new AtomicInteger();
        client.getConnectionStateListenable().addListener((unused, state) -> {
            if (!state.isConnected()) losses.incrementAndGet();
        });
        client.start();
        client.blockUntilConnected();
        return name -> {
            InterProcessMutex mutex = new InterProcessMutex(client, "/bench/" + name);
            mutex.acquire();
            int before = losses.get();
            return new Driver.Held() {
                @Override
                public void release() throws Exception {
                    mutex.release();
                }

                /** The documentation of Curator requires a listener of the connection's state. */
                @Override
                public boolean isHeld() {
                    return losses.get() == before && mutex.isAcquiredInThisProcess();
                }
            };
        };
    }
}

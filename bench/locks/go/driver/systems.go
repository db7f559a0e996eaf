package main

import (
	"context"
	"errors"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	holdfast "holdfast.dev/go"
)

const (
	// The interval of redislock's own example. redislock has no default.
	redislockRetry = 100 * time.Millisecond
	// Longer than every wait, because redislock gives up after a TTL without a deadline.
	longWait = time.Hour
	// redsync gives up after 32 tries by default. Its random delay between two tries is the default.
	redsyncTries = 1 << 30
)

var background = context.Background()

var systems = map[string]func(address string, ttl time.Duration) acquire{
	"holdfast-go": holdfastLocks,
	"redislock":   redislockLocks,
	"redsync":     redsyncLocks,
	"etcd":        etcdLocks,
}

var modules = map[string]string{
	"holdfast-go": "holdfast.dev/go",
	"redislock":   "github.com/bsm/redislock",
	"redsync":     "github.com/go-redsync/redsync/v4",
	"etcd":        "go.etcd.io/etcd/client/v3",
}

// The version of the library in this program.
func version(system string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == modules[system] {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

// The package holds all locks of the process in one session.
func holdfastLocks(address string, ttl time.Duration) acquire {
	client, err := holdfast.Connect(background, []string{address})
	must(err)
	return func(name string) held {
		lease, err := client.Lock(name, holdfast.WithTTL(ttl), holdfast.WithWait(longWait)).Acquire(background)
		must(err)
		return held{
			release: func() {
				if released, err := lease.Release(background); !released {
					must(errors.Join(errors.New("a lease was lost: the machine is too busy for this benchmark"), err))
				}
			},
			token:  strconv.FormatInt(lease.FencingToken(), 10),
			isHeld: func() bool { return lease.Check() == nil },
		}
	}
}

func redislockLocks(address string, ttl time.Duration) acquire {
	locker := redislock.New(redis.NewClient(&redis.Options{Addr: address}))
	return func(name string) held {
		waiting, cancel := context.WithTimeout(background, longWait)
		defer cancel()
		lock, err := locker.Obtain(waiting, name, ttl, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(redislockRetry),
		})
		must(err)
		return held{
			release: func() { must(lock.Release(background)) },
			isHeld: func() bool {
				left, err := lock.TTL(background)
				must(err)
				return left > 0
			},
		}
	}
}

func redsyncLocks(address string, ttl time.Duration) acquire {
	pool := goredis.NewPool(redis.NewClient(&redis.Options{Addr: address}))
	locker := redsync.New(pool)
	return func(name string) held {
		mutex := locker.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(redsyncTries))
		must(mutex.Lock())
		return held{
			release: func() {
				if ok, err := mutex.Unlock(); !ok {
					must(errors.Join(errors.New("redsync lost a lock"), err))
				}
			},
			isHeld: func() bool { return time.Now().Before(mutex.Until()) },
		}
	}
}

// Waiters of one process need sessions of their own, because a mutex names its place in the queue by its session.
func etcdLocks(address string, ttl time.Duration) acquire {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	must(err)
	idle := make(chan *concurrency.Session, 1000)
	session := func() *concurrency.Session {
		select {
		case one := <-idle:
			return one
		default:
			one, err := concurrency.NewSession(client, concurrency.WithTTL(int(ttl/time.Second)))
			must(err)
			return one
		}
	}
	return func(name string) held {
		own := session()
		mutex := concurrency.NewMutex(own, "/bench/"+name)
		must(mutex.Lock(background))
		return held{
			release: func() {
				must(mutex.Unlock(background))
				idle <- own
			},
			token: strconv.FormatInt(mutex.Header().Revision, 10),
			isHeld: func() bool {
				select {
				case <-own.Done():
					return false
				default:
					return true
				}
			},
		}
	}
}

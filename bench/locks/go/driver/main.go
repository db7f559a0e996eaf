// Program driver makes load on the locks of Go libraries. bench/locks/driver.ts describes its arguments and its lines.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// The locks of each client.
	locksEach = 100
	// The time between two writes of a holder.
	workEvery = 5 * time.Millisecond
)

// The lock of a holder.
type held struct {
	release func()
	// The fencing token, or "-" for a system without tokens.
	token string
	// Whether the library says that the lock is still held.
	isHeld func() bool
}

// Waits until the lock is granted.
type acquire func(name string) held

// The machine's monotonic clock, which is the same for all processes (ms).
func monotonicMs() float64 {
	var at unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &at))
	return float64(at.Nano()) / 1e6
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func milliseconds(word string) time.Duration {
	return time.Duration(number(word)) * time.Millisecond
}

func number(word string) int {
	value, err := strconv.Atoi(word)
	must(err)
	return value
}

// Answers the time of each acquire. Each client acquires and releases locks of its own in turn.
func alone(lock acquire, clients int, forTime time.Duration) string {
	var all sync.WaitGroup
	times := make([][]string, clients)
	end := time.Now().Add(forTime)
	for client := range clients {
		all.Go(func() {
			for turn := 0; time.Now().Before(end); turn++ {
				name := fmt.Sprintf("alone-%d-%d-%d", os.Getpid(), client, turn%locksEach)
				askedAt := monotonicMs()
				holder := lock(name)
				times[client] = append(times[client], fmt.Sprintf("%.4f", monotonicMs()-askedAt))
				holder.release()
			}
		})
	}
	all.Wait()
	var words []string
	for _, some := range times {
		words = append(words, some...)
	}
	return strings.Join(words, " ")
}

// Answers the times of each grant. A new waiter takes the place of a holder before the holder releases.
func contend(lock acquire, name string, waiters int, forTime, hold time.Duration) string {
	var all sync.WaitGroup
	var records sync.Mutex
	var words []string
	end := time.Now().Add(forTime)
	var wait func()
	wait = func() {
		askedAt := monotonicMs()
		holder := lock(name)
		grantedAt := monotonicMs()
		if time.Now().Before(end) {
			all.Go(wait)
			time.Sleep(hold)
		}
		releasedAt := monotonicMs()
		holder.release()
		records.Lock()
		defer records.Unlock()
		words = append(words, fmt.Sprintf("%.4f,%.4f,%.4f", askedAt, grantedAt, releasedAt))
	}
	for range waiters {
		all.Go(wait)
		time.Sleep(hold)
	}
	all.Wait()
	return strings.Join(words, " ")
}

// Acquires locks and holds them until the process ends. A holder writes every 5 ms without a look at the clock.
func hold(lock acquire, name string, count int) {
	for index := range count {
		go func() {
			holder := lock(fmt.Sprintf("%s-%d", name, index))
			for ; ; time.Sleep(workEvery) {
				fmt.Printf("write %d %t %s\n", index, holder.isHeld(), holder.token)
			}
		}()
	}
}

func main() {
	system, address, ttl := os.Args[1], os.Args[2], milliseconds(os.Args[3])
	lock := systems[system](address, ttl)
	fmt.Println("ready", os.Getpid(), version(system))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "alone":
			fmt.Println("done", alone(lock, number(words[1]), milliseconds(words[2])))
		case "contend":
			fmt.Println("done", contend(lock, words[1], number(words[2]), milliseconds(words[3]), milliseconds(words[4])))
		case "hold":
			hold(lock, words[1], number(words[2]))
		}
	}
}

// Program driver makes load on the locks of Go libraries. bench/locks/driver.ts describes its tasks.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
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
	// The fencing token in decimal digits, or empty for a system without tokens.
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

// A line of the input. Each task reads some of the fields.
type call struct {
	ID    int
	Task  string
	Input struct {
		System, Address, Name                         string
		TTLMs, Clients, Waiters, ForMs, HoldMs, Count int
	}
}

type grant struct {
	AskedAt    float64 `json:"askedAt"`
	GrantedAt  float64 `json:"grantedAt"`
	ReleasedAt float64 `json:"releasedAt"`
}

type write struct {
	Lock   int    `json:"lock"`
	IsHeld bool   `json:"isHeld"`
	Token  string `json:"token,omitempty"`
}

func reply(message map[string]any) {
	line, err := json.Marshal(message)
	must(err)
	fmt.Println(string(line))
}

func milliseconds(count int) time.Duration {
	return time.Duration(count) * time.Millisecond
}

func alone(lock acquire, clients int, forTime time.Duration) []float64 {
	var all sync.WaitGroup
	times := make([][]float64, clients)
	end := time.Now().Add(forTime)
	for client := range clients {
		all.Go(func() {
			for turn := 0; time.Now().Before(end); turn++ {
				name := fmt.Sprintf("alone-%d-%d-%d", os.Getpid(), client, turn%locksEach)
				askedAt := monotonicMs()
				holder := lock(name)
				times[client] = append(times[client], monotonicMs()-askedAt)
				holder.release()
			}
		})
	}
	all.Wait()
	return slices.Concat(times...)
}

func contend(lock acquire, name string, waiters int, forTime, hold time.Duration) []grant {
	var all sync.WaitGroup
	var records sync.Mutex
	grants := []grant{}
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
		grants = append(grants, grant{askedAt, grantedAt, releasedAt})
	}
	for range waiters {
		all.Go(wait)
		time.Sleep(hold)
	}
	all.Wait()
	return grants
}

// A holder writes every 5 ms without a look at the clock.
func hold(lock acquire, name string, count int) {
	for index := range count {
		go func() {
			holder := lock(fmt.Sprintf("%s-%d", name, index))
			for ; ; time.Sleep(workEvery) {
				reply(map[string]any{"event": write{index, holder.isHeld(), holder.token}})
			}
		}()
	}
}

func main() {
	var lock acquire
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var call call
		must(json.Unmarshal(lines.Bytes(), &call))
		input := call.Input
		var output any
		switch call.Task {
		case "open":
			lock = systems[input.System](input.Address, milliseconds(input.TTLMs))
			output = map[string]any{"pid": os.Getpid(), "version": version(input.System)}
		case "alone":
			output = alone(lock, input.Clients, milliseconds(input.ForMs))
		case "contend":
			output = contend(lock, input.Name, input.Waiters, milliseconds(input.ForMs), milliseconds(input.HoldMs))
		case "hold":
			hold(lock, input.Name, input.Count)
		}
		reply(map[string]any{"id": call.ID, "output": output})
	}
}

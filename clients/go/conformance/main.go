// The driver of the conformance kit of clients: clients/conformance/README.md.
// It reads one JSON object a line from stdin, and writes one a line to stdout.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync"
)

// A command is one line of stdin. A nil field is absent.
type command struct {
	ID               int64             `json:"id"`
	Do               string            `json:"do"`
	Of               int64             `json:"of"`
	Client           string            `json:"client"`
	Lease            string            `json:"lease"`
	As               string            `json:"as"`
	Name             string            `json:"name"`
	Addresses        []string          `json:"addresses"`
	Token            *string           `json:"token"`
	Tokens           []*string         `json:"tokens"`
	TokenExpiresInMs float64           `json:"token_expires_in_ms"`
	TokenFile        string            `json:"token_file"`
	HolderID         *string           `json:"holder_id"`
	TLS              *tlsFiles         `json:"tls"`
	ConnectMs        *float64          `json:"connect_ms"`
	TTLMs            *float64          `json:"ttl_ms"`
	WaitMs           *float64          `json:"wait_ms"`
	MaxHoldMs        *float64          `json:"max_hold_ms"`
	Mode             string            `json:"mode"`
	Metadata         map[string]string `json:"metadata"`
	Permits          *int              `json:"permits"`
	Limit            *int              `json:"limit"`
	ExactLimit       bool              `json:"exact_limit"`
	PageSize         int               `json:"page_size"`
	IgnoreCancel     bool              `json:"ignore_cancel"`
	Fail             *string           `json:"fail"`
	Election         string            `json:"election"`
	Value            string            `json:"value"`
	List             string            `json:"list"`
	Dictionary       string            `json:"dictionary"`
	Text             string            `json:"text"`
	EntryID          string            `json:"entry_id"`
	Entries          []entry           `json:"entries"`
	Query            string            `json:"query"`
	DebounceMs       *float64          `json:"debounce_ms"`
	Count            int               `json:"count"`
	InFlight         int               `json:"in_flight"`
}

type tlsFiles struct {
	CA         string `json:"ca"`
	Cert       string `json:"cert"`
	Key        string `json:"key"`
	ServerName string `json:"server_name"`
}

type entry struct {
	EntryID string      `json:"entry_id"`
	Text    string      `json:"text"`
	Weight  json.Number `json:"weight"`
}

// result is one line of stdout.
type result map[string]any

// A driver has what the commands have made, by the names of the case.
type driver struct {
	out sync.Mutex

	mu      sync.Mutex
	running map[int64]context.CancelFunc
	work    map[int64]chan *string
	clients map[string]*client
	leases  map[string]*lease
	fields  map[string]*field
}

type handler func(*driver, context.Context, command) (result, error)

var handlers = map[string]handler{
	"connect":           (*driver).connect,
	"lock":              (*driver).acquire,
	"try_lock":          (*driver).tryAcquire,
	"permits":           (*driver).acquire,
	"try_permits":       (*driver).tryAcquire,
	"check":             (*driver).check,
	"release":           (*driver).release,
	"update":            (*driver).update,
	"with_lock":         (*driver).withLock,
	"end_work":          (*driver).endWork,
	"cancel":            (*driver).cancel,
	"campaign":          (*driver).campaign,
	"update_value":      (*driver).updateValue,
	"leader":            (*driver).leader,
	"observe":           (*driver).observe,
	"add_recent":        (*driver).addRecent,
	"suggest_recents":   (*driver).suggestRecents,
	"create_dictionary": (*driver).createDictionary,
	"delete_dictionary": (*driver).deleteDictionary,
	"put":               (*driver).put,
	"import":            (*driver).importEntries,
	"suggest":           (*driver).suggest,
	"suggest_all":       (*driver).suggestAll,
	"record_selection":  (*driver).recordSelection,
	"type_ahead":        (*driver).typeAhead,
	"type":              (*driver).typeQuery,
	"server_info":       (*driver).serverInfo,
	"close":             (*driver).close,
	"leaks":             (*driver).leaks,
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	d := &driver{
		running: map[int64]context.CancelFunc{},
		work:    map[int64]chan *string{},
		clients: map[string]*client{},
		leases:  map[string]*lease{},
		fields:  map[string]*field{},
	}
	countAtStart()
	d.write(result{"ready": true, "language": "go", "protocol": 1})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			slog.Error("a line is no command", "error", err)
			os.Exit(1)
		}
		d.begin(c)
	}
	// The leases are left to the ends of their ttl.
	os.Exit(0)
}

// begin runs the command beside the others. A later command finds what begin has
// registered.
func (d *driver) begin(c command) {
	handle, known := handlers[c.Do]
	if !known {
		d.write(result{"id": c.ID, "unsupported": true})
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.running[c.ID] = cancel
	if c.Do == "with_lock" {
		d.work[c.ID] = make(chan *string, 1)
	}
	d.mu.Unlock()
	go func() {
		answer, err := handle(d, ctx, c)
		d.mu.Lock()
		delete(d.running, c.ID)
		delete(d.work, c.ID)
		d.mu.Unlock()
		if err != nil {
			answer = describe(ctx, err)
		}
		cancel()
		answer["id"] = c.ID
		d.write(answer)
	}()
}

func (d *driver) write(line result) {
	text, err := json.Marshal(line)
	if err != nil {
		slog.Error("a result is no JSON", "error", err)
		os.Exit(1)
	}
	d.out.Lock()
	defer d.out.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n'))
}

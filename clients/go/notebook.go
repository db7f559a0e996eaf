package holdfast

import (
	"context"
	"log/slog"
	"sync"
)

// maxNotes bounds the records that wait for a slow logger. Further records are left
// out.
const maxNotes = 1000

// A notebook passes records to the logger of the user, one after the other and in a
// goroutine of its own. A logger that blocks, panics, or uses the client harms no
// session.
type notebook struct {
	logger *slog.Logger

	mu    sync.Mutex
	notes []note
	// idle is closed when every note is written. nil: nothing is being written.
	idle chan struct{}
}

type note struct {
	level   slog.Level
	message string
	args    []any
}

func (n *notebook) add(level slog.Level, message string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// The level is asked later: also that is code of the user, and may not run here. Notes
	// for debugging leave half of the room to warnings.
	if len(n.notes) >= maxNotes || (level < slog.LevelInfo && len(n.notes) >= maxNotes/2) {
		return
	}
	n.notes = append(n.notes, note{level, message, args})
	if n.idle == nil {
		n.idle = make(chan struct{})
		go n.write(n.idle)
	}
}

func (n *notebook) write(idle chan struct{}) {
	defer close(idle)
	for {
		n.mu.Lock()
		notes := n.notes
		n.notes = nil
		if len(notes) == 0 {
			n.idle = nil
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
		for _, note := range notes {
			n.writeNote(note)
		}
	}
}

func (n *notebook) writeNote(note note) {
	// There is nowhere to report the panic of a logger.
	defer func() { _ = recover() }()
	n.logger.Log(context.Background(), note.level, note.message, note.args...)
}

// flush waits until every note is written or ctx ends.
func (n *notebook) flush(ctx context.Context) {
	n.mu.Lock()
	idle := n.idle
	n.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

package faults

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Inject is the middleware.
func (f *Faults) Inject(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if latency := f.latencyOf(r); latency > 0 && !f.wait(r, latency) {
			panic(http.ErrAbortHandler)
		}
		chosen, told := f.choose(r)
		if r.Method != http.MethodGet {
			for _, history := range told {
				history.beforeWrite(next, r)
			}
		}
		if chosen == nil {
			f.pass(told, next, w, r)
			return
		}
		rule := chosen.rule
		if rule.Delay > 0 && !f.wait(r, rule.Delay) {
			panic(http.ErrAbortHandler)
		}
		switch {
		case rule.Drop || rule.Reset || rule.Status != 0:
			f.fail(rule, next, w, r)
		case rule.changesAnswer():
			f.spoil(chosen, next, w, r)
		default:
			rule.tell()
			next.ServeHTTP(w, r)
		}
	})
}

// pass gives the true answer. Histories record the answer to a GET.
func (f *Faults) pass(told []*history, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || len(told) == 0 {
		next.ServeHTTP(w, r)
		return
	}
	given := keep(next, r)
	for _, history := range told {
		history.remember(r, given)
	}
	given.give(w)
}

// fail gives another answer, or none.
func (f *Faults) fail(rule Rule, next http.Handler, w http.ResponseWriter, r *http.Request) {
	if rule.AfterWork || rule.DuringWork {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	if !rule.AfterWork {
		rule.tell()
	}
	if rule.DuringWork {
		breakOff(w, rule.Reset)
		next.ServeHTTP(&discard{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	}
	if rule.AfterWork {
		next.ServeHTTP(&discard{header: http.Header{}}, r)
		rule.tell()
	}
	if rule.Drop || rule.Reset {
		breakOff(w, rule.Reset)
		// The server closes the connection and does not log that.
		panic(http.ErrAbortHandler)
	}
	rule.answer(w, r)
}

func (r Rule) tell() {
	if r.Then != nil {
		r.Then()
	}
}

// breakOff resets or closes the connection. If it cannot be taken over, the panic of the caller
// closes it.
func breakOff(w http.ResponseWriter, reset bool) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, is := connection.(interface{ SetLinger(int) error }); is && reset {
		_ = tcp.SetLinger(0) // a connection that is gone needs no reset
	}
	_ = connection.Close()
}

// wait reports whether the client is still connected after the delay.
func (f *Faults) wait(r *http.Request, delay time.Duration) bool {
	timer := f.clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-r.Context().Done():
		return false
	}
}

func (r Rule) answer(w http.ResponseWriter, asked *http.Request) {
	text := r.Body
	if text == "" && r.Worded {
		text = word(w.Header(), r.Status, asked)
	}
	for key, values := range r.Header {
		w.Header()[http.CanonicalHeaderKey(key)] = values
	}
	w.WriteHeader(r.Status)
	_, _ = io.WriteString(w, text) // the client may be gone
}

// spoil gives the true answer, but late, slow, truncated or outdated.
func (f *Faults) spoil(chosen *planted, next http.Handler, w http.ResponseWriter, r *http.Request) {
	rule := chosen.rule
	var given *kept
	if chosen.history != nil && r.Method == http.MethodGet {
		given = chosen.history.answer(next, r, rule.Lag)
	} else {
		given = keep(next, r)
	}
	if rule.Skew != 0 {
		given.body = skew(given.body, rule.Skew)
	}
	if rule.AnswerDelay > 0 && !f.wait(r, rule.AnswerDelay) {
		panic(http.ErrAbortHandler)
	}
	given.head(w)
	if rule.CutAfter > 0 && rule.CutAfter < len(given.body) {
		f.send(w, r, given.body[:rule.CutAfter], rule.BodyDelay)
		panic(http.ErrAbortHandler)
	}
	f.send(w, r, given.body, rule.BodyDelay)
}

// pieces is the number of pieces of a slow body.
const pieces = 10

// send writes a body in pieces, over the given time.
func (f *Faults) send(w http.ResponseWriter, r *http.Request, body []byte, taking time.Duration) {
	flush := func() { _ = http.NewResponseController(w).Flush() } // a client that is gone needs nothing
	if taking <= 0 {
		_, _ = w.Write(body)
		flush()
		return
	}
	flush()
	for i := range pieces {
		if !f.wait(r, taking/pieces) {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(body[len(body)*i/pieces : len(body)*(i+1)/pieces])
		flush()
	}
}

// discard drops an answer.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(text []byte) (int, error) { return len(text), nil }
func (d *discard) WriteHeader(int)                {}

// kept is a stored answer.
type kept struct {
	status int
	header http.Header
	body   []byte
}

// keep stores the answer of next.
func keep(next http.Handler, r *http.Request) *kept {
	answer := &kept{status: http.StatusOK, header: http.Header{}}
	next.ServeHTTP(answer, r)
	return answer
}

// head sends the status and the header.
func (k *kept) head(w http.ResponseWriter) {
	for key, values := range k.header {
		w.Header()[key] = values
	}
	if len(k.body) > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(k.body)))
	}
	w.WriteHeader(k.status)
}

// give sends the whole answer.
func (k *kept) give(w http.ResponseWriter) {
	k.head(w)
	_, _ = w.Write(k.body) // the client may be gone
}

// Header implements http.ResponseWriter.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter.
func (k *kept) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter.
func (k *kept) Write(text []byte) (int, error) {
	k.body = append(k.body, text...)
	return len(text), nil
}

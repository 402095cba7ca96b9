package faults

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// history is the memory of a lagging replica: the answers to GETs at some times, and the times of
// writes. It takes a sample of every answer and, before each write, of every URL that was read
// before.
type history struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	samples map[string][]sample // by caller and URL, the oldest first
	writes  []time.Time
}

type sample struct {
	at     time.Time
	answer *kept
}

// maxSamples of one URL and maxWrites are kept.
const (
	maxSamples = 200
	maxWrites  = 1000
)

func newHistory(clock clock.PassiveClock) *history {
	return &history{clock: clock, samples: map[string][]sample{}}
}

// key identifies the answers of a URL to a caller.
func key(r *http.Request) string { return r.Header.Get("X-Auth-Token") + " " + r.URL.RequestURI() }

// beforeWrite takes samples of all objects that the write may change: the object and the collection
// of its path, and everything that this caller has read before.
func (h *history) beforeWrite(next http.Handler, r *http.Request) {
	targets := []string{r.URL.Path, path.Dir(r.URL.Path)}
	h.mu.Lock()
	for known := range h.samples {
		token, target, _ := strings.Cut(known, " ")
		if token == r.Header.Get("X-Auth-Token") && !slices.Contains(targets, target) {
			targets = append(targets, target)
		}
	}
	h.mu.Unlock()
	for _, target := range targets {
		if asked := lookAt(r, target); asked != nil {
			h.remember(asked, keep(next, asked))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(h.writes, h.clock.Now())
	h.writes = h.writes[max(0, len(h.writes)-maxWrites):]
}

// lookAt returns a GET of the target by the caller of a request.
func lookAt(r *http.Request, target string) *http.Request {
	at, err := url.ParseRequestURI(target)
	if err != nil {
		return nil
	}
	asked := r.Clone(r.Context())
	asked.Method, asked.URL, asked.RequestURI = http.MethodGet, at, target
	asked.Body, asked.ContentLength = http.NoBody, 0
	return asked
}

func (h *history) remember(r *http.Request, answer *kept) {
	h.mu.Lock()
	defer h.mu.Unlock()
	samples := append(h.samples[key(r)], sample{h.clock.Now(), answer})
	h.samples[key(r)] = samples[max(0, len(samples)-maxSamples):]
}

// answer returns the answer that a GET would have got at the time of the lag before now. It is the
// present answer if nothing has changed since; else the last sample before that time; else the
// first one after it; else the present answer without newer objects.
func (h *history) answer(next http.Handler, r *http.Request, lag time.Duration) *kept {
	now := keep(next, r)
	then := h.clock.Now().Add(-lag)
	stale := h.staleAnswer(key(r), now, then)
	h.remember(r, now)
	return stale.clone()
}

func (h *history) staleAnswer(key string, now *kept, then time.Time) *kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := slices.ContainsFunc(h.writes, func(at time.Time) bool { return at.After(then) })
	if !written && !now.newerThan(then) {
		return now
	}
	var found *kept
	for _, s := range h.samples[key] {
		if s.at.After(then) && found != nil {
			break
		}
		found = s.answer
		if s.at.After(then) {
			break
		}
	}
	if found == nil {
		return now.without(then)
	}
	return found
}

func (k *kept) clone() *kept {
	return &kept{status: k.status, header: k.header.Clone(), body: slices.Clone(k.body)}
}

// timestamp finds created_at and updated_at.
const timestampPattern = `"(created_at|updated_at|created|updated)": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z?)"`

const secondFormat = "2006-01-02T15:04:05"

// newerThan reports whether the answer contains a change after a time.
func (k *kept) newerThan(then time.Time) bool {
	for _, match := range regexp.MustCompile(timestampPattern).FindAllSubmatch(k.body, -1) {
		at, err := time.Parse(secondFormat, string(match[2])+string(match[3]))
		if err == nil && at.After(then.UTC()) {
			return true
		}
	}
	return false
}

// without removes objects that were created after a time from a list. For such an object itself, it
// returns that it does not exist.
func (k *kept) without(then time.Time) *kept {
	var body map[string]any
	if json.Unmarshal(k.body, &body) != nil {
		return k
	}
	for name, value := range body {
		switch value := value.(type) {
		case []any:
			body[name] = slices.DeleteFunc(value, func(member any) bool { return madeAfter(member, then) })
		case map[string]any:
			if madeAfter(value, then) {
				return &kept{
					status: http.StatusNotFound, header: http.Header{"Content-Type": {"application/json"}}, body: []byte("{}"),
				}
			}
		}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return k
	}
	return &kept{status: k.status, header: k.header, body: encoded}
}

func madeAfter(object any, then time.Time) bool {
	attributes, _ := object.(map[string]any)
	text, _ := attributes["created_at"].(string)
	made, err := time.Parse(secondFormat, strings.TrimSuffix(text, "Z"))
	return err == nil && made.After(then.UTC())
}

// skew shifts the times in an answer, and keeps their format.
func skew(body []byte, by time.Duration) []byte {
	pattern := regexp.MustCompile(timestampPattern)
	return pattern.ReplaceAllFunc(body, func(found []byte) []byte {
		match := pattern.FindSubmatch(found)
		at, err := time.Parse(secondFormat, string(match[2]))
		if err != nil {
			return found
		}
		return []byte(strings.Replace(string(found), string(match[2]), at.Add(by).Format(secondFormat), 1))
	})
}

package state

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Warnings are hashes of the last warning about each subject of a Service. They never change once they are in a Store.
type Warnings struct {
	hashes hashes
	// recalled is set if they include those of the last process.
	recalled bool
}

// Warn records the current warning about a subject of the Service, "" for none, and reports whether
// to send it: it differs from the last one. The author of a Service controls the number of
// warnings, and too many events get lost.
func (e *Entry) Warn(subject, text string) (send bool) {
	var changed bool
	if e.Warnings.hashes, changed = e.Warnings.hashes.with(subject, text); !changed {
		return false
	}
	if e.Applied != nil && e.Applied.Persisted.Record { // without this warning
		applied := *e.Applied
		applied.Persisted.Record = false
		e.Applied = &applied
	}
	return text != ""
}

// Announce records the next change of a subject of the Service, and reports whether to announce it:
// it differs from the last one, or the Service has had its desired state since. A failing change is
// retried without limit, and each attempt has its own event.
func (e *Entry) Announce(subject, change string) (say bool) {
	e.announced, say = e.announced.with(subject, change)
	return say
}

// hashes are hashes of texts by their subjects.
type hashes map[string]uint64

// with returns the hashes with that of a text on a subject, none for "", and whether this one has changed. It returns
// nil if there are none.
func (h hashes) with(subject, text string) (now hashes, changed bool) {
	last, known := h[subject]
	if text == "" {
		if !known {
			return h, false
		}
		if now = maps.Clone(h); len(now) == 1 {
			return nil, true
		}
		delete(now, subject)
		return now, true
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text)) // never fails
	sum := hash.Sum64()
	if known && last == sum {
		return h, false
	}
	return h.set(subject, sum), true
}

func (h hashes) set(subject string, sum uint64) hashes {
	now := maps.Clone(h)
	if now == nil {
		now = hashes{}
	}
	now[subject] = sum
	return now
}

// About reports whether there is a current warning about a subject.
func (w Warnings) About(subject string) bool {
	_, warned := w.hashes[subject]
	return warned
}

// String returns a word for the warnings, such as "nodes:9ae16a3b2f90404f,settings:c3a5c85c97cb3127"; "" for none.
func (w Warnings) String() string {
	words := make([]string, 0, len(w.hashes))
	for subject, sum := range w.hashes {
		words = append(words, fmt.Sprintf("%s:%016x", subject, sum))
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// Recall records the warnings that the last process has sent, in the format of String, so
// that they are not sent again. Only the first call counts.
func (w *Warnings) Recall(word string) {
	if word == "" || w.recalled {
		return
	}
	w.recalled = true
	for part := range strings.SplitSeq(word, ",") {
		subject, text, _ := strings.Cut(part, ":")
		if sum, err := strconv.ParseUint(text, 16, 64); err == nil && !w.About(subject) {
			w.hashes = w.hashes.set(subject, sum)
		}
	}
}

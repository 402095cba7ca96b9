package state

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Warn records the current warning about a subject of a Service, "" for none, and reports whether
// to send it: it differs from the last one. The author of a Service controls the number of
// warnings, and too many events get lost.
func (s *Store) Warn(uid types.UID, subject, text string) (send bool) {
	s.update(uid, func(e *Entry) {
		var changed bool
		if e.warnings, changed = put(e.warnings, subject, text); !changed {
			return
		}
		send = text != ""
		if e.Applied != nil && e.Applied.Persisted.Record { // without this warning
			applied := *e.Applied
			applied.Persisted.Record = false
			e.Applied = &applied
		}
	})
	return send
}

// Announce records the next change of a subject of a Service, and reports whether to announce it:
// it differs from the last one, or the Service has had its desired state since. A failing change is
// retried without limit, and each attempt has its own event.
func (s *Store) Announce(uid types.UID, subject, change string) (say bool) {
	s.update(uid, func(e *Entry) { e.announced, say = put(e.announced, subject, change) })
	return say
}

// put sets the hash of the text on a subject, none for "". It returns the hashes, nil if there are
// none, and whether this one has changed.
func put(hashes map[string]uint64, subject, text string) (now map[string]uint64, changed bool) {
	last, known := hashes[subject]
	if text == "" {
		if delete(hashes, subject); len(hashes) == 0 {
			hashes = nil
		}
		return hashes, known
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text)) // never fails
	sum := hash.Sum64()
	if known && last == sum {
		return hashes, false
	}
	if hashes == nil {
		hashes = map[string]uint64{}
	}
	hashes[subject] = sum
	return hashes, true
}

// Warnings returns a word for the last warnings of a Service, such as
// "nodes:9ae16a3b2f90404f,settings:c3a5c85c97cb3127"; "" for none.
func (s *Store) Warnings(uid types.UID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[uid]
	if e == nil {
		return ""
	}
	words := make([]string, 0, len(e.warnings))
	for subject, sum := range e.warnings {
		words = append(words, fmt.Sprintf("%s:%016x", subject, sum))
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// Warned returns the number of Services with a current warning about a subject.
func (s *Store) Warned(subject string) (services int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if _, warned := e.warnings[subject]; warned {
			services++
		}
	}
	return services
}

// RecallWarnings records the warnings that the last process has sent, in the format of Warnings, so
// that they are not sent again. Only the first call for a Service counts.
func (s *Store) RecallWarnings(uid types.UID, word string) {
	if word == "" {
		return
	}
	s.update(uid, func(e *Entry) {
		if e.recalled {
			return
		}
		e.recalled = true
		for part := range strings.SplitSeq(word, ",") {
			subject, text, _ := strings.Cut(part, ":")
			sum, err := strconv.ParseUint(text, 16, 64)
			if _, sent := e.warnings[subject]; err != nil || sent {
				continue
			}
			if e.warnings == nil {
				e.warnings = map[string]uint64{}
			}
			e.warnings[subject] = sum
		}
	})
}

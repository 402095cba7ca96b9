package state

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Warn records the warning about a subject that a Service is sent now, "" for none, and
// reports whether it is to be sent: it is another one than the last. Whoever writes a
// Service decides on how many there are, and events get lost where there are too many.
func (s *Store) Warn(uid types.UID, subject, text string) (send bool) {
	s.update(uid, func(e *Entry) {
		var changed bool
		if e.warnings, changed = put(e.warnings, subject, text); !changed {
			return
		}
		send = text != ""
		if e.Applied != nil && e.Applied.Persisted.Fingerprint { // without this warning
			applied := *e.Applied
			applied.Persisted.Fingerprint = false
			e.Applied = &applied
		}
	})
	return send
}

// Announce records what is about to be changed of a subject of a Service, and reports whether that is
// to be said: it is another change than the last, or the Service has had all that it asks for since.
// A change that fails is tried again for as long as it takes, and each attempt has an event for its
// failure.
func (s *Store) Announce(uid types.UID, subject, change string) (say bool) {
	s.update(uid, func(e *Entry) { e.announced, say = put(e.announced, subject, change) })
	return say
}

// put keeps the hash of the text on a subject, none of "". It returns the hashes, nil where there
// are none, and whether this one has changed.
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

// Warnings returns a word for the warnings that a Service was sent last, such as
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

// RecallWarnings records the warnings that the last process has sent, as Warnings returned
// them there, so that they are not sent again. Only the first call for a Service counts.
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

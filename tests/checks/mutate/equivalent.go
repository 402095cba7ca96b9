package main

import "slices"

// equal is a mutant that behaves like the original, and the reason.
type equal struct {
	file, function, from, to string
	nth                      int // of those in the function that read alike, from 0
	why                      string
}

// equivalent returns the mutants that are not sampled because they change no observable
// behaviour.
func equivalent() []equal {
	const unread = "nothing reads the channel of this timer any more"
	return []equal{
		{"pkg/loadbalancer/octavia/observe/floatingip.go", "free", "kept", "!(kept)", 1, "whether one is kept by others is asked only where none is free"},
		{"pkg/loadbalancer/ownership/names.go", "cut", "len(s) > maxLength", "len(s) >= maxLength", 0, "all of a text is the text"},
		{"pkg/loadbalancer/octavia/apply/run.go", "ids", `all = append(all, "floatingIP", lb.FloatingIP.ID)`, "", 0, "it is for the log"},
		{"pkg/loadbalancer/conditions/writer.go", "Use", "len(Removal(svc.Status.Conditions)) > 0", "len(Removal(svc.Status.Conditions)) >= 0", 0, "a removal of nothing writes nothing"},
		{"pkg/loadbalancer/octavia/watcher/watcher.go", "run", "timer.Stop()", "", 0, unread},
		{"pkg/loadbalancer/octavia/watcher/watcher.go", "run", "timer.Stop()", "", 1, unread},
		{"pkg/loadbalancer/octavia/drift/detector.go", "Watch", "timer.Stop()", "", 0, unread},
		{"pkg/loadbalancer/octavia/drift/records.go", "run", "timer.Stop()", "", 0, unread},
		{"pkg/loadbalancer/records/records.go", "Run", "defer cancel()", "", 0, "the process ends"},
		{"pkg/loadbalancer/plan/ovn_zed.go", "poolOfStep", "true", "!(true)", 7, "no status is stale when the only monitor of a pool is deleted"},
	}
}

func withoutEquivalent(all []*mutant) []*mutant {
	return slices.DeleteFunc(all, func(m *mutant) bool {
		return slices.ContainsFunc(equivalent(), func(e equal) bool { return e.is(m) })
	})
}

// is reports whether the entry is about a mutant.
func (e equal) is(m *mutant) bool {
	return e.file == m.file.name && e.function == m.function && e.from == m.from && e.to == m.to && e.nth == m.nth
}

package testenv

import "slices"

// Moves returns every exposure that there was, each once. In those that a service of the
// cloud has told alone, what the other one knows is nil.
func (w *Watcher) Moves() []Exposure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.moves)
}

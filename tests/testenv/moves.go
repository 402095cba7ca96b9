package testenv

import "slices"

// Moves returns every exposure once. In a change that only one service of the cloud has reported,
// the values of the other one are nil.
func (w *Watcher) Moves() []Exposure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.moves)
}

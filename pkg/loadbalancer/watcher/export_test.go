package watcher

// Parked returns how many wait, so that tests begin when all do.
func (w *Watcher) Parked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked)
}

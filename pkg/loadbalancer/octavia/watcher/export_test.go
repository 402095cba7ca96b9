package watcher

// Parked returns the number of waiters, so that tests start when all wait.
func (w *Watcher) Parked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.parked)
}

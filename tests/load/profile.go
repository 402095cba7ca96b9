package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/process"
)

// firstPiece is the length of the first CPU profile of a phase in seconds; each one is twice as
// long as the previous one, up to longestPiece.
const firstPiece, longestPiece = 5, 40

// profile takes profiles of the controller until the context ends, and returns when the last one is
// written: CPU profiles without a gap, which go tool pprof merges, and profiles of the heap at its
// maximum and at the end.
func (w *environment) profile(ctx context.Context, prefix string) error {
	if err := os.MkdirAll(filepath.Dir(prefix), 0o755); err != nil {
		return fmt.Errorf("make a folder for profiles: %w", err)
	}
	biggest := int64(0)
	for i, seconds := 1, firstPiece; ctx.Err() == nil; i, seconds = i+1, min(2*seconds, longestPiece) {
		err := w.saveProfile(ctx, fmt.Sprintf("profile?seconds=%d", seconds), fmt.Sprintf("%s-cpu-%02d.pb.gz", prefix, i))
		if err != nil {
			return err
		}
		usage, err := process.UsageOf(w.ccm.Load().PID())
		if err != nil || usage.RSS <= biggest {
			continue
		}
		biggest = usage.RSS
		if err := w.saveProfile(ctx, "heap", prefix+"-heap.pb.gz"); err != nil {
			return err
		}
	}
	return w.saveProfile(ctx, "heap?gc=1", prefix+"-heap-rest.pb.gz")
}

// saveProfile writes a profile even if the context ends meanwhile.
func (w *environment) saveProfile(ctx context.Context, which, file string) error {
	text, err := w.ccm.Load().Ask(context.WithoutCancel(ctx), "/debug/pprof/"+which)
	if err != nil {
		return fmt.Errorf("take the profile %s: %w", which, err)
	}
	return os.WriteFile(file, []byte(text), 0o600)
}

// Package bench counts the cost of every operation on load balancers: requests, PENDING cycles,
// bytes and memory, next to the minimum that Octavia allows and the cost of
// cloud-provider-openstack. Run it with `make bench`.
//
// The Reconciler works on a simulated cloud over HTTP. Both run in a bubble of testing/synctest:
// its clock stands still while any goroutine works, on a busy machine too, so the seconds are
// those of the cloud. No figure depends on the speed of this machine.
package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// save writes the rows as a list of objects.
func save(file string, rows []Row) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", file, err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	defer out.Close()
	if err := writeJSON(out, rows); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}

func writeJSON(out io.Writer, rows []Row) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(rows)
}

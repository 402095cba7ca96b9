// Command bench counts what everything costs: the requests, PENDING cycles, bytes
// and memory of each operation on load balancers, beside the least that Octavia
// allows and beside what cloud-provider-openstack takes. Run it with `make bench`,
// or `go run ./tests/bench`.
//
// The Reconciler works on a simulated cloud over HTTP, on a clock that jumps over
// waiting; its seconds are those of the cloud. Nothing here judges by the time that
// it takes on this machine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	quick := flag.Bool("quick", false, "only a few small cases")
	file := flag.String("json", "", "also write the figures to this file")
	child := flag.Bool("hold", false, "internal: be the controller of the case hold")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *quick, *file, *child)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, quick bool, file string, child bool) error {
	if child {
		return holdAsChild(ctx, os.Stdin, os.Stdout)
	}
	suite := full()
	if quick {
		suite = small()
	}
	rows, err := suite.run(ctx, os.Stderr)
	printTable(os.Stdout, rows)
	if err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	return save(file, rows)
}

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

// Command mutate changes the code of packages in small ways, and counts the changes that
// tests do not detect. Run it with `make mutate`, or
//
//	go run ./tests/checks/mutate [-seed 1] [-count 200] [-only REGEXP] PATTERN...
//
// All sampled mutants are compiled at once: each is a branch that is taken when the
// environment variable MUTANT has its number. So a package's tests are linked once, and
// the source is never changed (go test -overlay). Every test is first run without a mutant,
// which shows whether it passes, how long it takes and which mutants it reaches. Each
// mutant is judged by the tests that reach it, short ones first, until one fails: those of
// its own package, then those of the packages that import it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "another seed takes another sample")
	flag.IntVar(&o.count, "count", 200, "how many mutants to take")
	flag.StringVar(&o.only, "only", "", "of the sample, only mutants whose line matches")
	flag.DurationVar(&o.bounds.longest, "longest", 20*time.Second, "leave out tests that use more CPU time")
	flag.DurationVar(&o.bounds.total, "total", 2*time.Minute, "leave a mutant to the tests of a package for that much CPU time")
	flag.BoolVar(&o.list, "list", false, "only list the sample")
	flag.Parse()
	o.patterns = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	seed     uint64
	count    int
	list     bool
	only     string
	bounds   bounds
	patterns []string
	// root is the folder of the module, the current one if it is empty.
	root string
}

func run(ctx context.Context, out io.Writer, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	packages, err := load(ctx, o.root, o.patterns)
	if err != nil {
		return err
	}
	var all []*mutant
	for _, p := range packages {
		all = append(all, p.mutants()...)
	}
	all = withoutEquivalent(all)
	chosen := matching(sample(all, o.seed, o.count), only)
	fmt.Fprintf(out, "%d of %d mutants, seed %d\n", len(chosen), len(all), o.seed)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(out, m)
		}
		return nil
	}
	temp, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	good, bad, err := build(ctx, o.root, temp, packages, chosen)
	if err != nil {
		return err
	}
	survived, err := judge(ctx, out, temp, packages, good, o.bounds)
	if err != nil {
		return err
	}
	report(out, good, bad, survived)
	return nil
}

// report writes the outcome, with a line for each mutant that no test noticed.
func report(out io.Writer, good, bad, survived []*mutant) {
	fmt.Fprintln(out)
	for _, m := range bad {
		fmt.Fprintf(out, "not compiled: %s\n", m)
	}
	for _, m := range survived {
		fmt.Fprintf(out, "survived: %s\n", m)
	}
	fmt.Fprintf(out, "mutate: %d killed, %d survived, %d not compiled\n", len(good)-len(survived), len(survived), len(bad))
}

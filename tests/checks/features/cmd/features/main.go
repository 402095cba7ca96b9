// Command features runs the tests and generates docs/internals/features.md: see
// docs/internals/testing.md. It works in the root of the checkout.
//
//	features test ARGUMENTS   run go test, and compare the page with the results
//	features page             write the page from the results of the last run
//	features prove            break each feature, and check that its tests fail
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/go-cmp/cmp"

	"github.com/openstack-ccm/openstack-ccm/tests/checks/features"
)

// log is the file with the results of the last run.
const log = "out/test.json"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(max(1, ended.ExitCode()))
	case err != nil:
		fmt.Fprintln(os.Stderr, "features:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	proofs, err := features.Proofs(".")
	switch {
	case err != nil:
		return err
	case len(args) == 0:
		return errors.New("no command: want test, page or prove")
	case args[0] == "test":
		return test(ctx, args[1:], proofs, out)
	case args[0] == "page":
		return page(proofs)
	case args[0] == "prove":
		return prove(ctx, args[1:], proofs, out)
	}
	return fmt.Errorf("command %q: want test, page or prove", args[0])
}

func test(ctx context.Context, args []string, proofs []features.Proof, out io.Writer) error {
	total, err := countPackages(ctx, args)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	command.Stderr = os.Stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	results, err := features.Follow(events, &counter{to: out, total: total})
	if err := errors.Join(err, keep(results)); err != nil {
		return errors.Join(err, command.Wait())
	}
	if err := command.Wait(); err != nil {
		return err
	}
	have, err := os.ReadFile(features.Page)
	if err != nil {
		return err
	}
	want := features.Document(features.Rows(), proofs, results)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(have), "\n")); diff != "" {
		return fmt.Errorf("%s differs from the results of this run (-want +have); `make features` writes it:\n%s", features.Page, diff)
	}
	return nil
}

func keep(results features.Results) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	file, err := os.Create(log)
	if err != nil {
		return err
	}
	return errors.Join(results.Write(file), file.Close())
}

func page(proofs []features.Proof) error {
	file, err := os.Open(log)
	if err != nil {
		return fmt.Errorf("%w: `make test` leaves it", err)
	}
	defer file.Close()
	results, err := features.Follow(file, io.Discard)
	if err != nil {
		return err
	}
	return os.WriteFile(features.Page, []byte(features.Document(features.Rows(), proofs, results)), 0o644)
}

func prove(ctx context.Context, args []string, proofs []features.Proof, out io.Writer) error {
	flags := flag.NewFlagSet("prove", flag.ContinueOnError)
	rows := flags.String("rows", "", "numbers of the rows, with commas; all when empty")
	jobs := flags.Int("jobs", 2, "how many at the same time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	have, err := os.ReadFile(features.Page)
	if err != nil {
		return err
	}
	breaks := features.Breaks()
	if *rows == "" {
		if err := features.CheckBreaks(".", breaks, proofs, features.Kept(string(have))); err != nil {
			return err
		}
	} else {
		asked := strings.Split(*rows, ",")
		breaks = slices.DeleteFunc(breaks, func(b features.Break) bool { return !slices.Contains(asked, strconv.Itoa(b.Row)) })
	}
	prover := features.Prover{Root: ".", Proofs: proofs, Jobs: *jobs, Out: out}
	return prover.Prove(ctx, breaks)
}

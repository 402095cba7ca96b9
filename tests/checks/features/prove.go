package features

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Prover applies breaks to a checkout, each by itself, and checks that the tests of the row fail.
type Prover struct {
	Root   string
	Proofs []Proof
	// Jobs is the number of breaks that are tried at the same time.
	Jobs int
	Out  io.Writer

	out sync.Mutex
}

// Prove tries the breaks, after their tests have passed without them. It writes a
// line for each break and, last, how many rows are proven. A row is proven when each
// of its breaks makes all tests fail that the break names; a break that does not
// apply or compile proves nothing. It is an error when not all rows are proven.
func (p *Prover) Prove(ctx context.Context, breaks []Break) error {
	sound, err := p.unbroken(ctx, breaks)
	if err != nil {
		return err
	}
	failures := make([]error, len(breaks))
	var all errgroup.Group
	all.SetLimit(p.Jobs)
	for i, b := range breaks {
		all.Go(func() error {
			start := time.Now()
			failures[i] = p.try(ctx, b, sound)
			p.report(b, time.Since(start), failures[i])
			return nil
		})
	}
	_ = all.Wait()
	return p.sum(breaks, failures)
}

func (p *Prover) report(b Break, took time.Duration, failure error) {
	p.out.Lock()
	defer p.out.Unlock()
	verdict := "red"
	if failure != nil {
		verdict = "NOT PROVEN"
	}
	_, _ = fmt.Fprintf(p.Out, "row %3d %5.0fs  %s: %s (%s)\n", b.Row, took.Seconds(), verdict, b.What, strings.Join(b.Tests, ", "))
}

func (p *Prover) sum(breaks []Break, failures []error) error {
	rows := map[int]bool{}
	for i, b := range breaks {
		rows[b.Row] = rows[b.Row] || failures[i] != nil
	}
	failed := 0
	for _, bad := range rows {
		if bad {
			failed++
		}
	}
	for _, failure := range failures {
		if failure != nil {
			_, _ = fmt.Fprintf(p.Out, "\n%v\n", failure)
		}
	}
	_, _ = fmt.Fprintf(p.Out, "prove: %d passed, %d failed\n", len(rows)-failed, failed)
	if failed > 0 {
		return errors.New("not all rows are proven")
	}
	return nil
}

// unbroken runs the tests of all breaks on the unchanged source.
func (p *Prover) unbroken(ctx context.Context, breaks []Break) (Results, error) {
	var all []Test
	for _, b := range breaks {
		tests, err := b.tests(p.Proofs)
		if err != nil {
			return nil, err
		}
		all = append(all, tests...)
	}
	results, _, err := run(ctx, p.Root, all)
	return results, err
}

func (p *Prover) try(ctx context.Context, b Break, sound Results) error {
	tests, err := b.tests(p.Proofs)
	if err != nil {
		return err
	}
	broken, err := b.Apply(p.Root)
	if err != nil {
		return err
	}
	for _, test := range tests {
		if got := sound[test]; got != Passed {
			return fmt.Errorf("row %d: without the break %s in %s is %q, want pass", b.Row, test.Name, test.Folder, got)
		}
	}
	temp, err := os.MkdirTemp("", "prove")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	root, options, err := p.checkout(ctx, temp, b, broken)
	if err != nil {
		return err
	}
	results, output, err := run(ctx, root, tests, options...)
	if err != nil {
		return err
	}
	for _, test := range tests {
		switch results[test] {
		case Failed:
		case Passed:
			return fmt.Errorf("row %d: %s: %s in %s stays green", b.Row, b.What, test.Name, test.Folder)
		default:
			return fmt.Errorf("row %d: %s: %s in %s did not run:\n%s", b.Row, b.What, test.Name, test.Folder, output)
		}
	}
	return nil
}

// checkout returns a folder and options for `go test` with which the source has a break. A Go file
// is replaced by an overlay. Other files are read by the tests themselves, and need a copy of the
// checkout.
func (p *Prover) checkout(ctx context.Context, temp string, b Break, text string) (string, []string, error) {
	if !strings.HasSuffix(b.File, ".go") {
		return temp, nil, p.copied(ctx, temp, b.File, text)
	}
	file, err := filepath.Abs(filepath.Join(p.Root, b.File))
	if err != nil {
		return "", nil, err
	}
	broken, overlay := filepath.Join(temp, "broken.go"), filepath.Join(temp, "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {file: broken}})
	if err != nil {
		return "", nil, err
	}
	return p.Root, []string{"-overlay", overlay}, errors.Join(os.WriteFile(broken, []byte(text), 0o600), os.WriteFile(overlay, replaced, 0o600))
}

func (p *Prover) copied(ctx context.Context, temp, file, text string) error {
	listing := exec.CommandContext(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	listing.Dir = p.Root
	files, err := listing.Output()
	if err != nil {
		return fmt.Errorf("list the files of the checkout: %w", err)
	}
	for name := range strings.Lines(string(files)) {
		name = strings.TrimSuffix(name, "\n")
		content := []byte(text)
		if name != file {
			if content, err = os.ReadFile(filepath.Join(p.Root, name)); errors.Is(err, os.ErrNotExist) {
				continue
			}
		}
		to := filepath.Join(temp, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// run runs tests, and returns their results and their output.
func run(ctx context.Context, root string, tests []Test, options ...string) (Results, string, error) {
	var names, folders []string
	for _, test := range tests {
		names, folders = append(names, test.Name), append(folders, "./"+test.Folder)
	}
	args := append([]string{"test", "-json", "-vet=off", "-timeout=10m", "-run", "^(" + strings.Join(sorted(names), "|") + ")$"}, options...)
	var events, output bytes.Buffer
	command := exec.CommandContext(ctx, "go", append(args, sorted(folders)...)...)
	command.Dir, command.Stdout, command.Stderr = root, &events, &output
	command.Env = append(command.Environ(), "AWAIT_PATIENCE=1m") // so that a test fails long before the timeout
	if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, "", fmt.Errorf("run go test: %w", err)
	}
	results, err := Follow(&events, &output)
	return results, output.String(), err
}

func sorted(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

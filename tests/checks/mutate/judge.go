package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is the tests of a package.
type suite struct {
	pkg     *pkg
	program string
	tests   []*test
}

// test is one test: how long it takes, how much CPU time it uses, and which mutants it reaches.
type test struct {
	name      string
	took, cpu time.Duration
	reaches   map[int]bool
}

// bounds keep a run short. A mutant that only tests beyond them detect counts as survived. They are
// CPU time, which does not depend on what else the machine does.
type bounds struct {
	// longest is how much a test may use, total those of a package for one mutant.
	longest, total time.Duration
}

// patience is how many times its CPU time a test may take on a busy machine.
const patience = 10

// judge runs the tests of one package after the other, and returns the mutants that none
// of them detects. Packages come after those that they import. A mutant counts as detected if its
// tests do not end.
func judge(ctx context.Context, out io.Writer, temp string, packages []*pkg, mutants []*mutant, b bounds) ([]*mutant, error) {
	for _, p := range packages {
		if !p.tests || len(mutants) == 0 {
			continue
		}
		start := time.Now()
		s, err := newSuite(ctx, out, temp, p, b.longest)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%s: %d tests, %.0f s\n", p.path, len(s.tests), time.Since(start).Seconds())
		var left []*mutant
		for _, m := range mutants {
			verdict, err := s.judge(ctx, m, b.total)
			switch {
			case err != nil:
				return nil, err
			case verdict != "":
				fmt.Fprintf(out, "  killed: %s: %s\n", m, verdict)
				continue
			case m.pkg == p:
				fmt.Fprintf(out, "  left: %s\n", m)
			}
			left = append(left, m)
		}
		mutants = left
	}
	return mutants, ctx.Err()
}

// newSuite runs the tests of a package without a mutant. A test that fails twice, or takes
// too long, does not judge.
func newSuite(ctx context.Context, out io.Writer, temp string, p *pkg, longest time.Duration) (*suite, error) {
	s := &suite{pkg: p, program: filepath.Join(temp, filepath.Base(p.path)+".test")}
	list := exec.CommandContext(ctx, s.program, "-test.list", "^(Test|Fuzz|Example)")
	list.Dir = p.dir
	names, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", p.path, err)
	}
	for name := range strings.Lines(string(names)) {
		t, err := s.try(ctx, strings.TrimSpace(name), temp, longest)
		if err != nil {
			return nil, err
		}
		if t == nil {
			fmt.Fprintf(out, "  %s fails without a mutant or takes too long, and is left out\n", strings.TrimSpace(name))
			continue
		}
		s.tests = append(s.tests, t)
	}
	slices.SortStableFunc(s.tests, func(a, b *test) int { return cmp.Compare(a.cpu, b.cpu) })
	return s, nil
}

// try runs a test without a mutant, and returns nil if it does not judge.
func (s *suite) try(ctx context.Context, name, temp string, longest time.Duration) (*test, error) {
	file := filepath.Join(temp, "reached")
	for range 2 {
		if err := os.RemoveAll(file); err != nil {
			return nil, err
		}
		start := time.Now()
		verdict, cpu, err := s.run(ctx, []string{name}, patience*longest, "MUTANT=0", "MUTANT_REACHED="+file)
		switch {
		case err != nil:
			return nil, err
		case cpu >= longest:
			return nil, nil
		case verdict != "":
			continue
		}
		t := &test{name: name, took: time.Since(start), cpu: cpu, reaches: map[int]bool{}}
		lines, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for line := range strings.Lines(string(lines)) {
			number, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				return nil, err
			}
			t.reaches[number] = true
		}
		return t, nil
	}
	return nil, nil
}

// memory is how much address space a test may take, in KiB: a mutant may take more and more.
const memory = 8 << 20

// run runs tests until one fails, and returns the first line that reports a failure and the CPU time.
func (s *suite) run(ctx context.Context, names []string, timeout time.Duration, environment ...string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+10*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory), s.program,
		"-test.v", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$", "-test.timeout", timeout.String())
	command.Dir, command.Env = s.pkg.dir, append(os.Environ(), environment...)
	command.WaitDelay = time.Second
	output, err := command.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := command.Start(); err != nil {
		return "", 0, fmt.Errorf("run the tests of %s: %w", s.pkg.path, err)
	}
	var verdict string
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if verdict = failure(line); verdict != "" || err != nil {
			break
		}
	}
	if verdict != "" {
		cancel()
	}
	_, _ = io.Copy(io.Discard, lines)
	if err := command.Wait(); err != nil && verdict == "" {
		verdict = err.Error()
	}
	return verdict, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// failure returns the failure that a line of a test's output reports, "" for none.
func failure(line string) string {
	line = strings.TrimSpace(line)
	for _, prefix := range []string{"--- FAIL: ", "panic: ", "fatal error: "} {
		if strings.HasPrefix(line, prefix) {
			return short(line)
		}
	}
	return ""
}

// judge runs the tests that reach a mutant until one fails, and returns how it failed.
func (s *suite) judge(ctx context.Context, m *mutant, total time.Duration) (string, error) {
	var tests []*test
	for _, t := range s.tests {
		if t.reaches[m.number] && total >= t.cpu {
			tests, total = append(tests, t), total-t.cpu
		}
	}
	for len(tests) > 0 {
		var names []string
		var took time.Duration
		names, took, tests = next(tests)
		if verdict, _, err := s.run(ctx, names, 30*time.Second+patience*took, "MUTANT="+strconv.Itoa(m.number)); verdict != "" || err != nil {
			return verdict, err
		}
	}
	return "", nil
}

// next takes tests of some seconds together, and returns how long they take one by one.
func next(tests []*test) (names []string, took time.Duration, rest []*test) {
	for i, t := range tests {
		if i > 0 && took+t.took > 10*time.Second {
			return names, took, tests[i:]
		}
		names, took = append(names, t.name), took+t.took
	}
	return names, took, nil
}

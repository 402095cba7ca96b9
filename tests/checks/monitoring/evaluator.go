package monitoring

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/gobuild"
)

// BuildEvaluator builds the program in promrules, two minutes of a processor the first time, and
// returns what runs it with an input and arguments and returns its output. Go's build cache
// has it after that. It is a module of its own: the controller's does not know Prometheus.
func BuildEvaluator(ctx context.Context, logf func(format string, args ...any)) (func(input string, args ...string) (string, error), error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	directory := filepath.Join(cache, "openstack-ccm")
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return nil, err
	}
	path := filepath.Join(directory, "promrules")
	program := gobuild.Program{Name: "the evaluator of alerting rules", Dir: "promrules", Package: "."}
	if err := program.Build(ctx, path, logf); err != nil {
		return nil, fmt.Errorf("build the evaluator of alerting rules: %w", err)
	}
	return func(input string, args ...string) (string, error) {
		command := exec.CommandContext(ctx, path, args...)
		command.Stdin = strings.NewReader(input)
		output, err := command.CombinedOutput()
		return string(output), err
	}, nil
}

package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs a kubectl of the control plane's release as the administrator, with the
// text as standard input, and returns what it prints. It is built when it is first asked
// for.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	program, err := BuildKubectl(ctx, c.options.Logf)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(),
		"KUBECONFIG="+c.AdminKubeconfig(),
		"KUBECACHEDIR="+filepath.Join(c.dir.path, "kubectl"))
	command.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

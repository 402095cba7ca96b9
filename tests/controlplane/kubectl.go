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

// Kubectl runs the control plane's own kubectl as the administrator, with the
// text as standard input, and returns what it prints.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	kubectl := exec.CommandContext(ctx, c.binary, append([]string{"kubectl"}, args...)...)
	kubectl.Env = append(os.Environ(),
		"KUBECONFIG="+c.AdminKubeconfig(),
		"KUBECACHEDIR="+filepath.Join(c.dir.path, "kubectl"))
	kubectl.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	kubectl.Stdout, kubectl.Stderr = &stdout, &stderr
	if err := kubectl.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

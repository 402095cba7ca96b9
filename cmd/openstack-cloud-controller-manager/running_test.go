package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
	"github.com/openstack-ccm/openstack-ccm/tests/lib/loopback"
)

// standbyFlags returns the flags of a process that never leads, because it has no API server, and
// that listens where running expects it.
func standbyFlags(t *testing.T) []string {
	t.Helper()
	return append(clusterFlags(t), "--leader-elect=true", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", loopback.FreePort(t)),
		"--webhook-secure-port=0", "--cert-dir="+filepath.Join(t.TempDir(), "certs"))
}

// running is the program while it runs.
type running struct {
	command *exec.Cmd
	port    string
	ended   chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (r *running) Write(text []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(text)
}

func (r *running) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// startProgram starts the program, which ends with the test.
func startProgram(t *testing.T, env []string, arguments ...string) *running {
	t.Helper()
	r := &running{command: exec.Command(os.Args[0], arguments...), ended: make(chan struct{})}
	if port := regexp.MustCompile(`--secure-port=([1-9]\d*)`).FindStringSubmatch(strings.Join(arguments, " ")); port != nil {
		r.port = port[1]
	}
	r.command.Env = append(env, asProgram+"=1", "HOME="+t.TempDir())
	r.command.Stdout, r.command.Stderr = r, r
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		_ = r.command.Wait() // how it ended is in the ProcessState
	}()
	t.Cleanup(func() {
		_ = r.command.Process.Kill() // it may have ended
		<-r.ended
		assertNoSecret(t, r.log())
	})
	return r
}

// awaitLog waits until the log contains a text.
func (r *running) awaitLog(t *testing.T, text string) {
	t.Helper()
	await.Eventually(t, "log of "+text, func(context.Context) error {
		if log := r.log(); !strings.Contains(log, text) {
			return errors.New(log)
		}
		return nil
	})
}

// answers waits until the program answers with a status.
func (r *running) answers(t *testing.T, path string, want int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	await.Eventually(t, path, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:"+r.port+path, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, r.log())
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
		if response.StatusCode != want {
			return fmt.Errorf("answers %d, want %d\n%s", response.StatusCode, want, r.log())
		}
		return nil
	})
}

// terminate sends SIGTERM, and returns the exit code. It fails the test if the shutdown takes as
// long as that of blocked calls.
func (r *running) terminate(t *testing.T) int {
	t.Helper()
	if err := r.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), shutdownTimeout)
	defer cancel()
	select {
	case <-r.ended:
	case <-ctx.Done():
		t.Fatalf("it still runs %s after SIGTERM:\n%s", shutdownTimeout, r.log())
	}
	return r.command.ProcessState.ExitCode()
}

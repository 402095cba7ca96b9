package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// build compiles the program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openstack-sim")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return path
}

// process is the program as a process of its own.
type process struct {
	*exec.Cmd
	// url is what it said it listens on.
	url    string
	stderr *bytes.Buffer
}

// run starts the program and waits until it reports that it is ready.
func run(t *testing.T, path string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(path, args...), stderr: &bytes.Buffer{}}
	p.Stderr = p.stderr
	output, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	t.Cleanup(kill)
	guard := time.AfterFunc(await.Patience, func() { _ = p.Process.Kill() })
	defer guard.Stop()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		kill()
		t.Fatalf("the program ended before it was ready: %v\n%s", err, p.stderr)
	}
	p.url, _ = strings.CutPrefix(strings.TrimSpace(line), "openstack-sim: listening on ")
	return p
}

// end sends the signal and returns the exit status; a program that does not end is killed.
func (p *process) end(signal os.Signal) error {
	if err := p.Process.Signal(signal); err != nil {
		return err
	}
	guard := time.AfterFunc(await.Patience, func() { _ = p.Process.Kill() })
	defer guard.Stop()
	return p.Wait()
}

func TestProgram_ServesUntilSignalAndExitsSilently(t *testing.T) {
	t.Parallel()
	path := build(t)
	for name, signal := range map[string]os.Signal{"SIGINT": os.Interrupt, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			conf := filepath.Join(directory, "cloud.conf")
			subnet := freeSubnet(t, "program")
			p := run(t, path, "--cloud-conf", conf, "--servers=2", "--create-delay=20ms",
				"--subnet-cidr", subnet, "--external-cidr", freeSubnet(t, "external"))

			text, err := os.ReadFile(conf)
			if err != nil || !strings.Contains(string(text), p.url) {
				t.Errorf("cloud.conf does not lead to %s: %v\n%s", p.url, err, text)
			}
			client := signIn(t, p.url, clientOf(t, p.url+"/identity/v3"))
			servers := client.servers(t)
			vip := client.balance(t, "", "TCP", web(t, servers[0].Address, "hello"), nil)
			eventually(t, "an answer through the VIP", func() error { return answers(vip, "hello") })

			if err := p.end(signal); err != nil {
				t.Errorf("exit: %v\n%s", err, p.stderr)
			}
			if p.stderr.Len() > 0 {
				t.Errorf("said on standard error:\n%s", p.stderr)
			}
		})
	}
}

func TestProgram_RefusesBadFlags(t *testing.T) {
	t.Parallel()
	command := command()
	var said bytes.Buffer
	command.SetOut(io.Discard)
	command.SetErr(&said)
	command.SetArgs([]string{"--listen=0.0.0.0:80"})
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(said.String(), "--listen") {
		t.Errorf("got %v and %q, want an error that names the flag", err, said.String())
	}
}

func TestProgram_FailsOnPortInUse(t *testing.T) {
	t.Parallel()
	sim := startSim(t)
	chosen := parse(t, "--listen", strings.TrimPrefix(sim.url, "http://"))
	err := serve(t.Context(), chosen, io.Discard, io.Discard)
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v, want address in use", err)
	}
}

func TestProgram_FailsOnFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing", "cloud.conf")
	for _, flag := range []string{"--cloud-conf", "--clouds-yaml"} {
		err := serve(t.Context(), parse(t, flag, missing), io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: got %v, want an error that names the file", flag, err)
		}
	}
}

func TestProgram_WritesFilesThatOnlyTheirOwnerReads(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	conf, yaml := filepath.Join(directory, "cloud.conf"), filepath.Join(directory, "clouds.yaml")
	startSim(t, "--cloud-conf", conf, "--clouds-yaml", yaml, "--provider=ovn")
	for _, file := range []string{conf, yaml} {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %o, want 600", file, info.Mode().Perm())
		}
	}
	text, err := os.ReadFile(conf)
	if err != nil || !strings.Contains(string(text), "lb-provider=ovn") {
		t.Errorf("cloud.conf has no lb-provider=ovn: %v\n%s", err, text)
	}
	left, err := os.ReadDir(directory)
	if err != nil || len(left) != 2 {
		t.Errorf("%d files in the directory (%v), want 2", len(left), err)
	}
}

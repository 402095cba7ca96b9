package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// asParent makes the test binary a program that starts a child and prints its process ID. The child
// must not survive it.
const asParent = "PROCESS_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asParent); dir != "" {
		child, err := Start(Spec{Name: "child", Path: "/bin/sh", Args: []string{"-c", "sleep 600"}, LogFile: filepath.Join(dir, "child.log")})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(child.PID())
		select {}
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Spec{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, LogFile: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// eventually polls, because a process gets no signal of one that is not its child.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	await.Eventually(t, what, func(context.Context) error {
		if !condition() {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestProcess_ReportsHowItEndedAndItsLastLines(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo out; echo err >&2; exit 3")
	<-p.Done()
	for _, want := range []string{"script", "exit status 3"} {
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Err() = %v, want it to contain %q", err, want)
		}
	}
	if got, want := p.Log(2), "out\nerr"; got != want {
		t.Errorf("Log(2) = %q, want %q", got, want)
	}
	if p.Running() {
		t.Error("Running() = true after Done")
	}
}

func TestStop_LetsProcessCleanUp(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	eventually(t, "the trap is set", func() bool { return p.Log(1) == "ready" })
	p.Stop(time.Minute)
	if got := p.Log(1); got != "bye" {
		t.Errorf("last line = %q, want bye", got)
	}
}

func TestStop_KillsProcessThatIgnoresIt(t *testing.T) {
	t.Parallel()
	p := shell(t, "trap '' TERM; echo ready; while :; do sleep 0.05; done")
	eventually(t, "the trap is set", func() bool { return p.Log(1) == "ready" })
	p.Stop(time.Millisecond)
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("Err() = %v, want killed", err)
	}
}

func TestProcess_IgnoresStopAndKillAfterItsEnd(t *testing.T) {
	t.Parallel()
	p := shell(t, "exit 0")
	<-p.Done()
	p.Stop(time.Minute)
	p.Kill()
}

func TestAwait_FailsWhenProcessEnds(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo cannot bind >&2; exit 1")
	err := p.Await(t.Context(), func(context.Context) error { return errors.New("connection refused") })
	for _, want := range []string{"script", "exit status 1", "connection refused", "cannot bind"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v, want it to contain %q", err, want)
		}
	}
}

func TestStart_NamesMissingProgram(t *testing.T) {
	t.Parallel()
	_, err := Start(Spec{Name: "ghost", Path: "/nonexistent/ghost", LogFile: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("err = %v, want it to name ghost", err)
	}
}

func TestProcess_EndsWithParent(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), asParent+"="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent said %q", line)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed; that is no news
	eventually(t, "the child is gone", func() bool { return !alive(child) })
}

// alive reports whether a process is running. One that has ended is not, reaped or not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestTail_ReturnsLastLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	if got := Tail(path, 3); got != "" {
		t.Errorf("Tail of no file = %q", got)
	}
	if err := os.WriteFile(path, []byte("a\nb\nc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for lines, want := range map[int]string{1: "c", 2: "b\nc", 9: "a\nb\nc"} {
		if got := Tail(path, lines); got != want {
			t.Errorf("Tail(%d) = %q, want %q", lines, got, want)
		}
	}
}

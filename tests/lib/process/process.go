// Package process runs the programs of tests and the demo: each with its output in a file, ended by
// its process ID, and ended by the system after its parent.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/openstack-ccm/openstack-ccm/tests/lib/await"
)

// Spec describes a program to run.
type Spec struct {
	// Name is what errors and the log file call the process.
	Name string
	// Path and Args are the program and its arguments, without the program's name.
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// Dir is the working directory; empty means that of this process.
	Dir string
	// LogFile takes standard output and standard error. It is appended to, so that
	// a program that is started again keeps its history.
	LogFile string
	// Attributes may ask for more of the system than every process gets; nil asks for
	// nothing.
	Attributes func(*syscall.SysProcAttr)
}

// awaitLogLines is how much of its log the error about a process shows.
const awaitLogLines = 60

// Process is one program that runs or has ended. Its methods may be called by
// several goroutines.
type Process struct {
	name    string
	logFile string
	command *exec.Cmd
	ended   chan struct{}
	err     error // how it ended; read only after ended is closed
}

// Start runs the program. The error is only that of the start; Done and Err report the end of the
// program.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: open its log: %w", spec.Name, err)
	}
	defer log.Close() // the child has its own descriptor of it

	command := exec.Command(spec.Path, spec.Args...)
	command.Env = append(os.Environ(), spec.Env...)
	command.Dir = spec.Dir
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = attributes()
	if spec.Attributes != nil {
		spec.Attributes(command.SysProcAttr)
	}

	p := &Process{name: spec.Name, logFile: spec.LogFile, command: command, ended: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// run keeps one thread for as long as the program runs: Linux sends the signal
// of a parent's death when the thread that started the child ends, not when the
// process does (prctl(2), PR_SET_PDEATHSIG).
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.command.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.command.Wait()
	close(p.ended)
}

// Name is the name that the process was started under.
func (p *Process) Name() string { return p.name }

// PID is the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Running reports whether the process is still running.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Err is how the process ended; nil while it runs.
func (p *Process) Err() error {
	if p.Running() {
		return nil
	}
	return fmt.Errorf("%s has ended (%s)", p.name, p.command.ProcessState)
}

// Log returns the last lines of what the process has written, at most that many.
func (p *Process) Log(lines int) string { return Tail(p.logFile, lines) }

// LogFile is the path of all that the process, and those before it of the same log, have
// written.
func (p *Process) LogFile() string { return p.logFile }

// Await calls check until it returns nil. It gives up when the process or the
// context ends; the error then has the reason, check's last error, and the end of
// the log.
func (p *Process) Await(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.ended:
			cancel(p.Err())
		case <-ctx.Done():
		}
	}()
	if err := await.Success(ctx, check); err != nil {
		return fmt.Errorf("wait for %s: %w; the end of its log:\n%s", p.name, err, p.Log(awaitLogLines))
	}
	return nil
}

// Kill ends the process at once, as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Stop asks the process to end, and kills it when it still runs after grace.
func (p *Process) Stop(grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.Kill()
	}
}

// signal cannot hit a stranger: the number stays taken until Wait has returned,
// and os.Process refuses from then on.
func (p *Process) signal(signal syscall.Signal) {
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(fmt.Sprintf("signal %s (pid %d): %v", p.name, p.PID(), err))
	}
}

// Package cli has the shared parts of all verbs of the program: their run, the flags for the
// cluster and for the format of the report, and the sign-in.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/cloudprovider"
	"github.com/openstack-ccm/openstack-ccm/pkg/config"
	"github.com/openstack-ccm/openstack-ccm/pkg/openstack"
	"github.com/openstack-ccm/openstack-ccm/pkg/screen"
)

// Program is the program that runs a verb.
type Program struct {
	// Name is the command of users.
	Name string
	// UserAgent is sent to OpenStack and to the API server.
	UserAgent string
	Env       config.Environment
	Out, Errs io.Writer
}

// Verb is a command that runs once, next to the controller.
type Verb struct {
	// Name is the verb's argument, Short its line in a list of verbs.
	Name, Short string
	// Command returns the command. Its RunE returns the error of Program.Finish, or any other.
	Command func(Program) *cobra.Command
}

// ExitError is the exit code of every verb that has failed.
const ExitError = 1

// Exit is the error of a completed verb. The program exits with this code.
type Exit int

// Error implements error.
func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs a verb until it ends, or a signal stops it, and returns the exit code.
func (v Verb) Run(p Program, arguments []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process
	defer klog.Flush()
	command := v.Command(p)
	if command.Flags().Lookup(outputFlag) != nil {
		_ = command.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions([]cobra.Completion{string(outputText), string(outputJSON)}, cobra.ShellCompDirectiveNoFileComp))
	}
	command.Use = strings.TrimSpace(p.Name + " " + command.Use)
	command.Short = v.Short
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs(arguments)
	command.SetOut(p.Out)
	command.SetErr(p.Errs)
	command.SetFlagErrorFunc(SuggestFlag)
	err := command.ExecuteContext(ctx)
	var code Exit
	switch {
	case errors.As(err, &code):
		return int(code)
	case err != nil:
		fmt.Fprintf(p.Errs, "Error: %v\n", err)
		return ExitError
	}
	return 0 // also for --help and for completions
}

// Report is the result of a verb.
type Report interface {
	// Kind is the kind of the JSON object.
	Kind() string
	ExitCode() int
	WriteText(out *screen.Screen) error
}

// WriteJSON writes a report as one JSON object, with its exit code.
func WriteJSON(out io.Writer, report Report) error {
	return screen.WriteJSON(out, report.Kind(), report, struct {
		ExitCode int `json:"exitCode"`
	}{report.ExitCode()})
}

// Write writes a report to the output of the program.
func (p Program) Write(report Report, format Output) error {
	if format.JSON() {
		return WriteJSON(p.Out, report)
	}
	return report.WriteText(screen.New(p.Out, p.Env))
}

// Finish writes a report and returns its exit code as an error.
func (p Program) Finish(report Report, format Output) error {
	if err := p.Write(report, format); err != nil {
		return err
	}
	return Exit(report.ExitCode())
}

// Output is the flag for the format of a report.
type Output string

const outputFlag = "output"

// The formats.
const (
	outputText Output = "text"
	outputJSON Output = "json"
)

// AddTo adds the flag.
func (o *Output) AddTo(flags *pflag.FlagSet) {
	flags.StringVarP((*string)(o), outputFlag, "o", string(outputText), "Format of the report: text or json.")
}

// Check returns an error for an unknown format.
func (o Output) Check() error {
	if o != outputText && o != outputJSON {
		return fmt.Errorf("--output is %q: allowed are text and json", string(o))
	}
	return nil
}

// JSON reports whether the format is JSON.
func (o Output) JSON() bool { return o == outputJSON }

// AddCloudConfig adds the flag for the path of cloud.conf.
func AddCloudConfig(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, "cloud-config", "", "Path of cloud.conf; by default, the OS_* environment variables are read.")
}

// ReadConfig reads cloud.conf and logs its warnings.
func (p Program) ReadConfig(path string) (*config.Config, error) {
	conf, warnings, err := config.LoadFile(path, p.Env)
	for _, warning := range warnings {
		klog.Warning(warning)
	}
	if err != nil && path == "" {
		err = fmt.Errorf("without --cloud-config: %w", err)
	}
	return conf, err
}

// SignIn signs in to the cloud of a configuration. The caller closes the session.
func (p Program) SignIn(ctx context.Context, conf *config.Config, readOnly bool) (*openstack.Session, error) {
	options, err := cloudprovider.SessionOptions(conf, p.UserAgent)
	if err != nil {
		return nil, err
	}
	options.ReadOnly = readOnly
	return openstack.NewSession(ctx, conf.Global, options)
}

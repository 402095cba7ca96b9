package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// verb is what the program does besides being a controller: it runs once, and returns its
// exit code.
type verb struct {
	// short is what the list of verbs says of it.
	short string
	run   func(arguments []string, env config.Environment, out, errs io.Writer) int
}

// verbs returns the verbs by the argument that asks for each. They stand beside the command of
// k8s.io/cloud-provider, which takes no arguments: as its subcommands they would get its flags
// and its usage.
func verbs() map[string]verb {
	return map[string]verb{
		checkName:   {"Says what the controller would make of a cloud.conf", runCheck},
		cleanupName: {"Removes what a dead cluster has left in OpenStack", runCleanup},
		planName:    {"Says what the controller would do for Services", runPlan},
		statusName:  {"Shows what Services have in OpenStack", runStatus},
	}
}

// exitError is the exit code of every verb that could not do what it was asked for.
const exitError = 1

// runVerb runs the command of a verb until it is over, or a signal asks it to stop. The
// command sets the code that the program exits with.
func runVerb(arguments []string, out, errs io.Writer, newCommand func(ctx context.Context, code *int) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process
	defer klog.Flush()
	code := exitError
	command := newCommand(ctx, &code)
	if command.Flags().Lookup(outputFlag) != nil {
		_ = command.RegisterFlagCompletionFunc(outputFlag, cobra.FixedCompletions([]cobra.Completion{string(outputText), string(outputJSON)}, cobra.ShellCompDirectiveNoFileComp))
	}
	command.Use = strings.Replace(command.Use, programName, calledAs(os.Args[0]), 1)
	command.SetArgs(arguments)
	command.SetOut(out)
	command.SetErr(errs)
	command.SetFlagErrorFunc(suggestFlag)
	if err := command.Execute(); err != nil {
		fmt.Fprintf(errs, "Error: %v\n", err)
		return exitError
	}
	if command.Flags().Changed("help") || completes(arguments) {
		return 0
	}
	return code
}

// completes reports whether a shell asks for completions.
func completes(arguments []string) bool {
	return len(arguments) > 0 && (arguments[0] == completeCommand || arguments[0] == plainCompleteCommand)
}

// output is the flag for the format of a report.
type output string

const outputFlag = "output"

// The formats.
const (
	outputText output = "text"
	outputJSON output = "json"
)

func (o *output) addTo(flags *pflag.FlagSet) {
	flags.StringVarP((*string)(o), outputFlag, "o", string(outputText), "Format of the report: text or json.")
}

func (o output) check() error {
	if o != outputText && o != outputJSON {
		return fmt.Errorf("--output is %q: allowed are text and json", string(o))
	}
	return nil
}

func (o output) json() bool { return o == outputJSON }

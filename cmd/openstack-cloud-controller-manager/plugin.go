package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

const (
	// pluginFile is the name by which kubectl finds the program: it is "kubectl openstack-lb"
	// then, and has verbs only.
	pluginFile = "kubectl-openstack_lb"
	// completionFile is the name by which kubectl asks it for completions.
	completionFile = "kubectl_complete-openstack_lb"
	// pluginName is what users type.
	pluginName = "kubectl openstack-lb"

	// The hidden commands of cobra that shells ask for completions, and its answer that
	// there are no files to complete.
	completeCommand, plainCompleteCommand = "__complete", "__completeNoDesc"
	noFiles                               = ":4"
)

// calledAs returns what users type to have the program, whose path is given.
func calledAs(path string) string {
	switch strings.TrimSuffix(filepath.Base(path), ".exe") {
	case pluginFile, completionFile:
		return pluginName
	}
	return programName
}

// pluginArguments returns the arguments of the plugin, for a program that is called by a path
// with arguments. is is false where that is no plugin.
func pluginArguments(path string, arguments []string) (plugin []string, is bool) {
	switch strings.TrimSuffix(filepath.Base(path), ".exe") {
	case pluginFile:
		return arguments, true
	case completionFile:
		return append([]string{completeCommand}, arguments...), true
	}
	return nil, false
}

// runPlugin runs a verb, and returns its exit code.
func runPlugin(arguments []string, env config.Environment, out, errs io.Writer) int {
	all, first := verbs(), ""
	if len(arguments) > 0 {
		first = arguments[0]
	}
	switch first {
	case "", "help", "--help", "-h":
		fmt.Fprint(out, pluginUsage(all))
		return 0
	case "version", "--version":
		fmt.Fprintf(out, "%s %s\n", pluginName, thisBuild())
		return 0
	case completeCommand, plainCompleteCommand:
		return completePlugin(all, first, arguments[1:], env, out, errs)
	}
	if v, is := all[first]; is {
		return v.run(arguments[1:], env, out, errs)
	}
	fmt.Fprintf(errs, "Error: %v\n", unknownVerb(first, pluginName))
	return exitError
}

// completePlugin answers a shell: with the verbs, or with what the verb that is there takes.
func completePlugin(all map[string]verb, how string, arguments []string, env config.Environment, out, errs io.Writer) int {
	if len(arguments) > 1 {
		if v, is := all[arguments[0]]; is {
			return v.run(append([]string{how}, arguments[1:]...), env, out, errs)
		}
		arguments = nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch {
		case len(arguments) == 0 || !strings.HasPrefix(name, arguments[0]):
		case how == plainCompleteCommand:
			fmt.Fprintln(out, name)
		default:
			fmt.Fprintf(out, "%s\t%s\n", name, all[name].short)
		}
	}
	fmt.Fprintln(out, noFiles)
	return 0
}

func pluginUsage(all map[string]verb) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Load balancers of OpenStack behind Services of type LoadBalancer.\n\nUsage:\n  %s VERB [flags]\n\nVerbs:\n", pluginName)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "  %-10s %s\n", name, all[name].short)
	}
	fmt.Fprintf(&text, "\n%s VERB --help describes a verb.\n", pluginName)
	return text.String()
}

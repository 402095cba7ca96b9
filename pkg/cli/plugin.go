package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// PluginFile is the name of the program as a plugin of kubectl. As "kubectl openstack-lb" it
	// has only verbs.
	PluginFile = "kubectl-openstack_lb"
	// completionFile is the name with which kubectl calls it for completions.
	completionFile = "kubectl_complete-openstack_lb"
	// PluginName is the command of the plugin.
	PluginName = "kubectl openstack-lb"

	// The hidden commands of cobra for completions, and its answer without file names.
	completeCommand, plainCompleteCommand = "__complete", "__completeNoDesc"
	noFiles                               = ":4"
)

// PluginArguments returns the arguments of the plugin, for a program that is called by a path with
// arguments. is is false for the path of another program.
func PluginArguments(path string, arguments []string) (plugin []string, is bool) {
	switch strings.TrimSuffix(filepath.Base(path), ".exe") {
	case PluginFile:
		return arguments, true
	case completionFile:
		return append([]string{completeCommand}, arguments...), true
	}
	return nil, false
}

// Verbs are the verbs of a program, sorted by name. They are no subcommands of the command of
// k8s.io/cloud-provider, which takes no arguments, because they would get its flags and its usage.
type Verbs []Verb

// Find returns the verb of a name.
func (all Verbs) Find(name string) (Verb, bool) {
	i := slices.IndexFunc(all, func(v Verb) bool { return v.Name == name })
	if i < 0 {
		return Verb{}, false
	}
	return all[i], true
}

func (all Verbs) names() []string {
	var names []string
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

// RunPlugin runs a verb of the plugin, and returns its exit code. Version is printed on request.
func (all Verbs) RunPlugin(p Program, arguments []string, version fmt.Stringer) int {
	p.Name = PluginName
	first := ""
	if len(arguments) > 0 {
		first = arguments[0]
	}
	switch first {
	case "", "help", "--help", "-h":
		fmt.Fprint(p.Out, all.usage())
		return 0
	case "version", "--version":
		fmt.Fprintf(p.Out, "%s %s\n", PluginName, version)
		return 0
	case completeCommand, plainCompleteCommand:
		return all.complete(p, first, arguments[1:])
	}
	if v, is := all.Find(first); is {
		return v.Run(p, arguments[1:])
	}
	fmt.Fprintf(p.Errs, "Error: %v\n", all.UnknownVerb(first, PluginName))
	return ExitError
}

// complete prints the verbs, or the flags and values of a verb, for a shell.
func (all Verbs) complete(p Program, how string, arguments []string) int {
	if len(arguments) > 1 {
		if v, is := all.Find(arguments[0]); is {
			return v.Run(p, append([]string{how}, arguments[1:]...))
		}
		arguments = nil
	}
	for _, v := range all {
		switch {
		case len(arguments) == 0 || !strings.HasPrefix(v.Name, arguments[0]):
		case how == plainCompleteCommand:
			fmt.Fprintln(p.Out, v.Name)
		default:
			fmt.Fprintf(p.Out, "%s\t%s\n", v.Name, v.Short)
		}
	}
	fmt.Fprintln(p.Out, noFiles)
	return 0
}

func (all Verbs) usage() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Load balancers of OpenStack behind Services of type LoadBalancer.\n\nUsage:\n  %s VERB [flags]\n\nVerbs:\n", PluginName)
	for _, v := range all {
		fmt.Fprintf(&text, "  %-10s %s\n", v.Name, v.Short)
	}
	fmt.Fprintf(&text, "\n%s VERB --help describes a verb.\n", PluginName)
	return text.String()
}

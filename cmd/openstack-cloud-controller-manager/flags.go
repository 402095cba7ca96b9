package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/openstack-ccm/openstack-ccm/pkg/config"
)

// ownArguments returns the arguments without a leading path of the program itself. The manifests
// and the chart of cloud-provider-openstack, the image of which has no entrypoint, start the
// container's args with it.
func ownArguments(arguments []string) []string {
	if len(arguments) > 0 && path.Base(arguments[0]) == programName {
		return arguments[1:]
	}
	return arguments
}

// environmentFlags are the flags with a variable: the manifests of cloud-provider-openstack set
// these for $(CLOUD_CONFIG) and $(CLUSTER_NAME) in its args.
var environmentFlags = map[string]string{"cloud-config": "CLOUD_CONFIG", "cluster-name": "CLUSTER_NAME"}

// setFromEnvironment sets the environmentFlags from their variables, unless one of them is given: a
// cluster that was named "kubernetes" by the flag's default must not get another name from a
// variable that was ignored so far.
func setFromEnvironment(flags *pflag.FlagSet, env config.Environment) error {
	if env == nil {
		return nil
	}
	for name := range environmentFlags {
		if flags.Changed(name) {
			return nil
		}
	}
	for name, variable := range environmentFlags {
		value, _ := env(variable)
		if value == "" {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("environment variable %s, for --%s: %w", variable, name, err)
		}
	}
	return nil
}

// gatesFlag is the name of the flag for feature gates.
const gatesFlag = "feature-gates"

// lenientGates is the value of --feature-gates. It ignores gates that this program does not have:
// cloud-provider-openstack has all those of Kubernetes, and installations pass the same list to all
// components.
type lenientGates struct {
	pflag.Value
	gates featuregate.MutableFeatureGate
	// unknown are the ignored ones.
	unknown []string
}

// tolerateUnknownGates replaces the value of --feature-gates, which sets the gates, by a lenient
// one, and returns it.
func tolerateUnknownGates(flags *pflag.FlagSet, gates featuregate.MutableFeatureGate) *lenientGates {
	flag := flags.Lookup(gatesFlag)
	lenient := &lenientGates{Value: flag.Value, gates: gates}
	flag.Value = lenient
	return lenient
}

// Set implements pflag.Value.
func (l *lenientGates) Set(text string) error {
	var known []string
	for pair := range strings.SplitSeq(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); name == "" || l.knows(name) {
			known = append(known, pair)
		} else {
			l.unknown = append(l.unknown, name)
		}
	}
	return l.Value.Set(strings.Join(known, ","))
}

func (l *lenientGates) knows(name string) bool {
	_, known := l.gates.GetAll()[featuregate.Feature(name)]
	return known
}

// startLogging applies the flags for logging. The controller manager does the same first, and then
// logs its flags: our line must precede them.
func startLogging(flags *pflag.FlagSet) error {
	logging := logsapi.NewLoggingConfiguration()
	same := pflag.NewFlagSet(programName, pflag.ContinueOnError)
	logsapi.AddFlags(logging, same)
	var errs []error
	same.VisitAll(func(flag *pflag.Flag) {
		if given := flags.Lookup(flag.Name); given != nil && given.Changed {
			errs = append(errs, flag.Value.Set(given.Value.String()))
		}
	})
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // the controller manager does it again
	return logsapi.ValidateAndApply(logging, utilfeature.DefaultFeatureGate)
}

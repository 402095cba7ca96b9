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

// ownArguments leaves out a first argument that is the path of the program itself.
// The manifests and the chart of cloud-provider-openstack, whose image has no
// entrypoint, begin the container's args with it.
func ownArguments(arguments []string) []string {
	if len(arguments) > 0 && path.Base(arguments[0]) == programName {
		return arguments[1:]
	}
	return arguments
}

// fromEnvironment are the variables that cloud-provider-openstack's manifests give
// the container, for $(CLOUD_CONFIG) and $(CLUSTER_NAME) in its args.
var fromEnvironment = map[string]string{"cloud-config": "CLOUD_CONFIG", "cluster-name": "CLUSTER_NAME"}

// takeFromEnvironment sets the flags that have a variable, when none of them is
// given. One of them alone is no reason to look: a cluster that was named
// "kubernetes" by the flag's default must not get another name from a variable that
// nobody has read so far.
func takeFromEnvironment(flags *pflag.FlagSet, env config.Environment) error {
	if env == nil {
		return nil
	}
	for name := range fromEnvironment {
		if flags.Changed(name) {
			return nil
		}
	}
	for name, variable := range fromEnvironment {
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

// gatesFlag is the name of upstream's flag for feature gates.
const gatesFlag = "feature-gates"

// lenientGates is the value of --feature-gates. It leaves out gates that are not
// known here: cloud-provider-openstack knows all those of Kubernetes, and
// installations hand the same list to all components.
type lenientGates struct {
	pflag.Value
	gates featuregate.MutableFeatureGate
	// unknown are those that were left out.
	unknown []string
}

// tolerateUnknownGates makes --feature-gates, which sets the gates, lenient.
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

// startLogging does what upstream does as its first, so that something of ours can be
// logged before its flags are: it applies the flags of the log.
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
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // upstream does it again
	return logsapi.ValidateAndApply(logging, utilfeature.DefaultFeatureGate)
}

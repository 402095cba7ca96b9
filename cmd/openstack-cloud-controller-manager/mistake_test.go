package main

import (
	"strings"
	"testing"

	"github.com/openstack-ccm/openstack-ccm/pkg/cli"
)

func TestProgram_SuggestsTheVerbThatIsMeant(t *testing.T) {
	t.Parallel()
	const all = "the verb comes first, one of check, cleanup, plan, status"
	for word, want := range map[string]string{
		"chek":     `"chek" is no verb of openstack-cloud-controller-manager: did you mean "check"? ` + all,
		"stauts":   `did you mean "status"? ` + all,
		"Plan":     `did you mean "plan"? ` + all,
		"clenaup":  `did you mean "cleanup"? ` + all,
		"sim.conf": `"sim.conf" is no verb of openstack-cloud-controller-manager: ` + all,
	} {
		for _, arguments := range [][]string{{word}, {word, "-A"}, {"/bin/" + programName, word, "--cloud-config=x"}} {
			if got := runProgram(t, nil, arguments...); got.code != 1 || got.out != "" || !strings.HasPrefix(got.errors, "Error: ") || !strings.Contains(got.errors, want) {
				t.Errorf("%q: %+v, want %q", arguments, got, want)
			}
		}
	}
	if got := verbs().UnknownVerb("stat", cli.PluginName).Error(); !strings.Contains(got, "no verb of kubectl openstack-lb") {
		t.Error(got)
	}
}

func TestVerbs_SuggestTheFlagThatIsMeant(t *testing.T) {
	t.Parallel()
	for want, arguments := range map[string][]string{
		"unknown flag: --all-namespace: did you mean --all-namespaces?": {"status", "--all-namespace"},
		"unknown flag: --of-line: did you mean --offline?":              {"check", "--of-line"},
		"unknown flag: --cluster-nmae: did you mean --cluster-name?":    {"cleanup", "--cluster-nmae=a"},
		"unknown flag: --without-node: did you mean --without-nodes?":   {"plan", "--without-node=a"},
		"unknown flag: --zzzzzzzz (--help lists all flags)":             {"check", "--zzzzzzzz"},
		"unknown shorthand flag: 'Q' in -Q (--help lists all flags)":    {"status", "-Q"},
		`a configuration is --cloud-config=sim.conf`:                    {"check", "sim.conf"},
	} {
		if got := runProgram(t, nil, arguments...); got.code != 1 || !strings.Contains(got.errors, want) {
			t.Errorf("%q: %+v, want %q", arguments, got, want)
		}
	}
}

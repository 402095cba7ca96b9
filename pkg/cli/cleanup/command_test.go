package cleanup

import (
	"context"
	"strings"
	"testing"
)

func TestCleanup_RefusesFlagsThatDoNotSayWhichCluster(t *testing.T) {
	t.Parallel()
	for says, arguments := range map[string][]string{
		"--cluster-id, --cluster-name or both must be set":       nil,
		"--cluster-id is empty":                                  {"--cluster-id=", "--cluster-name=prod"},
		"--cluster-name is empty":                                {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--cluster-name", ""},
		`--output is "yaml": allowed are text and json`:          {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--output=yaml"},
		`--floating-ips is "none": allowed are attached and all`: {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--floating-ips=none"},
		"--timeout is 0s: it must be above zero":                 {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--timeout=0"},
		`--cluster-cidr: netip.ParsePrefix("10.0.0")`:            {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--cluster-cidr=10.1.0.0/16,10.0.0"},
		`"prod": the verb takes no arguments`:                    {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "prod"},
		"unknown flag: --forced":                                 {"--cluster-id=5a1c0f6e-0a66-4b0e-9c4d-5f0b7f6c2a11", "--forced"},
		`--cluster-id is "not-a-uuid": it must be the UID`:       {"--cluster-id=not-a-uuid"},
		`--cluster-id is "5A1C0F6E-0A66-4B0E-9C4D-5F0B7F6C2A11"`: {"--cluster-id=5A1C0F6E-0A66-4B0E-9C4D-5F0B7F6C2A11"},
		`--cluster-name is " kubernetes": it must not begin`:     {"--cluster-name= kubernetes"},
		`--cluster-name is "prod\n": it must not begin`:          {"--cluster-name=prod\n"},
		`--cluster-name is "a\u202eb"`:                           {"--cluster-name=a\u202eb"},
	} {
		command := newCommand(func(context.Context, *flags) error {
			t.Errorf("%q: it runs", arguments)
			return nil
		})
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetArgs(append([]string{}, arguments...)) // nil would mean the arguments of the test
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got error %v, want %q", arguments, err, says)
		}
	}
}

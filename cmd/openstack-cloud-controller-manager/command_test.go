package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
)

// commands is held by the test that has a command, or executes one: all commands of a process share
// the flags of pflag.CommandLine, and creating a command writes to them.
var commands sync.Mutex

// command creates a command, and delays those of other tests until the test ends.
func command(t *testing.T, arguments ...string) (*cobra.Command, *process, *bytes.Buffer) {
	t.Helper()
	commands.Lock()
	t.Cleanup(commands.Unlock)
	ctx, stop := context.WithCancelCause(t.Context())
	p := &process{ctx: ctx, stop: stop, build: build{version: "v1.2.3"}}
	var out bytes.Buffer
	command, err := newCommand(p, &out)
	if err != nil {
		t.Fatal(err)
	}
	command.SetArgs(arguments)
	return command, p, &out
}

// Users of cloud-provider-openstack only replace the image.
func TestCommand_AcceptsFlagsOfCloudProviderOpenStack(t *testing.T) {
	t.Parallel()
	command, p, _ := command(t)
	err := command.ParseFlags([]string{
		"--cloud-provider=openstack", "--cloud-config=/etc/config/cloud.conf", "--cluster-name=prod",
		"--controllers=cloud-node,cloud-node-lifecycle,route,service", "--use-service-account-credentials=true",
		"--leader-elect=true", "--leader-elect-resource-namespace=kube-system", "--bind-address=127.0.0.1", "--secure-port=10258",
		"--concurrent-service-syncs=3", "--concurrent-node-syncs=2", "--node-status-update-frequency=5m", "--node-monitor-period=5s",
		"--route-reconciliation-period=10s", "--allocate-node-cidrs=true", "--cluster-cidr=10.0.0.0/8", "--configure-cloud-routes=false",
		"--authentication-skip-lookup=true", "--webhook-secure-port=0", "--feature-gates=CloudControllerManagerWebhook=false",
		"--v=2", "--user-agent=a", "--user-agent=b",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.userAgents, " "); got != "a b" {
		t.Errorf("--user-agent twice gives %q", got)
	}
	for flag, want := range map[string]string{"concurrent-service-syncs": "3", "concurrent-node-syncs": "2"} {
		if got := command.Flags().Lookup(flag).Value.String(); got != want {
			t.Errorf("--%s is %s, want what was given, %s", flag, got, want)
		}
	}
}

func TestCommand_HasDefaults(t *testing.T) {
	t.Parallel()
	command, _, _ := command(t)
	for flag, want := range map[string]string{
		"cloud-provider":                  "openstack",
		"cloud-config":                    "",
		"cluster-name":                    "kubernetes",
		"concurrent-service-syncs":        "300",
		"concurrent-node-syncs":           "50",
		"kube-api-qps":                    "100",
		"kube-api-burst":                  "200",
		"leader-elect":                    "true",
		"leader-elect-resource-name":      "cloud-controller-manager",
		"leader-elect-resource-namespace": "kube-system",
		"secure-port":                     "10258",
		"use-service-account-credentials": "false",
	} {
		got := command.Flags().Lookup(flag)
		if got == nil || got.Value.String() != want {
			t.Errorf("--%s is %+v, want %q", flag, got, want)
		}
	}
	if usage := command.Flags().Lookup("logging-format").Usage; !strings.Contains(usage, `"json"`) {
		t.Errorf("--logging-format: %s", usage)
	}
	if command.Name() != "openstack-cloud-controller-manager" {
		t.Errorf("the command is called %s", command.Name())
	}
}

func TestUserAgent_EndsWithTheProgram(t *testing.T) {
	t.Parallel()
	for want, additions := range map[string][]string{
		"openstack-cloud-controller-manager/v1":                    nil,
		"magnum/3 cluster-7 openstack-cloud-controller-manager/v1": {"magnum/3", "cluster-7"},
	} {
		if got := userAgent("v1", additions); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
